import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { findBundlePath } from '#bundle';
import {
  ENTER_GROUP,
  findExcess,
  type FreeProcess,
  openReaderGroups,
  type PoolLimits,
  type ProcessKind,
  type ProcessPoolEvent,
  type ProcessPoolOrder,
  type QueryExcess,
  type QueryUse,
  type ReaderGroup,
  type ReaderGroups,
  type ReaderLimit,
  SPARE_WAIT_MS,
} from './process-pool.js';

/** Entry point of the process that starts the processes of market tasks. It passes messages on in both directions. */

/**
 * Heap of a market process in megabytes. It is enough for a JSON import of the largest accepted size and its checks.
 * Panels are outside the heap.
 */
const HEAP_MEGABYTES = 1536;

/** Number of threads for file access. Three scans wait for rows while one digest and two writes run. */
const THREADS = 6;

/** Time between SIGTERM and SIGKILL for a process. */
const KILL_AFTER_MS = 500;

/** Niceness of the processes, so that requests to the service do not wait while a store is read. */
const NICENESS = 2;

setPriority(NICENESS);

const SHELL = '/bin/sh';
/** Shell command that sets the limit of private memory in KiB, then executes the program. */
const LIMIT_COMMAND = 'ulimit -d "$0" && exec "$@"';

const limits = JSON.parse(process.argv[2]!) as PoolLimits; // the owner of the pool passes it

/** True if the system can limit the memory of processes. */
const isLimited = testLimit();
/** Control groups of the processes. They are undefined if the service may not manage a control group. */
const groups = findGroups();

/**
 * Returns the shell arguments for a limit of private memory. Linux counts all private writable memory against this
 * limit, even if it is unused. It does not count shared memory and reserved address space, of which the service uses
 * much.
 */
function createLimitArguments(bytes: number): readonly [string, string, string] {
  return ['-c', LIMIT_COMMAND, String(Math.floor(bytes / 1024))];
}

function testLimit(): boolean {
  if (process.platform !== 'linux') return skipLimit(`${process.platform} does not limit the memory of a process`);
  const { status, error } = spawnSync(SHELL, [...createLimitArguments(limits.bytes.query), 'true'], {
    stdio: 'ignore',
  });
  return status === 0 || skipLimit(error?.message ?? `ulimit ended with ${String(status)}`);
}

function skipLimit(reason: string): false {
  sendUnlimited('RLIMIT_DATA', reason);
  return false;
}

function findGroups(): ReaderGroups | undefined {
  if (limits.group === '' || !isLimited) return undefined;
  try {
    return openReaderGroups(limits.group, SHELL);
  } catch (failure) {
    sendUnlimited('cgroup', formatMessage(failure));
    return undefined;
  }
}

