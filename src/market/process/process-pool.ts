import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Orders to the process pool. */
export type ProcessPoolOrder =
  /** Starts a process that waits up to this time for the next request, unless another process waits or will wait. */
  | { readonly kind: 'prepare'; readonly waitMs: number }
  /** Starts a process and sends it its request. */
  | { readonly id: number; readonly kind: 'start'; readonly message: object }
  /** Sends another message to a process. */
  | { readonly id: number; readonly kind: 'send'; readonly message: object }
  /** Ends a process, politely and then not. */
  | { readonly id: number; readonly kind: 'end' };

/** Reports of the process pool to its owner. */
export type ProcessPoolEvent =
  /** The system does not hold the processes to their memory by one of the limits. */
  | { readonly kind: 'unlimited'; readonly limit: ReaderLimit; readonly reason: string }
  | { readonly id: number; readonly kind: 'message'; readonly message: unknown }
  | { readonly id: number; readonly kind: 'unstarted' }
  | {
      readonly id: number;
      readonly kind: 'ended';
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    };

/** Report of a process to the pool only: its task is done, and it can accept another. */
export interface FreeProcess {
  readonly kind: 'free';
}

/** Callbacks of one process. `onEnded` or `onUnstarted` is the last. */
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

/** The mechanism that limits the memory of a process: RLIMIT_DATA its private memory, cgroup all of it. */
export type ReaderLimit = 'RLIMIT_DATA' | 'cgroup';

/** The memory limit of each process, enforced by the system. */
export interface ReaderMemory {
  readonly bytes: number;
  /** Folder of a control group that is delegated to the service. Default: none. */
  readonly group?: string | undefined;
  /** Called if the system cannot enforce the limit of processes. */
  readonly onUnlimited: (limit: ReaderLimit, reason: string) => void;
}

let memory: ReaderMemory | undefined;

/** Limits the memory of processes that are started from now on. @returns gives back the limit of before */
export function limitReaders(limit: ReaderMemory): () => void {
  const before = memory;
  memory = limit;
  return () => void (memory = before);
}

let pool: ProcessPool | undefined;
let lastId = 0;

/**
 * Starts a process for a market task. Its parent is a small process that stays alive: forking copies the page tables of
 * the parent, which would pause a service with gigabytes of panels for a tenth of a second or more.
 */
export function startMarketProcess(request: object, listener: Listener): MarketProcess {
  const { process: parent, listeners } = (pool ??= openProcessPool());
  const id = (lastId += 1);
  const order = (message: ProcessPoolOrder) => {
    if (parent.connected) parent.send(message, () => {}); // the end of the process pool is the end of all its processes
  };
  listeners.set(id, listener);
  setKeepsAlive(parent, true);
  order({ id, kind: 'start', message: request });
  return { send: (message) => order({ id, kind: 'send', message }), end: () => order({ id, kind: 'end' }) };
}

/**
 * Time for which a process waits for a task before it ends. The next task then starts another process, which takes
 * about 0.3 s.
 */
export const SPARE_WAIT_MS = 60_000;

/**
 * Starts a process that waits for the first task, as a process waits for the next task after each one. It takes 85 MiB,
 * and the task then starts at once.
 */
export function prepareMarketProcess(waitMs = SPARE_WAIT_MS): void {
  if (pool === undefined) {
    pool = openProcessPool();
    setKeepsAlive(pool.process, false);
  }
  pool.process.send({ kind: 'prepare', waitMs } satisfies ProcessPoolOrder, () => {}); // a failure to start is reported to the first task
}

function openProcessPool(): ProcessPool {
  const limit = memory;
  const words = limit === undefined ? [] : [String(limit.bytes), limit.group ?? ''];
  const child = fork(fileURLToPath(new URL('./process-pool-main.js', import.meta.url)), words, {
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
    if (listeners.size === 0) setKeepsAlive(child, false);
    return listener;
  };
  const endAll = (notify: (listener: Listener) => void) => {
    if (pool === opened) pool = undefined;
    for (const id of listeners.keys()) notify(take(id)!); // the ids are those of the listeners
  };
  child.on('message', (message) => {
    const event = message as ProcessPoolEvent; // the only messages of process-pool-main
    if (event.kind === 'unlimited') limit?.onUnlimited(event.limit, event.reason);
    else if (event.kind === 'message') listeners.get(event.id)?.onMessage(event.message);
    else if (event.kind === 'unstarted') take(event.id)?.onUnstarted();
    else take(event.id)?.onEnded(event.code, event.signal);
  });
  child.on('error', () => endAll((listener) => listener.onUnstarted()));
  child.on('exit', (code, signal) => endAll((listener) => listener.onEnded(code, signal)));
  return opened;
}

/**
 * Sets whether the child keeps the event loop alive. An idle pool does not, and ends with the process that opened it.
 */
function setKeepsAlive(child: ChildProcess, keepsAlive: boolean): void {
  if (keepsAlive) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}
