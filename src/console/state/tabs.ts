/** One of the visible tabs of a browser, chosen by the browser: it leads until it is hidden or closed, then another one does. */
interface Sharing<M> {
  /** Name shared by all tabs. */
  readonly name: string;
  /** Ends this tab's part. */
  readonly ended: AbortSignal;
  /** Called with a message of another tab. */
  onMessage(message: M, tell: (message: M) => void): void;
  /** Work of the leading tab, until it ends. */
  lead(tell: (message: M) => void): Promise<void>;
}

/** Returns true if tabs can share. Browsers allow locks only for local addresses and HTTPS. */
export const canShare = (): boolean => 'locks' in navigator && typeof BroadcastChannel === 'function';

/** Shares what only one tab may do. @returns when its part has ended */
export async function shareAmongTabs<M>({ name, ended, onMessage, lead }: Sharing<M>, first: M): Promise<void> {
  const channel = new BroadcastChannel(name);
  const tell = (message: M) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin to be named
    if (!ended.aborted) channel.postMessage(message);
  };
  // Tabs of one version send no other messages.
  channel.addEventListener('message', ({ data }) => onMessage(data as M, tell));
  ended.addEventListener('abort', () => channel.close());
  tell(first);
  try {
    await navigator.locks.request(name, { signal: ended }, () => lead(tell));
  } catch (failure) {
    if (!ended.aborted) throw failure;
  }
}
