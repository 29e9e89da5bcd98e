import { type ChildProcess, fork } from 'node:child_process';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { findCurrentSpan, reportTiming, runInSpan } from '#base/tracing/tracing.js';
import type { Finding } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import type { UsedCalendars } from '#domain/calendars/calendar.js';
import type { ImportHeader } from '#domain/definition/datasets.js';
import type { MarketHandle } from '#domain/market/market-data.js';
import { findMemoryLimit, type MemoryLimit } from '#kernels/memory/paged-memory.js';
import { createIncomingMarket, isFull, type TransferMessage } from '../panels/market-transfer.js';
import type { ImportResponse } from '../read/import.js';
import type { Inspection } from '../read/inspection.js';
import type { ParquetLines } from '../read/parquet.js';
import type {
  ContentSummary,
  MarketTaskName,
  MarketTaskReport,
  MarketTaskRequest,
  MarketTasks,
  SqlInputs,
  SqlNeeds,
  SqlOrder,
  SqlOutcome,
} from './market-tasks.js';
import {
  createMemoryRefusal,
  type PoolLimits,
  type ProcessEnd,
  type ProcessPoolEvent,
  type ProcessPoolOrder,
  type ProcessPurpose,
  QUERY_MEMORY,
  type QueryMemory,
  type ReaderLimit,
  ROWS_BYTES_MAX,
  SPARE_WAIT_MS,
} from './process-pool.js';

/** Maximum duration of a task in seconds: more than reading 25 million rows from a slow disk takes. */
const TASK_SECONDS_MAX = 900;

/** Maximum duration of an inspection in seconds; a person waits for its result. */
const INSPECTION_SECONDS_MAX = LIMITS.MAX_QUERY_SECONDS;

const FOLDER_PREFIX = 'divisor-';

/** Folder of in-memory files on Linux. */
const SHARED_MEMORY = '/dev/shm';

export interface MarketTaskOptions {
  /** Identity of the market that is loaded into shared memory. It is null if the data is only checked. */
  readonly load: Pick<MarketHandle, 'datasetId' | 'adjustment' | 'currency'> | null;
  readonly body?: Uint8Array;
  /** Decides how to handle an import, given its header. An error of this function ends the process and the task. */
  readonly onImport?: (header: ImportHeader) => Promise<ImportResponse>;
  /** Calendars of the stored indices. A bar on a day that is not a session of any of them gives a warning. */
  readonly calendars?: UsedCalendars;
  readonly onProgress?: (fraction: number, message: string) => void;
  readonly signal?: AbortSignal;
}

/** Outcome of a task: an accepted content, or the findings for which it was rejected. */
export type MarketTaskResult =
  | { readonly kind: 'accepted'; readonly summary: ContentSummary; readonly handle: MarketHandle | null }
  | { readonly kind: 'refused'; readonly findings: readonly Finding[] };

/**
 * Runs one task in a forked process and loads the market that it has read.
 * @throws Refusal STORE_READ_FAILED if the process fails, exceeds its time or is killed, STORE_WRITE_FAILED or
 * STORAGE_FULL if its output cannot be written; the reason of the signal if aborted.
 */
export async function runMarketTask<K extends Exclude<MarketTaskName, 'inspect' | 'query' | 'parquetLines'>>(
  task: K,
  input: MarketTasks[K],
  options: MarketTaskOptions,
): Promise<MarketTaskResult> {
  return runInSpan(`read ${task}`, {}, () => runTask(task, input, options));
}

async function runTask<K extends Exclude<MarketTaskName, 'inspect'>>(
  task: K,
  input: MarketTasks[K],
  options: MarketTaskOptions,
): Promise<MarketTaskResult> {
  const { load, body, calendars = { codes: [] }, signal } = options;
  signal?.throwIfAborted();
  const folders: string[] = [];
  const incomingMarket = createIncomingMarket();
  try {
    for (const sharedFolder of listSharedFolders()) {
      const folder = await mkdtemp(join(sharedFolder, `${FOLDER_PREFIX}${process.pid}-`)).catch((error: unknown) => {
        if (sharedFolder !== SHARED_MEMORY) throw error; // the in-memory folder may be inaccessible to this user
      });
      if (folder !== undefined) folders.push(folder);
    }
    const sharedFiles = load === null ? null : folders.map((folder) => join(folder, 'market'));
    const bodyFile = body === undefined ? null : await writeBody(folders, body);
    const taskOptions = { sharedFiles, bodyFile, calendars, memory: computeMemoryLimit(folders, load !== null) };
    const request = { task, input, options: taskOptions } as MarketTaskRequest; // task and input have matching types
    const report = requireOutcome(await exchangeMessages(request, options, (step) => incomingMarket.take(step)));
    if (report.kind === 'refused') return { kind: 'refused', findings: report.findings };
    const { summary, digests } = report;
    const sharedMarket = incomingMarket.market();
    if (load === null || sharedMarket === undefined) return { kind: 'accepted', summary, handle: null };
    return {
      kind: 'accepted',
      summary,
      handle: { ...load, contentHash: summary.contentHash, digests, ...(await sharedMarket) },
    };
  } finally {
    await incomingMarket.stop();
    // Folders are removed before the memory of their files is released, because the removal would wait for the release.
    await Promise.all(folders.map(removeFolder));
    incomingMarket.close();
  }
}

