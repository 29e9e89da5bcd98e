import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Refusal } from '#domain/base/refusals.js';

const MIB = 2 ** 20;

export type ProcessPoolOrder =
  /**
   * Starts a process that waits for the next request, for at most this time. Does nothing if another process already
   * waits or will wait.
   */
  | { readonly kind: 'prepare'; readonly waitMs: number }
  | ({ readonly id: number; readonly kind: 'start'; readonly message: object } & ProcessPurpose)
  /** Pauses a process, or continues it. */
  | { readonly id: number; readonly kind: 'turn'; readonly isRunning: boolean }
  | { readonly id: number; readonly kind: 'send'; readonly message: object }
  /** Ends a process by SIGTERM, later by SIGKILL. */
  | { readonly id: number; readonly kind: 'end' };

export type ProcessPoolEvent =
  /** The system cannot enforce one of the memory limits of the processes. */
  | { readonly kind: 'unlimited'; readonly limit: ReaderLimit; readonly reason: string }
  | { readonly id: number; readonly kind: 'message'; readonly message: unknown }
  | { readonly id: number; readonly kind: 'unstarted' }
  /** The process is paused. Its owner must continue it if the pool ends, because it cannot detect that. */
  | { readonly id: number; readonly kind: 'paused'; readonly pid: number }
  | ({ readonly id: number; readonly kind: 'ended' } & ProcessEnd);

/**
 * Kinds of processes, which differ in their memory limit. `store`: reads whole stores into panels. `rows`: reads samples
 * or rows one by one. `query`: runs a query of SQL.
 */
export type ProcessKind = 'store' | 'rows' | 'query';

export interface ProcessPurpose {
  readonly purpose: ProcessKind;
  /** Key for which a query runs; null if clients are not distinguished. */
  readonly client?: string | null;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly excess?: QueryExcess;
}

/** Memory limit of queries that is exceeded: of one process, of all processes of a key, or of all processes. */
export interface QueryExcess {
  readonly limit: 'process' | 'client' | 'all';
  /** True if the process uses more than its own share of the memory. */
  readonly isOver: boolean;
}

/** Memory limits of queries, in bytes. */
export interface QueryMemory {
  /** Memory of one query that other queries cannot take away. */
  readonly query: number;
  /** Memory of one process. */
  readonly process: number;
  /** Memory of all processes of queries. */
  readonly all: number;
}

export interface QueryUse {
  readonly id: number;
  readonly client: string | null;
  readonly bytes: number;
  readonly isPaused: boolean;
}

/**
 * Returns the process that must end because queries use too much memory: the largest one, or a paused one if none exceeds
 * its share. The share of one query is kept for other keys.
 */
export function findExcess(
  uses: readonly QueryUse[],
  { query, process: processBytes, all }: QueryMemory,
): { readonly id: number; readonly excess: QueryExcess } | undefined {
  const choose = (limit: QueryExcess['limit'], among: readonly QueryUse[]) => {
    const largest = among.reduce((a, b) => (b.bytes > a.bytes ? b : a));
    const isOver = largest.bytes > query;
    const { id } = isOver ? largest : (among.find(({ isPaused }) => isPaused) ?? largest);
    return { id, excess: { limit, isOver } };
  };
  const large = uses.filter(({ bytes }) => bytes > processBytes);
  if (large.length > 0) return choose('process', large);
  for (const client of new Set(uses.map((use) => use.client))) {
    const ownUses = uses.filter((use) => use.client === client);
    if (client !== null && ownUses.length > 1 && sumBytes(ownUses) > all - query) return choose('client', ownUses);
  }
  return sumBytes(uses) > all ? choose('all', uses) : undefined;
}

/** Settings of memory limits, by limit. The limit of a key is the difference of two settings. */
const MEMORY_SETTINGS = {
  query: { subject: 'it needs', setting: 'sql-memory-mb', formula: '--sql-memory-mb' },
  process: { subject: 'its process needs', setting: 'sql-process-memory-mb', formula: '--sql-process-memory-mb' },
  client: {
    subject: 'the queries of the key need',
    setting: 'sql-total-memory-mb',
    formula: '--sql-total-memory-mb minus --sql-memory-mb',
  },
  all: { subject: 'all queries together need', setting: 'sql-total-memory-mb', formula: '--sql-total-memory-mb' },
} as const;

/** Returns the refusal of a query that needs more memory than a limit. @param cause sentence about the end of its process */
export function createMemoryRefusal(memory: QueryMemory, limit: keyof typeof MEMORY_SETTINGS, cause = ''): Refusal {
  const { subject, setting, formula } = MEMORY_SETTINGS[limit];
  const bytes = limit === 'client' ? memory.all - memory.query : memory[limit];
  const message = `The query was ended: ${subject} more than ${bytes / MIB} MiB of memory (setting ${formula}).${cause} Select fewer rows or columns.`;
  return new Refusal('QUERY_LIMIT', message, { setting, limit: bytes });
}

const sumBytes = (uses: readonly QueryUse[]): number => uses.reduce((sum, { bytes }) => sum + bytes, 0);

/** Report of a process to the pool only. The task of the process is done, and it can accept another task. */
export interface FreeProcess {
  readonly kind: 'free';
}

/** Callbacks of one process. The last call is either `onEnded` or `onUnstarted`. */
export interface Listener {
  onMessage(message: unknown): void;
  onUnstarted(): void;
  onEnded(end: ProcessEnd): void;
}

interface ProcessPool {
  readonly process: ChildProcess;
  readonly listeners: Map<number, Listener>;
}

