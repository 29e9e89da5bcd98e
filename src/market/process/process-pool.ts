import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Orders to the process pool. */
export type ProcessPoolOrder =
  /** Starts a process that waits for the next request, unless one does or will. */
  | { readonly kind: 'prepare' }
  /** Starts a process and sends it its request. */
  | { readonly id: number; readonly kind: 'start'; readonly message: object }
  /** Sends a process a further message. */
  | { readonly id: number; readonly kind: 'send'; readonly message: object }
  /** Ends a process, politely and then not. */
  | { readonly id: number; readonly kind: 'end' };

/** What the process pool tells. */
export type ProcessPoolNews =
  | { readonly id: number; readonly kind: 'message'; readonly message: unknown }
  | { readonly id: number; readonly kind: 'unstarted' }
  | {
      readonly id: number;
      readonly kind: 'ended';
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    };

/** What a process tells the process pool alone: it has done its task and can take another. */
export interface FreeProcess {
  readonly kind: 'free';
}

/** What becomes of one process. */
export interface Listener {
  onMessage(message: unknown): void;
  onUnstarted(): void;
  onEnded(code: number | null, signal: NodeJS.Signals | null): void;
}

/** One process for a market task. */
export interface MarketProcess {
  send(message: object): void;
  end(): void;
}

interface ProcessPool {
  readonly process: ChildProcess;
  readonly listeners: Map<number, Listener>;
}

let pool: ProcessPool | undefined;
let lastId = 0;

/**
 * Starts a process for a market task. It is the child of a small process that is kept: the system copies the page
 * tables of whoever starts a process, which stops one that holds gigabytes of panels for a tenth of a second and more.
 */
export function startMarketProcess(request: object, listener: Listener): MarketProcess {
  const { process: parent, listeners } = (pool ??= openProcessPool());
  const id = (lastId += 1);
  const order = (message: ProcessPoolOrder) => {
    if (parent.connected) parent.send(message, () => {}); // the end of the process pool is the end of all its processes
  };
  listeners.set(id, listener);
  hold(parent, true);
  order({ id, kind: 'start', message: request });
  return { send: (message) => order({ id, kind: 'send', message }), end: () => order({ id, kind: 'end' }) };
}

/**
 * Has a process wait for the first task, as one waits for the next after each: it takes 40 MiB of its own, and to begin
 * takes the task nothing.
 */
export function prepareMarketProcess(): void {
  if (pool !== undefined) return; // it has worked, or does
  pool = openProcessPool();
  hold(pool.process, false);
  pool.process.send({ kind: 'prepare' } satisfies ProcessPoolOrder, () => {}); // a failure to start is reported to the first task
}

function openProcessPool(): ProcessPool {
  const child = fork(fileURLToPath(new URL('./process-pool-main.js', import.meta.url)), {
    serialization: 'advanced',
    execArgv: [],
    // The environment holds keys and passwords that no reader of files needs.
    env: { TZ: 'UTC', ...(process.env['TMPDIR'] ? { TMPDIR: process.env['TMPDIR'] } : {}) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const listeners = new Map<number, Listener>();
  const opened: ProcessPool = { process: child, listeners };
  const take = (id: number): Listener | undefined => {
    const listener = listeners.get(id);
    listeners.delete(id);
    if (listeners.size === 0) hold(child, false);
    return listener;
  };
  const close = (tell: (listener: Listener) => void) => {
    if (pool === opened) pool = undefined;
    for (const id of listeners.keys()) tell(take(id)!); // the ids are those of the listeners
  };
  child.on('message', (message) => {
    const news = message as ProcessPoolNews; // the only messages of process-pool-main
    if (news.kind === 'message') listeners.get(news.id)?.onMessage(news.message);
    else if (news.kind === 'unstarted') take(news.id)?.onUnstarted();
    else take(news.id)?.onEnded(news.code, news.signal);
  });
  child.on('error', () => close((listener) => listener.onUnstarted()));
  child.on('exit', (code, signal) => close((listener) => listener.onEnded(code, signal)));
  return opened;
}

/** An idle process pool keeps nobody running; it ends with the process that opened it. */
function hold(child: ChildProcess, isHeld: boolean): void {
  if (isHeld) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}