/**
 * Inspects data and proposes a mapping, within a minute. @param calendars that stored indices use. @throws Refusal STORE_READ_FAILED if the process fails,
 * exceeds its time or is killed
 */
export async function inspectMarket(
  input: MarketTasks['inspect'],
  signal: AbortSignal,
  calendars: UsedCalendars = { codes: [] },
): Promise<Inspection> {
  signal.throwIfAborted();
  const options = { sharedFiles: null, bodyFile: null, calendars, memory: findMemoryLimit() };
  const report = await exchangeMessages(
    { task: 'inspect', input, options },
    { load: null, signal, secondsMax: INSPECTION_SECONDS_MAX, process: { purpose: 'rows' } },
    () => {},
  );
  if (report.kind === 'inspected') return report.inspection;
  requireOutcome(report);
  throw new Error(`an inspection ended as ${report.kind}`);
}

interface QueryOptions {
  readonly onNeeds: (needs: SqlNeeds) => Promise<SqlInputs>;
  /** Maximum time in which the query runs. Pauses do not count. */
  readonly secondsMax: number;
  readonly signal: AbortSignal;
  /** Key of the client; null if clients are not distinguished. Default: null. */
  readonly client?: string | null;
  /** Receives the function that pauses the query (false) and continues it (true). Default: no pauses. */
  readonly follow?: (onTurn: (isRunning: boolean) => void) => void;
  /** Called instead of a refusal if the query ends because others use too much memory. @returns the error to throw */
  readonly onDisplaced?: () => Error;
}

/**
 * Writes the result of a query to a file in a temporary folder.
 * @param take opens the file, which is removed afterwards
 * @throws Refusal VALIDATION_FAILED, QUERY_LIMIT; errors of `onNeeds` and `onDisplaced`; the reason of the signal if
 * aborted
 */
export async function answerQuery<T>(
  order: Omit<SqlOrder, 'resultFile' | 'memory'>,
  { onNeeds, secondsMax, signal, client = null, follow, onDisplaced }: QueryOptions,
  take: (file: string, outcome: SqlOutcome) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), `${FOLDER_PREFIX}${process.pid}-`));
  try {
    const input = { ...order, resultFile: join(folder, 'result'), memory: findQueryMemory() };
    const options = { sharedFiles: null, bodyFile: null, calendars: { codes: [] }, memory: findMemoryLimit() };
    const describeEnd = (end: ProcessEnd | 'time') =>
      (end !== 'time' && end.excess?.isOver === false && onDisplaced?.()) || createLimitRefusal(end, secondsMax);
    const report = await exchangeMessages(
      { task: 'query', input, options },
      { load: null, signal, secondsMax, onNeeds, follow, describeEnd, process: { purpose: 'query', client } },
      () => {},
    );
    if (report.kind === 'queried') return await take(input.resultFile, report.outcome);
    if (report.kind === 'failed') throw new Refusal('QUERY_LIMIT', `The query failed: ${report.message}`);
    requireOutcome(report);
    throw new Error(`a query ended as ${report.kind}`);
  } finally {
    await removeFolder(folder);
  }
}

function createLimitRefusal(end: ProcessEnd | 'time', secondsMax: number): Refusal {
  if (end === 'time')
    return new Refusal(
      'QUERY_LIMIT',
      `The query was ended: it took longer than ${secondsMax} seconds (setting --sql-seconds).`,
      { setting: 'sql-seconds', limit: secondsMax },
    );
  const { excess, signal, code } = end;
  if (excess !== undefined) return createMemoryRefusal(findQueryMemory(), excess.limit);
  const cause = `Its process ended before it was done (${signal ?? `exit ${code}`}).`;
  if (signal === null) return new Refusal('QUERY_LIMIT', `The query failed. ${cause}`);
  return createMemoryRefusal(findQueryMemory(), 'process', ` ${cause}`);
}

/**
 * Reads the rows of a Parquet file that arrives as a stream.
 * @param take reads the rows as lines of JSON from a file, which is removed afterwards
 * @throws Refusal VALIDATION_FAILED if the bytes are not a valid Parquet file, STORAGE_FULL
 */
