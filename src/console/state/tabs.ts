/**
 * Options of a group of tabs. The browser makes one visible tab the leader. If that tab is hidden or closed, another
 * tab becomes the leader.
 */
interface TabSharing<M> {
  /** Name shared by the tabs of the group. */
  readonly name: string;
  /** Signal that removes this tab from the group. */
  readonly ended: AbortSignal;
  /** Called with a message of another tab. */
  onMessage(message: M, tell: (message: M) => void): void;
  /** Does the work of the leading tab. Returns when the work has ended. */
  lead(tell: (message: M) => void): Promise<void>;
}

/** Returns true if tabs can share work. They need locks, which browsers provide only for this machine and for HTTPS. */
export const canShare = (): boolean => 'locks' in navigator && typeof BroadcastChannel === 'function';

/**
 * Joins a group of tabs in which only the leader does the work.
 * @returns a promise that resolves when this tab has left the group
 */
export async function shareAmongTabs<M>({ name, ended, onMessage, lead }: TabSharing<M>, first: M): Promise<void> {
  const channel = new BroadcastChannel(name);
  const tell = (message: M) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin to be named
    if (!ended.aborted) channel.postMessage(message);
  };
  // All tabs run the same version. They send no other messages.
  channel.addEventListener('message', ({ data }) => onMessage(data as M, tell));
  ended.addEventListener('abort', () => channel.close());
  tell(first);
  try {
    await navigator.locks.request(name, { signal: ended }, () => lead(tell));
  } catch (failure) {
    if (!ended.aborted) throw failure;
  }
}
