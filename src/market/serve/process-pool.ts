import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** Mechanism that limits the memory of a process. RLIMIT_DATA limits private memory; cgroup limits all memory. */
export type ReaderLimit = 'RLIMIT_DATA' | 'cgroup';

/** Memory limits of queries unless they are set. */
export const QUERY_MEMORY: QueryMemory = { query: 1024 * MIB, process: 2048 * MIB, all: 3072 * MIB };

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

/**
 * Time for which a process waits for a task before it ends. Afterwards, the next task must start another process, which
 * takes about 0.3 s.
 */
export const SPARE_WAIT_MS = 60_000;

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