export async function readParquetLines<T>(
  bytes: AsyncIterable<Uint8Array>,
  take: (file: string, lines: ParquetLines) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), `${FOLDER_PREFIX}${process.pid}-`));
  try {
    const [from, to] = [join(folder, 'body.parquet'), join(folder, 'lines')];
    await pipeline(bytes, createWriteStream(from, { mode: 0o600 })).catch((cause: unknown) => {
      if (!isFull(cause)) throw cause;
      throw new Refusal('STORAGE_FULL', 'The disk has no free space for the body of the request.', null, { cause });
    });
    const options = { sharedFiles: null, bodyFile: null, calendars: { codes: [] }, memory: findMemoryLimit() };
    const request: MarketTaskRequest = { task: 'parquetLines', input: { from, to }, options };
    const report = await exchangeMessages(request, { load: null, process: { purpose: 'rows' } }, () => {}).catch(
      (error: unknown) => {
        if (error instanceof Refusal) return { kind: 'failed' as const, message: error.message };
        throw error;
      },
    );
    if (report.kind === 'lines') return await take(to, report.lines);
    if (report.kind === 'unwritten') throw new Refusal('STORAGE_FULL', report.message);
    if (report.kind === 'refused') throw refuseWithFindings('body', report.findings);
    const message = `The Parquet file could not be read: ${'message' in report ? report.message : report.kind}`;
    throw refuseWithFindings('body', [{ severity: 'error', code: 'UNREADABLE_FILE', path: 'body', message }]);
  } finally {
    await removeFolder(folder);
  }
}

/** Returns the final report if the data was accepted or rejected. @throws Refusal if the process reports a failure */
function requireOutcome(report: FinalReport): Extract<FinalReport, { kind: 'done' | 'refused' }> {
  if (report.kind === 'done' || report.kind === 'refused') return report;
  if (report.kind === 'failed') throw new Refusal('STORE_READ_FAILED', `The data could not be read: ${report.message}`);
  if (report.kind === 'unwritten')
    throw new Refusal(report.isFull ? 'STORAGE_FULL' : 'STORE_WRITE_FAILED', report.message);
  if (report.kind === 'refusal') throw new Refusal(report.error.code, report.error.message, report.error.detail);
  throw new Error(`the process reported ${report.kind} at its end`);
}

/**
 * Returns the memory limit for a child process. It has folders for panels, because this process opens their files and
 * loads them.
 */
function computeMemoryLimit(folders: readonly string[], loads: boolean): MemoryLimit {
  const limit = findMemoryLimit();
  const pagedLimit = limit.folder === null ? limit : { ...limit, folder: folders.at(-1)!, keepsNames: true };
  const sharedFolder = folders.find((folder) => folder.startsWith(SHARED_MEMORY));
  return loads && sharedFolder !== undefined ? { ...pagedLimit, sharedFolder } : pagedLimit;
}

/** Removes a folder. It is usually empty: removing an empty folder takes one event-loop turn, a search several. */
async function removeFolder(folder: string): Promise<void> {
  await rmdir(folder).catch(() => rm(folder, { recursive: true, force: true }));
}

/** Writes the body of a request to the first folder with enough space, and returns its path. */
async function writeBody([folder, ...others]: readonly string[], body: Uint8Array): Promise<string> {
  const file = join(folder!, 'body'); // the list is not empty
  try {
    await writeFile(file, body, { mode: 0o600 });
    return file;
  } catch (error) {
    if (!isFull(error)) throw error;
    if (others.length === 0)
      throw new Refusal('STORAGE_FULL', 'The disk has no free space for the body of the request.', null, {
        cause: error,
      });
    await rm(file, { force: true });
    return writeBody(others, body);
  }
}

/** Removes shared-memory files of processes that have ended. Called once at start. */
export async function sweepSharedFolders(): Promise<void> {
  for (const sharedFolder of listSharedFolders()) {
    for (const name of await readdir(sharedFolder).catch(() => [])) {
      const pid = Number(/^divisor-(\d+)-/.exec(name)?.[1]);
      if (pid > 0 && !isAlive(pid)) await rm(join(sharedFolder, name), { recursive: true, force: true });
    }
  }
}

type FinalReport = Exclude<MarketTaskReport, TransferMessage | { kind: 'progress' | 'question' | 'needs' }>;

interface Conversation extends MarketTaskOptions {
  readonly process?: ProcessPurpose;
  readonly onNeeds?: QueryOptions['onNeeds'];
  readonly secondsMax?: number;
  readonly follow?: QueryOptions['follow'];
  /** Returns the error for a process that ended or exceeded its time. Default: STORE_READ_FAILED. */
  readonly describeEnd?: (end: ProcessEnd | 'time') => Error;
}