function formatMessage(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

function sendUnlimited(limit: ReaderLimit, reason: string): void {
  sendEvent({ kind: 'unlimited', limit, reason });
}

/** Process that runs a task. */
interface Worker {
  readonly child: ChildProcess;
  readonly purpose: ProcessKind;
  readonly client: string | null;
  isPaused: boolean;
  excess?: QueryExcess;
  /** Time of the first message of the process, which a query sends before it runs. */
  startMs?: number;
  hasLowPriority: boolean;
}

const workersById = new Map<number, Worker>();

/** Requests that were sent to a waiting process and not answered yet. The process may have ended already. */
const unansweredOrders = new Map<number, object>();

interface Spare {
  readonly child: ChildProcess;
  readonly forget: () => void;
}

/** Processes that have loaded their code and wait for a request, by kind. The next task then starts at once. */
const spares = new Map<ProcessKind, Spare>();

process.on('message', (order: ProcessPoolOrder) => {
  if (order.kind === 'prepare') return prepare('store', order.waitMs);
  if (order.kind === 'start') start(order);
  const worker = workersById.get(order.id);
  if (worker === undefined) return; // the process has ended, which an event reports
  if (order.kind === 'end') {
    unansweredOrders.delete(order.id);
    end(worker.child);
  } else if (order.kind === 'turn') setRunning(order.id, worker, order.isRunning);
  else if (worker.child.connected)
    worker.child.send(order.message, (error) => {
      if (error) end(worker.child);
    });
});

// Ends this process when the service has ended. The child processes detect the end of this process, unless they are
// paused.
process.once('disconnect', () => {
  for (const { child } of workersById.values()) child.kill('SIGCONT');
  process.exit(0);
});

type Start = Extract<ProcessPoolOrder, { readonly kind: 'start' }>;

function start({ id, message, purpose, client = null }: Start): void {
  const spareProcess = takeSpare(purpose);
  if (spareProcess !== undefined) unansweredOrders.set(id, message);
  sendTask(id, {
    child: spareProcess ?? startProcess(purpose),
    purpose,
    client,
    isPaused: false,
    hasLowPriority: false,
  });
  if (purpose === 'query') supervise();
}

function sendTask(id: number, worker: Worker): void {
  const { child, purpose } = worker;
  workersById.set(id, worker);
  child.on('message', (message) => {
    unansweredOrders.delete(id);
    worker.startMs ??= performance.now();
    if ((message as FreeProcess | { readonly kind: string }).kind === 'free') releaseChild(id, worker);
    else sendEvent({ id, kind: 'message', message });
  });
  child.on('error', () => endChild(id, { id, kind: 'unstarted' }));
  child.on('close', (code, signal) => {
    const request = unansweredOrders.get(id);
    const { excess } = worker;
    if (request === undefined || excess !== undefined)
      return endChild(id, { id, kind: 'ended', code, signal, ...(excess && { excess }) });
    unansweredOrders.delete(id);
    const newWorker = { ...worker, child: startProcess(purpose) };
    sendTask(id, newWorker);
    newWorker.child.send(request);
    setRunning(id, newWorker, !worker.isPaused);
  });
}

function setRunning(id: number, worker: Worker, isRunning: boolean): void {
  worker.isPaused = !isRunning;
  if (!isRunning && worker.child.pid !== undefined) sendEvent({ id, kind: 'paused', pid: worker.child.pid });
  worker.child.kill(isRunning ? 'SIGCONT' : 'SIGSTOP');
}

/** Time in ms between two checks of the memory of queries. A process can use about 0.1 GiB more in this time. */
const SUPERVISION_MS = 50;

/** Time in ms after which a query gets a lower priority, so that short queries of other keys need not wait for it. */
const SHORT_QUERY_MS = 1000;
const LONG_QUERY_NICENESS = 5;

let supervision: NodeJS.Timeout | undefined;

/** Ends processes while queries use more memory than they may. */
function supervise(): void {
  supervision ??= setInterval(() => {
    for (const worker of workersById.values()) lowerPriority(worker);
    const uses = listQueryUses();
    if (uses.length === 0) {
      clearInterval(supervision);
      supervision = undefined;
    }
    const found = findExcess(uses, limits.queries);
    if (found === undefined) return;
    const worker = workersById.get(found.id)!; // a process in use
    worker.excess = found.excess;
    worker.child.kill('SIGKILL');
  }, SUPERVISION_MS);
}

/** Lowers the priority of a query that is no longer short. Linux sets the priority of each thread separately. */
function lowerPriority(worker: Worker): void {
  const { child, purpose, startMs = Infinity, hasLowPriority } = worker;
  if (purpose !== 'query' || hasLowPriority || performance.now() - startMs < SHORT_QUERY_MS) return;
  worker.hasLowPriority = true;
  try {
    for (const thread of readdirSync(`/proc/${child.pid}/task`)) setPriority(Number(thread), LONG_QUERY_NICENESS);
  } catch {
    // the process has ended, or the system has no such folder
  }
}

function listQueryUses(): QueryUse[] {
  return [...workersById].flatMap(([id, { child, purpose, client, isPaused, excess }]) =>
    purpose === 'query' && excess === undefined ? [{ id, client, bytes: readResidentBytes(child.pid), isPaused }] : [],
  );
}

/** Returns the resident memory of a process; 0 if the system does not report it or the process has ended. */
function readResidentBytes(pid: number | undefined): number {
  try {
    const [, kibibytes] = /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kibibytes ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/**
 * Releases a process that has finished its task and is still small. It waits for the next task, unless another process
 * already waits.
 */
function releaseChild(id: number, { child, purpose, hasLowPriority }: Worker): void {
  child.removeAllListeners('message').removeAllListeners('error').removeAllListeners('close');
  workersById.delete(id);
  child.kill('SIGCONT'); // a paused process would not end
  sendEvent({ id, kind: 'ended', code: 0, signal: null });
  if (!spares.has(purpose) && !hasLowPriority) return keepSpare(purpose, child);
  child.disconnect(); // a low priority cannot be raised again
  prepare(purpose);
}

function startProcess(purpose: ProcessKind): ChildProcess {
  const nodeOptions = [`--max-old-space-size=${HEAP_MEGABYTES}`, '--expose-gc'];
  const bytes = limits.bytes[purpose];
  const isProcessLimited = isLimited && bytes > 0;
  const group = isProcessLimited ? openGroup(bytes) : undefined;
  const tasks = findBundlePath('market-process-tasks') ?? new URL('./market-process-tasks.js', import.meta.url);
  const child = fork(fileURLToPath(tasks), {
    serialization: 'advanced',
    ...(isProcessLimited && { execPath: SHELL }),
    execArgv: isProcessLimited ? [...listLimitArguments(bytes, group), process.execPath, ...nodeOptions] : nodeOptions,
    env: { ...process.env, UV_THREADPOOL_SIZE: String(THREADS) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  if (group !== undefined) for (const event of ['exit', 'error']) child.once(event, () => group.close());
  return child;
}

function openGroup(bytes: number): ReaderGroup | undefined {
  try {
    return groups?.open(bytes);
  } catch (failure) {
    sendUnlimited('cgroup', formatMessage(failure));
    return undefined;
  }
}

function listLimitArguments(bytes: number, group: ReaderGroup | undefined): readonly string[] {
  const [flag, line, kibibytes] = createLimitArguments(bytes);
  return group === undefined ? [flag, line, kibibytes] : [flag, `${ENTER_GROUP} && ${line}`, kibibytes, group.folder];
}

function endChild(id: number, event: ProcessPoolEvent): void {
  const purpose = workersById.get(id)?.purpose;
  if (purpose === undefined) return;
  workersById.delete(id);
  unansweredOrders.delete(id);
  sendEvent(event);
  prepare(purpose); // a store that was read is usually read again
}

/** Starts a process in advance, but only if no process is working, because working processes need the processor. */
function prepare(purpose: ProcessKind, waitMs?: number): void {
  if (workersById.size === 0 && !spares.has(purpose)) keepSpare(purpose, startProcess(purpose), waitMs);
}

/** Keeps a process for the next task. It ends after the waiting time, so that an idle service is small. */
function keepSpare(purpose: ProcessKind, child: ChildProcess, waitMs = SPARE_WAIT_MS): void {
  const wait = setTimeout(() => takeSpare(purpose)?.disconnect(), waitMs).unref();
  const forget = () => {
    clearTimeout(wait);
    spares.delete(purpose);
    child.off('error', forget).off('exit', forget);
  };
  spares.set(purpose, { child, forget });
  child.on('error', forget).on('exit', forget);
}

function takeSpare(purpose: ProcessKind): ChildProcess | undefined {
  const spare = spares.get(purpose);
  spare?.forget();
  return spare?.child.connected === true ? spare.child : undefined;
}

function end(child: ChildProcess): void {
  child.kill('SIGTERM');
  child.kill('SIGCONT'); // a paused process would not end
  setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS).unref();
}

function sendEvent(event: ProcessPoolEvent): void {
  if (process.connected) process.send!(event, () => {}); // the pool is started with a channel; if the service has ended, nobody needs a report
}