/** Mechanism that limits the memory of a process. RLIMIT_DATA limits private memory; cgroup limits all memory. */
export type ReaderLimit = 'RLIMIT_DATA' | 'cgroup';

/** Memory limits of processes, enforced by the operating system. */
interface ReaderMemory {
  readonly bytes: number;
  readonly queries: QueryMemory;
  /** Folder of a control group that is delegated to the service. Default: none. */
  readonly group?: string | undefined;
  /** Called if the system cannot enforce the limit of processes. */
  readonly onUnlimited: (limit: ReaderLimit, reason: string) => void;
}

let memory: ReaderMemory | undefined;

/** Memory limits of queries unless they are set. */
export const QUERY_MEMORY: QueryMemory = { query: 1024 * MIB, process: 2048 * MIB, all: 3072 * MIB };

export const findQueryMemory = (): QueryMemory => memory?.queries ?? QUERY_MEMORY;

/** Memory in MiB of the process of a query without the memory of DuckDB. It is a part of the memory of the query. */
export const PROCESS_MEGABYTES = 128;

/** Maximum memory of a process that holds no panels: its heap, code and threads, and the memory of DuckDB. */
export const ROWS_BYTES_MAX = 2048 * MIB;

export interface PoolLimits {
  /** Private memory of a process by kind; 0 for no limit. */
  readonly bytes: Readonly<Record<ProcessKind, number>>;
  readonly queries: QueryMemory;
  readonly group: string;
}

function createPoolLimits(limit: ReaderMemory | undefined): PoolLimits {
  const { bytes = 0, group = '', queries = QUERY_MEMORY } = limit ?? {};
  const rows = Math.min(bytes || ROWS_BYTES_MAX, ROWS_BYTES_MAX);
  return { bytes: { store: bytes, rows, query: queries.process }, queries, group };
}

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
export function startMarketProcess(request: object, purpose: ProcessPurpose, listener: Listener) {
  const { process: parent, listeners } = (pool ??= openProcessPool());
  const id = (lastId += 1);
  const sendOrder = (message: ProcessPoolOrder) => {
    if (parent.connected) parent.send(message, () => {}); // if the process pool has ended, all its processes have ended
  };
  listeners.set(id, listener);
  setKeepsAlive(parent, true);
  sendOrder({ id, kind: 'start', message: request, ...purpose });
  return {
    send: (message: object): void => sendOrder({ id, kind: 'send', message }),
    /** Pauses the process, or continues it. */
    setRunning: (isRunning: boolean): void => sendOrder({ id, kind: 'turn', isRunning }),
    end: (): void => sendOrder({ id, kind: 'end' }),
  };
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

/**
 * Ends the processes that wait for tasks and the process that starts them, unless a task is running. The next task starts
 * them again.
 */
export function endIdleProcesses(): void {
  if (pool === undefined || pool.listeners.size > 0) return;
  const { process: idle } = pool;
  pool = undefined;
  if (idle.connected) idle.disconnect();
}

function openProcessPool(): ProcessPool {
  const limit = memory;
  const limits = JSON.stringify(createPoolLimits(limit));
  const child = fork(fileURLToPath(new URL('./process-pool-main.js', import.meta.url)), [limits], {
    serialization: 'advanced',
    execArgv: [],
    // Passes almost no environment variables. The environment contains keys and passwords that readers of files do not
    // need.
    env: { TZ: 'UTC', ...(process.env['TMPDIR'] ? { TMPDIR: process.env['TMPDIR'] } : {}) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const listeners = new Map<number, Listener>();
  const newPool: ProcessPool = { process: child, listeners };
  const pausedPids = new Map<number, number>();
  const takeListener = (id: number): Listener | undefined => {
    const listener = listeners.get(id);
    listeners.delete(id);
    pausedPids.delete(id);
    if (listeners.size === 0) setKeepsAlive(child, false);
    return listener;
  };
  const endAll = (notify: (listener: Listener) => void) => {
    if (pool === newPool) pool = undefined;
    pausedPids.forEach(continueProcess); // they detect then that the pool has ended
    for (const id of listeners.keys()) notify(takeListener(id)!); // the ids are keys of the map
  };
  child.on('message', (message) => {
    const event = message as ProcessPoolEvent; // process-pool-main sends no other messages
    if (event.kind === 'unlimited') limit?.onUnlimited(event.limit, event.reason);
    else if (event.kind === 'message') listeners.get(event.id)?.onMessage(event.message);
    else if (event.kind === 'paused') pausedPids.set(event.id, event.pid);
    else if (event.kind === 'unstarted') takeListener(event.id)?.onUnstarted();
    else takeListener(event.id)?.onEnded(event);
  });
  child.on('error', () => endAll((listener) => listener.onUnstarted()));
  child.on('exit', (code, signal) => endAll((listener) => listener.onEnded({ code, signal })));
  return newPool;
}

function continueProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch {
    // the process has ended
  }
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

export interface ReaderGroup {
  readonly folder: string;
  /** Removes the group; called after its process has ended. */
  close(): void;
}

/** Control groups below a group that the service may manage. */
export interface ReaderGroups {
  open(bytes: number): ReaderGroup;
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
export function openReaderGroups(parent: string, shell: string): ReaderGroups {
  const controllers = readFileSync(join(parent, CONTROLLERS), 'utf8').split(/\s+/);
  if (!controllers.includes('memory')) writeFileSync(join(parent, CONTROLLERS), '+memory');
  for (const name of readdirSync(parent)) if (name.startsWith(PREFIX)) remove(join(parent, name));
  let groupCount = 0;

  function openGroup(bytes: number): ReaderGroup {
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

  const group = openGroup(ROWS_BYTES_MAX);
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