function createReadFailure(end: ProcessEnd | 'time', secondsMax: number): Refusal {
  return new Refusal(
    'STORE_READ_FAILED',
    end === 'time'
      ? `The data was not read within ${secondsMax} seconds.`
      : `The reading process ended before it was done (${end.signal ?? `exit ${end.code}`}); it may have run out of memory.`,
  );
}

function createPausableTimer(milliseconds: number, onEnd: () => void) {
  let remainingMs = milliseconds;
  let sinceMs = performance.now();
  let timer: NodeJS.Timeout | undefined = setTimeout(onEnd, remainingMs);
  return {
    setRunning(isRunning: boolean) {
      if (isRunning === (timer !== undefined)) return;
      const nowMs = performance.now();
      if (isRunning) timer = setTimeout(onEnd, remainingMs);
      else {
        clearTimeout(timer);
        timer = undefined;
        remainingMs = Math.max(0, remainingMs - (nowMs - sinceMs));
      }
      sinceMs = nowMs;
    },
    clear() {
      clearTimeout(timer);
    },
  };
}

function exchangeMessages(
  request: MarketTaskRequest,
  conversation: Conversation,
  onHandOver: (step: TransferMessage) => void,
): Promise<FinalReport> {
  const { onProgress, onImport, onNeeds, signal, secondsMax = TASK_SECONDS_MAX, follow } = conversation;
  const { process: purpose = { purpose: 'store' } } = conversation;
  const { describeEnd = (end: ProcessEnd | 'time') => createReadFailure(end, secondsMax) } = conversation;
  const span = findCurrentSpan();
  return new Promise<FinalReport>((resolve, reject) => {
    let isDone = false;
    const endRequest = () => {
      isDone = true;
      deadline.clear();
      signal?.removeEventListener('abort', stop);
    };
    const child = startMarketProcess(request, purpose, {
      onMessage(message) {
        const report = message as MarketTaskReport; // market-process-tasks sends no other messages
        if (report.kind === 'progress') onProgress?.(report.fraction, report.message);
        else if (report.kind === 'question') answer(onImport?.(report.header));
        else if (report.kind === 'needs') answer(onNeeds?.(report.needs));
        else if (report.kind === 'shape' || report.kind === 'days' || report.kind === 'rest') receive(report);
        else {
          endRequest();
          if (follow !== undefined) child.setRunning(true); // a process that was paused meanwhile could not end
          if (span !== undefined && report.timing !== undefined)
            reportTiming(`reader process ${request.task}`, span, report.timing, { 'process.pid': report.timing.pid });
          resolve(report); // the process only has to end
        }
      },
      onUnstarted() {
        endRequest();
        reject(new Refusal('STORE_READ_FAILED', 'The reading process could not be started.'));
      },
      onEnded(end) {
        endRequest();
        reject(describeEnd(end));
      },
    });
    const stop = () => {
      endRequest();
      child.end();
      reject(signal?.reason);
    };
    const receive = (step: TransferMessage) => {
      try {
        onHandOver(step);
      } catch (fault) {
        endRequest();
        child.end();
        reject(isFull(fault) ? new Refusal('STORAGE_FULL', (fault as Error).message) : fault);
      }
    };
    const answer = (answering: Promise<object> | undefined) => {
      if (answering === undefined) throw new Error('the process asked what its task does not answer');
      answering.then(
        (answered) => child.send(answered),
        (refusal: unknown) => {
          endRequest();
          child.end();
          reject(refusal);
        },
      );
    };
    const deadline = createPausableTimer(secondsMax * 1000, () => {
      endRequest();
      child.end();
      reject(describeEnd('time'));
    });
    signal?.addEventListener('abort', stop, { once: true });
    follow?.((isRunning) => {
      if (isDone) return;
      deadline.setRunning(isRunning);
      child.setRunning(isRunning);
    });
  });
}

/**
 * Returns the folders for the transfer in order of preference. In-memory folders come first if they are available,
 * because the files are read back and removed at once. Temporary folders follow. The last folder is for panels in
 * files, for data that exceeds memory.
 */
function listSharedFolders(): readonly string[] {
  const { folder } = findMemoryLimit();
  return [...(existsSync(SHARED_MEMORY) ? [SHARED_MEMORY] : []), tmpdir(), ...(folder === null ? [] : [folder])];
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Callbacks of one process. The last call is either `onEnded` or `onUnstarted`. */
interface Listener {
  onMessage(message: unknown): void;
  onUnstarted(): void;
  onEnded(end: ProcessEnd): void;
}

interface ProcessPool {
  readonly process: ChildProcess;
  readonly listeners: Map<number, Listener>;
}

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

const findQueryMemory = (): QueryMemory => memory?.queries ?? QUERY_MEMORY;

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
function startMarketProcess(request: object, purpose: ProcessPurpose, listener: Listener) {
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
