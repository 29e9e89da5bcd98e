import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import {
  ENTER_GROUP,
  type FreeProcess,
  openReaderGroups,
  type ProcessPoolEvent,
  type ProcessPoolOrder,
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

/**
 * Setting that requests large pages from the operating system. The first access to a page is slow, and a process
 * accesses every page of the panels for the first time. Has no effect if large pages are unavailable.
 */
const LARGE_PAGES = 'glibc.malloc.hugetlb=1';

/** Time between SIGTERM and SIGKILL for a process. */
const KILL_AFTER_MS = 500;

/** Niceness of the processes, so that requests to the service do not wait while a store is read. */
const NICENESS = 5;

setPriority(NICENESS);

const SHELL = '/bin/sh';
/** Shell command that sets the limit of private memory in KiB, then executes the program. */
const LIMIT_COMMAND = 'ulimit -d "$0" && exec "$@"';

const [bytesMax, groupFolder] = [Number(process.argv[2] ?? 0), process.argv[3] ?? ''];

/** Shell arguments that apply the memory limit of the pool to a process; none if the system cannot limit memory. */
const limitArguments = createLimitArguments(bytesMax);
/** Control groups of the processes. They are undefined if the service may not manage a control group. */
const groups = findGroups(groupFolder);

/**
 * Returns the shell arguments for a limit of private memory. Linux counts all private writable memory against this
 * limit, even if it is unused. It does not count shared memory and reserved address space, of which the service uses
 * much.
 */
function createLimitArguments(bytes: number): readonly string[] {
  if (bytes === 0) return [];
  const skipLimit = (reason: string): readonly string[] => {
    sendUnlimited('RLIMIT_DATA', reason);
    return [];
  };
  if (process.platform !== 'linux') return skipLimit(`${process.platform} does not limit the memory of a process`);
  const shellArguments = ['-c', LIMIT_COMMAND, String(Math.floor(bytes / 1024))];
  const { status, error } = spawnSync(SHELL, [...shellArguments, 'true'], { stdio: 'ignore' });
  return status === 0 ? shellArguments : skipLimit(error?.message ?? `ulimit ended with ${String(status)}`);
}

function findGroups(folder: string): ReaderGroups | undefined {
  if (folder === '' || limitArguments.length === 0) return undefined;
  try {
    return openReaderGroups(folder, bytesMax, SHELL);
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

const childrenById = new Map<number, ChildProcess>();

/** Requests that were sent to a waiting process and not answered yet. The process may have ended already. */
const unansweredOrders = new Map<number, object>();

/** Process that has loaded its code and waits for a request. The next task then starts at once. */
let spareChild: { readonly child: ChildProcess; readonly wait: NodeJS.Timeout } | undefined;

process.on('message', (order: ProcessPoolOrder) => {
  if (order.kind === 'prepare') return prepare(order.waitMs);
  if (order.kind === 'start') start(order.id, order.message);
  const child = childrenById.get(order.id);
  if (child === undefined) return; // the process has ended, which an event reports
  if (order.kind === 'end') {
    unansweredOrders.delete(order.id);
    end(child);
  } else if (child.connected)
    child.send(order.message, (error) => {
      if (error) end(child);
    });
});

// Ends this process when the service has ended. The child processes detect the end of this process.
process.once('disconnect', () => process.exit(0));

function start(id: number, request: object): void {
  const spareProcess = takeSpare();
  if (spareProcess !== undefined) unansweredOrders.set(id, request);
  sendTask(id, spareProcess ?? startProcess());
}

function sendTask(id: number, child: ChildProcess): void {
  childrenById.set(id, child);
  child.on('message', (message) => {
    unansweredOrders.delete(id);
    if ((message as FreeProcess | { readonly kind: string }).kind === 'free') releaseChild(id, child);
    else sendEvent({ id, kind: 'message', message });
  });
  child.on('error', () => endChild(id, { id, kind: 'unstarted' }));
  child.on('close', (code, signal) => {
    const request = unansweredOrders.get(id);
    if (request === undefined) return endChild(id, { id, kind: 'ended', code, signal });
    unansweredOrders.delete(id);
    const newChild = startProcess();
    sendTask(id, newChild);
    newChild.send(request);
  });
}

/**
 * Releases a process that has finished its task and is still small. It waits for the next task, unless another process
 * already waits.
 */
function releaseChild(id: number, child: ChildProcess): void {
  child.removeAllListeners('message').removeAllListeners('error').removeAllListeners('close');
  childrenById.delete(id);
  sendEvent({ id, kind: 'ended', code: 0, signal: null });
  if (spareChild === undefined) keepSpare(child);
  else child.disconnect();
}

function startProcess(): ChildProcess {
  const nodeOptions = [`--max-old-space-size=${HEAP_MEGABYTES}`, '--expose-gc'];
  const isLimited = limitArguments.length > 0;
  const group = openGroup();
  const child = fork(fileURLToPath(new URL('./market-process-main.js', import.meta.url)), {
    serialization: 'advanced',
    ...(isLimited && { execPath: SHELL }),
    execArgv: isLimited ? [...listGroupArguments(group), process.execPath, ...nodeOptions] : nodeOptions,
    env: { ...process.env, UV_THREADPOOL_SIZE: String(THREADS), GLIBC_TUNABLES: LARGE_PAGES },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  if (group !== undefined) for (const event of ['exit', 'error']) child.once(event, () => group.close());
  return child;
}

function openGroup(): ReaderGroup | undefined {
  try {
    return groups?.open();
  } catch (failure) {
    sendUnlimited('cgroup', formatMessage(failure));
    return undefined;
  }
}

/** Returns the shell arguments that limit a process, in a control group if there is one. */
function listGroupArguments(group: ReaderGroup | undefined): readonly string[] {
  if (group === undefined) return limitArguments;
  const [flag, line, kibibytes] = limitArguments as [string, string, string]; // see `createLimitArguments`
  return [flag, `${ENTER_GROUP} && ${line}`, kibibytes, group.folder];
}

function endChild(id: number, event: ProcessPoolEvent): void {
  if (!childrenById.delete(id)) return;
  unansweredOrders.delete(id);
  sendEvent(event);
  prepare(); // a store that was read is usually read again
}

/** Starts a process in advance, but only if no process is working, because working processes need the processor. */
function prepare(waitMs?: number): void {
  if (childrenById.size === 0 && spareChild === undefined) keepSpare(startProcess(), waitMs);
}

/** Keeps a process for the next task. It ends after the waiting time, so that an idle service is small. */
function keepSpare(child: ChildProcess, waitMs = SPARE_WAIT_MS): void {
  const waitTimer = setTimeout(() => takeSpare()?.disconnect(), waitMs).unref();
  spareChild = { child, wait: waitTimer };
  child.on('error', forgetSpare);
  child.on('exit', forgetSpare);
}

function forgetSpare(): void {
  clearTimeout(spareChild?.wait);
  spareChild = undefined;
}

function takeSpare(): ChildProcess | undefined {
  const child = spareChild?.child;
  forgetSpare();
  child?.off('error', forgetSpare).off('exit', forgetSpare);
  return child?.connected === true ? child : undefined;
}

function end(child: ChildProcess): void {
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS).unref();
}

function sendEvent(event: ProcessPoolEvent): void {
  if (process.connected) process.send!(event, () => {}); // the pool is started with a channel; if the service has ended, nobody needs a report
}
