import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Orders to the process pool. */
export type ProcessPoolOrder =
  /**
   * Starts a process that waits for the next request, for at most this time. Does nothing if another process already
   * waits or will wait.
   */
  | { readonly kind: 'prepare'; readonly waitMs: number }
  /** Starts a process and sends its request. */
  | { readonly id: number; readonly kind: 'start'; readonly message: object }
  /** Sends another message to a process. */
  | { readonly id: number; readonly kind: 'send'; readonly message: object }
  /** Ends a process by SIGTERM, later by SIGKILL. */
  | { readonly id: number; readonly kind: 'end' };

/** Reports of the process pool to its owner. */
export type ProcessPoolEvent =
  /** The system cannot enforce one of the memory limits of the processes. */
  | { readonly kind: 'unlimited'; readonly limit: ReaderLimit; readonly reason: string }
  | { readonly id: number; readonly kind: 'message'; readonly message: unknown }
  | { readonly id: number; readonly kind: 'unstarted' }
  | {
      readonly id: number;
      readonly kind: 'ended';
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    };

/** Report of a process to the pool only. The task of the process is done, and it can accept another task. */
export interface FreeProcess {
  readonly kind: 'free';
}

/** Callbacks of one process. The last call is either `onEnded` or `onUnstarted`. */
export interface Listener {
  onMessage(message: unknown): void;
  onUnstarted(): void;
  onEnded(code: number | null, signal: NodeJS.Signals | null): void;
}

/** Process for a market task. */
export interface MarketProcess {
  send(message: object): void;
  end(): void;
}

interface ProcessPool {
  readonly process: ChildProcess;
  readonly listeners: Map<number, Listener>;
}

/** Mechanism that limits the memory of a process. RLIMIT_DATA limits private memory; cgroup limits all memory. */
export type ReaderLimit = 'RLIMIT_DATA' | 'cgroup';

/** Memory limit of each process, enforced by the operating system. */
export interface ReaderMemory {
  readonly bytes: number;
  /** Folder of a control group that is delegated to the service. Default: none. */
  readonly group?: string | undefined;
  /** Called if the system cannot enforce the limit of processes. */
  readonly onUnlimited: (limit: ReaderLimit, reason: string) => void;
}

let memory: ReaderMemory | undefined;

/**
 * Limits the memory of the processes of a pool that is opened from now on. @returns a function that restores the
 * previous limit
 */
export function limitReaders(limit: ReaderMemory): () => void {
  const previousMemory = memory;
  memory = limit;
  return () => void (memory = previousMemory);
}

let pool: ProcessPool | undefined;
let lastId = 0;

/**
 * Starts a process for a market task. Its parent is a small permanent process. A fork copies the page tables of the
 * parent, which would pause a service with gigabytes of panels for a tenth of a second or more.
 */
export function startMarketProcess(request: object, listener: Listener): MarketProcess {
  const { process: parent, listeners } = (pool ??= openProcessPool());
  const id = (lastId += 1);
  const sendOrder = (message: ProcessPoolOrder) => {
    if (parent.connected) parent.send(message, () => {}); // if the process pool has ended, all its processes have ended
  };
  listeners.set(id, listener);
  setKeepsAlive(parent, true);
  sendOrder({ id, kind: 'start', message: request });
  return { send: (message) => sendOrder({ id, kind: 'send', message }), end: () => sendOrder({ id, kind: 'end' }) };
}

/**
 * Time for which a process waits for a task before it ends. Afterwards, the next task must start another process, which
 * takes about 0.3 s.
 */
export const SPARE_WAIT_MS = 60_000;

/**
 * Starts a process that waits for the first task, so that the task starts at once. Later tasks use the process of the
 * previous task. The process takes 85 MiB.
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
  const limitArguments = limit === undefined ? [] : [String(limit.bytes), limit.group ?? ''];
  const child = fork(fileURLToPath(new URL('./process-pool-main.js', import.meta.url)), limitArguments, {
    serialization: 'advanced',
    execArgv: [],
    // Passes almost no environment variables. The environment contains keys and passwords that readers of files do not
    // need.
    env: { TZ: 'UTC', ...(process.env['TMPDIR'] ? { TMPDIR: process.env['TMPDIR'] } : {}) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const listeners = new Map<number, Listener>();
  const newPool: ProcessPool = { process: child, listeners };
  const takeListener = (id: number): Listener | undefined => {
    const listener = listeners.get(id);
    listeners.delete(id);
    if (listeners.size === 0) setKeepsAlive(child, false);
    return listener;
  };
  const endAll = (notify: (listener: Listener) => void) => {
    if (pool === newPool) pool = undefined;
    for (const id of listeners.keys()) notify(takeListener(id)!); // the ids are keys of the map
  };
  child.on('message', (message) => {
    const event = message as ProcessPoolEvent; // process-pool-main sends no other messages
    if (event.kind === 'unlimited') limit?.onUnlimited(event.limit, event.reason);
    else if (event.kind === 'message') listeners.get(event.id)?.onMessage(event.message);
    else if (event.kind === 'unstarted') takeListener(event.id)?.onUnstarted();
    else takeListener(event.id)?.onEnded(event.code, event.signal);
  });
  child.on('error', () => endAll((listener) => listener.onUnstarted()));
  child.on('exit', (code, signal) => endAll((listener) => listener.onEnded(code, signal)));
  return newPool;
}

/**
 * Sets whether the child process keeps the event loop alive. An idle pool does not. It ends with the process that
 * opened it.
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

/** Control group of one reading process. */
export interface ReaderGroup {
  readonly folder: string;
  /** Removes the group; called after its process has ended. */
  close(): void;
}

/** Control groups below a group that the service may manage. */
export interface ReaderGroups {
  open(): ReaderGroup;
}

const PREFIX = 'divisor-reader-';
const CONTROLLERS = 'cgroup.subtree_control';

/** Shell command that enters the control group with the folder `$1`. */
export const ENTER_GROUP = 'echo $$ > "$1/cgroup.procs" && shift';

/**
 * Prepares a cgroup v2 for groups of processes. Each group limits all memory of its process: private memory, memory
 * shared with the service, and cached files.
 * @throws Error if the folder is not a control group, or is not delegated to the service
 */
export function openReaderGroups(parent: string, bytes: number, shell: string): ReaderGroups {
  const controllers = readFileSync(join(parent, CONTROLLERS), 'utf8').split(/\s+/);
  if (!controllers.includes('memory')) writeFileSync(join(parent, CONTROLLERS), '+memory');
  for (const name of readdirSync(parent)) if (name.startsWith(PREFIX)) remove(join(parent, name));
  let groupCount = 0;

  function openGroup(): ReaderGroup {
    const folder = join(parent, `${PREFIX}${process.pid}-${(groupCount += 1)}`);
    mkdirSync(folder);
    try {
      writeFileSync(join(folder, 'memory.max'), String(bytes));
    } catch (failure) {
      remove(folder);
      throw failure;
    }
    return { folder, close: () => remove(folder) };
  }

  const group = openGroup();
  const { status, error } = spawnSync(shell, ['-c', ENTER_GROUP, shell, group.folder], { stdio: 'ignore' });
  group.close();
  if (status !== 0) throw error ?? new Error(`no process may enter a group of ${parent}`);
  return { open: openGroup };
}

/** Removes a group. A group that still has processes remains until the next start. */
function remove(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (failure) {
    const { code = '' } = failure as NodeJS.ErrnoException;
    if (!['EBUSY', 'ENOENT', 'ENOTEMPTY'].includes(code)) throw failure;
  }
}
