import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Finding } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { formatCount } from '#domain/base/numbers.js';
import { type ErrorCode, Refusal } from '#domain/base/refusals.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { isEntitled } from '#domain/definition/delivery.js';
import { createFileName } from '#domain/definition/target-addresses.js';
import type { RunDocument } from '#domain/definition/runs.js';
import type { Authorship } from '#domain/definition/versions.js';
import {
  type DayDocument,
  type ExportedFile,
  type ItemState,
  readPattern,
  type StepOf,
  type StepType,
  type StoredItem,
  type StoredStep,
} from '#domain/outputs/daily-plans.js';
import { RenderDocument } from '#domain/outputs/report-templates.js';
import type { Jobs } from '#jobs/port/job-kind.js';
import { isTerminal, type JobStatus } from '#jobs/port/life-cycle.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { RefreshReport } from '#market/judge/refresh.js';
import type { ServedMarket } from '#market/serve/served-markets.js';
import { computeRunId, parseStored } from '#store/port.js';
import type { ClientReader, ClientRecord } from '../delivery/clients.js';
import type { DeliverFiles, DeliveryCounts, DeliveryRecords } from '../delivery/deliveries.js';
import { findReferencedStore, requireIndex } from '../indices/documents.js';
import type { Publications } from '../publication/publications.js';
import type { Reports } from '../reports/reports.js';
import type { Analytics } from '../runs/backtests.js';
import { type Exports, collectBytes } from '../runs/exports.js';
import type { Context } from '../shared/context.js';
import { findRun } from '../shared/run-documents.js';
import type { DatasetSubmissions } from '../stores/jobs.js';
import { listFiles } from './stored-days.js';

/** Delay before the first check of a job. The delay is short, because most jobs are short. */
const FIRST_POLL_MS = 20;
const POLL_MS_MAX = 1000;

/** Returns the status of a job once it has ended; undefined if the job is no longer stored. */
async function awaitJobEnd(
  jobs: Pick<Jobs, 'get'>,
  jobId: string,
  signal: AbortSignal,
): Promise<JobStatus | undefined> {
  for (let ms = FIRST_POLL_MS; ; ms = Math.min(2 * ms, POLL_MS_MAX)) {
    const status = await jobs.get(jobId);
    if (status === undefined || isTerminal(status.status)) return status;
    await pause(ms, undefined, { signal });
  }
}

/** Refuses a job that failed or was cancelled, with the code of the job. @throws Refusal */
function assertSucceeded(jobId: string, status: JobStatus | undefined): asserts status is JobStatus {
  if (status?.status === 'succeeded') return;
  const { error } = status ?? {};
  if (error != null) throw new Refusal(error.code as ErrorCode, error.message, error.detail);
  throw new Refusal('JOB_NOT_FOUND', `The job ${jobId} was ${status === undefined ? 'removed' : status.status}.`);
}

/** Result of an item. Members that are absent become null in the stored item. */
export interface ItemResult extends Partial<Pick<StoredItem, 'code' | 'job_id' | 'file' | 'detail' | 'artifact'>> {
  readonly state: ItemState;
  readonly message: string;
}

/** The plan, the day and the indices that a step works on. */
export interface StepContext<S> {
  readonly spec: S;
  readonly day: () => DayDocument;
  /** Indices of the plan in groups. An index depends only on indices of earlier groups. */
  readonly waves: readonly (readonly string[])[];
  /**
   * Returns true if an index can be processed: no earlier day or step holds back the index or an index on which it
   * depends, and this step has not stopped at an index on which it depends.
   */
  isOpen(indexId: string): boolean;
  getAncestors(indexId: string): ReadonlySet<string>;
  item(key: string): StoredItem | undefined;
  put(key: string, indexId: string | null, result: ItemResult): Promise<void>;
  /** Removes the items of all indices from this step. */
  clear(): Promise<void>;
  /** Removes an item from this step. */
  drop(key: string): Promise<void>;
  log(message: string): Promise<void>;
  /** Time of records, ISO-8601. */
  readonly timestamp: () => string;
  /** Author of the published closes. */
  readonly by: Authorship;
  readonly origin: JobOrigin;
  /** Aborted when the service stops, or another process takes over the day. */
  readonly signal: AbortSignal;
}

export interface StepServices extends Context {
  readonly datasets: Pick<DatasetSubmissions, 'sync' | 'refresh'>;
  readonly analytics: Pick<Analytics, 'onStoredTerms' | 'currentRun' | 'start'>;
  readonly exports: Pick<Exports, 'export'>;
  readonly publications: Pick<Publications, 'publish' | 'entries'>;
  readonly reports: Pick<Reports, 'render'>;
  readonly clients: ClientReader;
  readonly records: Pick<DeliveryRecords, 'keeper'>;
  readonly deliver: DeliverFiles;
  /** Serves the active market if another process activated it. */
  readonly follow: () => Promise<unknown>;
}

/** Result of a step. `waiting` and `failed` end the round: later steps are not performed. */
export interface StepOutcome {
  readonly state: 'done' | 'waiting' | 'failed';
  readonly message: string;
  readonly code?: string | null;
}

/** Function that runs one kind of step. When it runs again, it repeats only the items that are not done. */
export type Performer<T extends StepType> = (context: StepContext<StepOf<T>>) => Promise<StepOutcome>;

/**
 * Maximum number of indices of one wave that are processed at the same time. They share the worker threads of the
 * service.
 */
const INDEX_CONCURRENCY = 8;

/**
 * Runs a step for every open index, parents first. A refusal blocks only its index. Any other error is a defect and
 * ends the round.
 * @returns number of indices for which the step is done
 */
export async function performEachIndex<S>(
  context: StepContext<S>,
  perform: (indexId: string) => Promise<ItemResult>,
  indices?: readonly string[] | null,
): Promise<number> {
  const selectedIndices = indices == null ? undefined : new Set(indices);
  let count = 0;
  for (const wave of context.waves) {
    const openIds = wave.filter(
      (id) => (selectedIndices === undefined || selectedIndices.has(id)) && context.isOpen(id),
    );
    await runConcurrently(openIds, INDEX_CONCURRENCY, async (id) => {
      const result = await perform(id).catch((failure: unknown) => createBlockedResult(failure, context.signal));
      await context.put(id, id, result);
      if (result.state === 'done') count++;
    });
  }
  return count;
}

/** Describes a step by its number of completed indices, for example `3 indices published.` */
const describeIndices = (count: number, outcome: string): string =>
  count === 0
    ? `No index ${outcome}; the indices are held back or waiting.`
    : `${formatCount(count, 'index', 'indices')} ${outcome}.`;

/**
 * Returns the result of an item that was refused or waits for an approval. @throws any failure that is not a refusal,
 * and every failure after an abort
 */
function createBlockedResult(failure: unknown, signal: AbortSignal): ItemResult {
  if (!(failure instanceof Refusal) || signal.aborted) throw failure;
  const state = failure.code === 'APPROVAL_REQUIRED' ? 'waiting' : 'blocked';
  return { state, code: failure.code, message: failure.message, detail: failure.detail };
}

async function runConcurrently<T>(
  values: readonly T[],
  concurrency: number,
  work: (value: T) => Promise<void>,
): Promise<void> {
  const remainingValues = values.values();
  const runWorker = async (): Promise<void> => {
    for (const value of remainingValues) await work(value);
  };
  const workers = await Promise.allSettled(Array.from({ length: Math.min(concurrency, values.length) }, runWorker));
  const failedWorker = workers.find((result) => result.status === 'rejected');
  if (failedWorker !== undefined) throw failedWorker.reason;
}

/**
 * Returns the market of an index of a plan. If the index names a store, it is the market of that store; otherwise it is
 * the active market. @throws the same refusals as `StoreMarkets.of`
 */
export async function findIndexMarket({ documents, markets, stores }: Context, indexId: string): Promise<ServedMarket> {
  const storeId = await findReferencedStore(documents, (await requireIndex(documents, indexId)).document);
  return storeId === null ? markets.require() : stores.of(storeId);
}

async function listPlanMarkets(
  context: Context,
  waves: readonly (readonly string[])[],
): Promise<readonly ServedMarket[]> {
  const marketsByStore = new Map<string, ServedMarket>();
  for (const indexId of waves.flat()) {
    const market = await findIndexMarket(context, indexId);
    marketsByStore.set(market.identity.datasetId, market);
  }
  return [...marketsByStore.values()];
}

/** Maximum number of clients that are served concurrently; each of their targets opens a connection. */
const CLIENT_CONCURRENCY = 4;

/**
 * Delivers the files of a day to clients. Each item is one target of one client. Because an item has no index, it never
 * blocks an index.
 */
export function createDeliverPerformer({ clients, records, deliver }: StepServices): Performer<'deliver'> {
  return async (context) => {
    const { spec, day, put, drop, item, signal, timestamp } = context;
    const files = listFiles(day());
    const { schedule_id: schedule, date } = day();
    const previousItems = day().steps.flatMap(({ type, items }) => (type === 'deliver' ? items : []));
    const current = new Set<string>();
    const served: { readonly client: string; readonly counts: DeliveryCounts }[] = [];

    async function serve(client: ClientRecord): Promise<void> {
      const record = await records.keeper({ clientId: client.id, scheduleId: schedule, date }, client.version);
      const { targets } = client.document;
      await runConcurrently(targets, targets.length, async (target) => {
        const key = `${client.id}/${target.name}`;
        current.add(key);
        const isRepeat =
          item(key) === undefined && record.files(target.name).some(({ state }) => state === 'delivered');
        // The state is on disk before any file is sent. Otherwise another process could repeat the step.
        await put(key, null, item(key) ?? { state: 'waiting', message: 'The files are being delivered.' });
        const counts = await deliver({ client, target, schedule, date, files, record, isRepeat, signal, timestamp });
        served.push({ client: client.id, counts });
        await put(key, null, createDeliveryResult(counts));
      });
    }

    await runConcurrently([...(spec.clients ?? (await clients.ids()))], CLIENT_CONCURRENCY, async (id) => {
      const client = await clients.find(id);
      if (client === undefined && spec.clients === null) return; // the routes of clients report an unreadable client
      if (client === undefined) {
        current.add(id);
        await put(id, null, {
          state: 'failed',
          code: 'CLIENT_NOT_FOUND',
          message: `No client is stored under the id ${id}.`,
        });
        return;
      }
      const hasEntitledFiles = files.some(({ indexId: index, table }) =>
        isEntitled(client.document, { index, table, date }),
      );
      if (client.document.enabled && (hasEntitledFiles || spec.clients !== null)) await serve(client);
    });
    // A target that was removed, or a client that may no longer receive files, does not keep the day open.
    for (const { key, state } of previousItems) if (state !== 'done' && !current.has(key)) await drop(key);
    return { state: 'done', message: summarise(served) };
  };
}

/** States how many files the targets have, and how many they lack. */
function summarise(served: readonly { readonly client: string; readonly counts: DeliveryCounts }[]): string {
  if (served.length === 0) return 'No client is entitled to a file of the day.';
  const total = (count: (counts: DeliveryCounts) => number) =>
    served.reduce((files, { counts }) => files + count(counts), 0);
  const missing = total(({ waiting, failed }) => waiting + failed);
  const clients = formatCount(new Set(served.map(({ client }) => client)).size, 'client');
  const delivered = `${formatCount(
    total((counts) => counts.delivered),
    'file',
  )} delivered to ${formatCount(served.length, 'target')} of ${clients}`;
  return missing === 0 ? `${delivered}.` : `${delivered}, ${missing} not delivered.`;
}

function createDeliveryResult({ delivered, waiting, failed, reason }: DeliveryCounts): ItemResult {
  const detail = { delivered, waiting, failed };
  if (waiting + failed === 0) {
    const message =
      delivered === 0 ? 'The day has no files to deliver.' : `${formatCount(delivered, 'file')} delivered.`;
    return { state: 'done', message, detail };
  }
  const code = 'DELIVERY_FAILED';
  if (waiting > 0)
    return {
      state: 'waiting',
      code,
      message: `${formatCount(waiting, 'file is', 'files are')} not delivered yet: ${reason}`,
      detail,
    };
  const message = `${formatCount(failed, 'file was', 'files were')} not delivered in ${formatCount(LIMITS.MAX_DELIVERY_ROUNDS, 'attempt')}: ${reason}`;
  return { state: 'failed', code, message, detail };
}

/** Error codes for a table without rows on a session. */
const NO_ROWS_CODES: ReadonlySet<string> = new Set(['NO_DATA_AT_DATE', 'NO_DATA_IN_RANGE']);

export function createExportPerformer({ exports, artifacts }: StepServices): Performer<'export'> {
  async function writeFile(indexId: string, file: ExportedFile, context: StepContext<unknown>): Promise<ItemResult> {
    const { signal } = context;
    const { date } = context.day();
    const { table, format, by, from_start: isFromStart } = file;
    const run = { subject: indexId, id: findPublishedRun(context.day().steps, indexId) };
    const request = { table, format, end: date, ...(isFromStart ? {} : { start: date }), ...(by && { by }) };
    const bytes = await collectBytes(await (await exports.export(run, request)).open(signal));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const { name: artifact } = await artifacts.write(bytes, sha256);
    const name = formatFileName(file, indexId, context);
    const writtenFile = { name, bytes: bytes.length, sha256 };
    return { state: 'done', message: `${name} was written.`, file: writtenFile, artifact, detail: { table } };
  }

  return async (context) => {
    const { spec, put, signal, item } = context;
    const count = await performEachIndex(context, async (indexId) => {
      const indexFiles = spec.files.filter(({ indices }) => indices === null || indices.includes(indexId));
      for (const file of indexFiles) {
        const key = formatFileName(file, indexId, context);
        if (item(key)?.state === 'done') continue;
        const result = await writeFile(indexId, file, context).catch((failure: unknown): ItemResult => {
          const isEmpty = file.optional && failure instanceof Refusal && NO_ROWS_CODES.has(failure.code);
          if (isEmpty) return { state: 'done', message: `${key} was not exported: ${failure.message}` };
          return createBlockedResult(failure, signal);
        });
        await put(key, indexId, result);
      }
      return { state: 'done', message: `${formatCount(indexFiles.length, 'file')}.` };
    });
    return { state: 'done', message: describeIndices(count, 'with files') };
  };
}

const formatFileName = (file: ExportedFile, index: string, { day }: Pick<StepContext<unknown>, 'day'>): string =>
  createFileName(readPattern(file), {
    schedule: day().schedule_id,
    index,
    table: file.table,
    day: parseValidDay(day().date),
  });

/**
 * Returns the id of the run that this day published. Returns undefined if it published none; the latest run is then
 * used.
 */
function findPublishedRun(steps: readonly StoredStep[], indexId: string): string | undefined {
  const item = steps.find(({ type }) => type === 'publish')?.items.find(({ key }) => key === indexId);
  const id = item?.detail?.['run_id'];
  return typeof id === 'string' ? id : undefined;
}

export const REFRESH_ITEM = 'refresh';

/** Maximum number of securities with a rejected history that the report stores. */
const REJECTED_MAX = 200;

/** Maximum number of findings of a refresh that the report stores. */
const FINDINGS_MAX = 20;

/** Maximum number of attempts to submit a refresh while the store is busy. After them the step fails. */
const ATTEMPTS_MAX = 60;

/** Pause before the next attempt if no job is known whose end could be awaited. */
const PAUSE_MS = 1000;

/** Kinds of job that keep a store busy. */
const BUSY_KINDS = ['refresh', 'sync', 'load', 'generate'] as const;

/** Codes of refusals that end with the work of others on the store. */
const BUSY_CODES: ReadonlySet<ErrorCode> = new Set(['JOB_RUNNING', 'STORE_REFRESHING', 'STORE_LOADING']);

interface RefreshTerms {
  readonly store_id?: string | null | undefined;
  readonly fail_on: readonly string[];
}

export function createRefreshPerformer(services: StepServices): Performer<'refresh'> {
  const { datasets, jobs, markets, stores, follow } = services;

  async function refreshStore({ spec, day, put, origin, signal }: StepContext<RefreshTerms>) {
    const request = { until: null, full: false, dry_run: false, load: true, fail_on: spec.fail_on as never }; // the schema of the step admits only known codes
    const { store_id: storeId } = spec;
    const refreshedDay = { date: day().date, held: listHeldSecurities(day()) };
    const submit = () =>
      storeId == null
        ? datasets.sync(request, origin, refreshedDay)
        : datasets.refresh(storeId, request, origin, refreshedDay);
    const { job_id: jobId } = await submitWhenIdle(submit, signal);
    await put(REFRESH_ITEM, null, { state: 'waiting', message: 'The store is being refreshed.', job_id: jobId });
    const status = await awaitJobEnd(jobs, jobId, signal);
    assertSucceeded(jobId, status);
    const report = status.result as RefreshReport | null;
    await follow();
    const message = report === null ? 'The store was refreshed.' : describeReport(report);
    await put(REFRESH_ITEM, null, { state: 'done', message, job_id: jobId, detail: findDetail(report) });
    return message;
  }

  /**
   * Waits until other work on the store has ended, then submits a refresh. The work may be the refresh of this step
   * that continues after a crash of the service, a refresh after a price override, or an activation.
   */
  async function submitWhenIdle<T>(submit: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (let attempt = 1; ; attempt++)
      try {
        return await submit();
      } catch (failure) {
        const isBusy = failure instanceof Refusal && BUSY_CODES.has(failure.code);
        if (!isBusy || attempt === ATTEMPTS_MAX) throw failure;
        await awaitStore(failure.detail ?? {}, signal);
      }
  }

  /** Waits for the job that keeps a store busy, or a moment if there is none. */
  async function awaitStore(
    { job_id: jobId, store_id: datasetId }: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<void> {
    const jobIds = typeof jobId === 'string' ? [jobId] : BUSY_KINDS.map((kind) => `${kind}:${String(datasetId)}`);
    for (const id of jobIds) {
      const status = await jobs.get(id);
      if (status !== undefined && !isTerminal(status.status)) return void (await awaitJobEnd(jobs, id, signal));
    }
    await pause(PAUSE_MS, undefined, { signal });
  }

  return async (context) => {
    const { day } = context;
    await markets.settled();
    await follow();
    let message: string;
    try {
      message = await refreshStore(context);
    } catch (failure) {
      if (!(failure instanceof Refusal) || context.signal.aborted) throw failure;
      if (failure.code !== 'NOTHING_TO_REFRESH')
        return { state: 'failed', code: failure.code, message: formatReason(failure) };
      message = failure.message; // imports provide the prices of such a store
    }
    const { store_id: storeId } = context.spec;
    const last = (storeId == null ? markets.require() : await stores.of(storeId)).market.dates.at(-1);
    if (last !== undefined && formatDay(last) >= day().date) return { state: 'done', message };
    return { state: 'waiting', message: `The store has no prices of ${day().date} yet; ${formatLast(last)}.` };
  };
}

/**
 * Returns the securities that a check of the previous round holds back in every index that has them. A price that was
 * accepted in one index may be published.
 */
function listHeldSecurities({ steps }: DayDocument): string[] {
  const states = new Map<string, Set<ItemState>>();
  for (const { state, detail } of steps.flatMap(({ items }) => items)) {
    const identifier = detail?.['check'] === undefined ? undefined : detail['identifier'];
    if (typeof identifier !== 'string') continue;
    const itemStates = states.get(identifier) ?? new Set();
    states.set(identifier, itemStates.add(state));
  }
  return [...states].flatMap(([identifier, each]) => (each.has('blocked') && !each.has('done') ? [identifier] : []));
}

/** Maximum number of securities that a message names. */
const NAMED_MAX = 3;

/** Returns what a refresh changed, and the securities that it corrected or rejected. */
function describeReport({ dates_added, rows_added, rows_changed, rejected, ...report }: RefreshReport): string {
  const changedText = rows_changed === 0 ? '' : `, ${formatCount(rows_changed, 'row')} changed`;
  const corrections = report.findings.filter(({ code }) => code === 'BAR_CORRECTED');
  const corrected = corrections.flatMap(({ path }) => (path.startsWith(BARS) ? [path.slice(BARS.length)] : []));
  const correctedCount = corrections.reduce((sum, { count = 1 }) => sum + count, 0);
  return [
    `${formatCount(dates_added, 'date')} and ${formatCount(rows_added, 'row')} added${changedText}.`,
    ...(correctedCount === 0 ? [] : [`The source corrected ${formatNames(corrected, correctedCount)}.`]),
    ...(rejected.length === 0
      ? []
      : [
          describeRejected(
            rejected.map(({ identifier }) => identifier),
            report.rejected_total,
          ),
        ]),
  ].join(' ');
}

/** Prefix of the path of a finding about one security. */
const BARS = 'market.';

const describeRejected = (names: readonly string[], count: number): string =>
  `The refresh rejected the changed history of ${formatNames(names, count)}, without its new bars.`;

/** Formats the first of some names, and the number of the others. @param count number of all names */
function formatNames(names: readonly string[], count: number): string {
  const listed = names.slice(0, NAMED_MAX);
  return `${listed.join(', ')}${count > listed.length ? ` and ${count - listed.length} more` : ''}`;
}

/**
 * Returns the securities whose changed history the refresh of a day rejected. Returns null if the day has no report of a
 * refresh.
 */
export function listRejected({ steps }: Pick<DayDocument, 'steps'>): ReadonlySet<string> | null {
  const report = steps.find(({ type }) => type === 'refresh')?.items.find(({ key }) => key === REFRESH_ITEM);
  const rejected = report?.detail?.['rejected'];
  return Array.isArray(rejected) ? new Set(rejected.map(String)) : null;
}

/** Adds the securities that the refresh of a day rejected to the refusal of closes without their bars. */
function explainPartialCloses(failure: unknown, day: Pick<DayDocument, 'steps'>): unknown {
  const rejected = [...(listRejected(day) ?? [])];
  if (!(failure instanceof Refusal) || failure.code !== 'PARTIAL_CLOSES' || rejected.length === 0) return failure;
  const message = `${failure.message} ${describeRejected(rejected, rejected.length)}`;
  return new Refusal(failure.code, message, { ...failure.detail, rejected }, { cause: failure });
}

const formatLast = (last: number | undefined): string =>
  last === undefined ? 'it is empty' : `the last prices are of ${formatDay(last)}`;

/** Returns the message of a refusal and its first finding. The desk can send this text to its vendor. */
function formatReason({ message, detail }: Refusal): string {
  const findings = detail?.['findings'];
  const [first] = Array.isArray(findings) ? (findings as readonly Partial<Finding>[]) : [];
  if (first?.message === undefined) return message;
  return `${message} The first: ${first.file === undefined ? '' : `${first.file}: `}${first.message}`;
}

function findDetail(report: RefreshReport | null): Record<string, unknown> | null {
  if (report === null) return null;
  const { dates_added, rows_added, rows_changed, end, rejected, split_restatements: splits, findings } = report;
  return {
    dates_added,
    rows_added,
    rows_changed,
    end,
    rejected: rejected.slice(0, REJECTED_MAX).map(({ identifier }) => identifier),
    split_restatements: splits.slice(0, REJECTED_MAX).map(({ identifier }) => identifier),
    findings: findings.slice(0, FINDINGS_MAX).map(({ code, path, message }) => ({ code, path, message })),
  };
}

/** Returns the number of the approval request for which a result waits or which was rejected. */
function findRequestNumber(item: StoredItem | undefined): number | undefined {
  const approvalId = item?.detail?.['approval_id'];
  return typeof approvalId === 'number' ? approvalId : undefined;
}

export function createPublishPerformer({ publications }: StepServices): Performer<'publish'> {
  /** Returns true if the close of a session was published again after a time. */
  async function isRestated(indexId: string, date: string, after: string): Promise<boolean> {
    for await (const batch of await publications.entries(indexId, { start: date, end: date }))
      if (batch.some(({ kind, at }) => kind === 'restatement' && at > after)) return true;
    return false;
  }

  return async (context) => {
    const { spec, day, by, signal } = context;
    const count = await performEachIndex(context, async (indexId) => {
      const { allow_partial, errors } = spec;
      const waitingAncestor = [...context.getAncestors(indexId)].find(
        (id) => (context.item(id)?.state ?? 'done') !== 'done',
      );
      const request = { through: day().date, restate: false, allow_partial, ...(errors && { error_policy: errors }) };
      const publishing = publications.publish(indexId, () => request, {
        by,
        signal,
        day: { schedule_id: day().schedule_id, date: day().date, asked: findRequestNumber(context.item(indexId)) },
        isForeseen: waitingAncestor !== undefined, // Requests all approvals of a family at once.
      });
      const { published, restated, run_id, head, through, error } = await publishing.catch((failure: unknown) => {
        throw explainPartialCloses(failure, day());
      });
      if (waitingAncestor !== undefined)
        return { state: 'waiting', message: `It can be published after ${waitingAncestor}, on which it depends.` };
      const previousItem = context.item(indexId);
      const detail = { run_id, head, through, published, ...(error && { restated, error: error.notice }) };
      if (published === 0 && error === null && previousItem?.state === 'done') {
        // The files are written again and contain the restated figures.
        if (!(await isRestated(indexId, day().date, previousItem.at))) return { ...previousItem };
        return { state: 'done', message: `The close of ${day().date} was published again.`, detail };
      }
      const message =
        published === 0
          ? `Closes through ${through} were published before.`
          : `${formatCount(published, 'close')} published, through ${through}.`;
      return { state: 'done', message: error === null ? message : `${message} ${error.notice}`, detail };
    });
    return { state: 'done', message: describeIndices(count, 'published') };
  };
}

export function createRenderPerformer({ reports, documents, jobs }: StepServices): Performer<'render'> {
  async function awaitFile(jobId: string, name: string): Promise<ItemResult> {
    const storedDocument = await documents.get('render', jobId.slice('render:'.length));
    const render = parseStored(storedDocument, RenderDocument);
    if (render === undefined) throw new Refusal('RENDER_NOT_FOUND', `The report of ${jobId} was deleted.`);
    const { name: artifact, bytes, sha256 } = render.artifact;
    return {
      state: 'done',
      message: `${name} has ${formatCount(render.pages, 'page')}.`,
      job_id: jobId,
      file: { name, bytes, sha256 },
      artifact,
    };
  }

  return async (context) => {
    const { spec, day, put, item, origin, signal } = context;
    const count = await performEachIndex(
      context,
      async (indexId) => {
        const previousItem = item(indexId);
        if (previousItem?.state === 'done') return { ...previousItem };
        const { schedule_id: schedule, date } = day();
        const name = createFileName(spec.name, { schedule, index: indexId, table: 'report', day: parseValidDay(date) });
        const run = findPublishedRun(day().steps, indexId);
        const request = {
          template_id: spec.template_id,
          index_id: indexId,
          index_ids: null,
          template: null,
          run_ids: run === undefined ? null : { [indexId]: run },
        };
        const { job_id: jobId } = await reports.render(request, origin);
        await put(indexId, indexId, { state: 'waiting', message: 'The report is being rendered.', job_id: jobId });
        assertSucceeded(jobId, await awaitJobEnd(jobs, jobId, signal));
        return awaitFile(jobId, name);
      },
      spec.indices,
    );
    return { state: 'done', message: describeIndices(count, 'with a report') };
  };
}

/** Maximum number of attempts to run an index while other jobs run it. After them the index is blocked. */
const RUN_ATTEMPTS_MAX = 3;

export function createRunPerformer(services: StepServices): Performer<'run'> {
  const { analytics, documents, jobs, markets, follow } = services;

  async function runIndex(indexId: string, context: StepContext<unknown>): Promise<ItemResult> {
    const { day, origin, signal, put } = context;
    for (let attempt = 1; ; attempt++) {
      const request = { ...(await analytics.onStoredTerms(indexId, {})), end: null };
      const current = await analytics.currentRun(indexId, { request });
      if (current !== undefined) return createResult(current, day().date, 'The stored run is current');
      try {
        const { job_id: jobId } = await analytics.start(indexId, { request }, origin);
        await put(indexId, indexId, { state: 'waiting', message: 'The run is being computed.', job_id: jobId });
        assertSucceeded(jobId, await awaitJobEnd(jobs, jobId, signal));
        const run = await findRun(documents, indexId);
        if (run === undefined) throw new Refusal('RUN_NOT_FOUND', `${indexId} has no stored run after its job.`);
        return { ...createResult(run, day().date, 'It was run'), job_id: jobId };
      } catch (failure) {
        const isBusy = failure instanceof Refusal && failure.code === 'JOB_RUNNING';
        if (!isBusy || attempt === RUN_ATTEMPTS_MAX) throw failure;
        await awaitJobEnd(jobs, `backtest:${indexId}`, signal);
      }
    }
  }

  return async (context) => {
    await markets.settled();
    await follow();
    const { date } = context.day();
    for (const { market, identity } of await listPlanMarkets(services, context.waves)) {
      const last = market.dates.at(-1);
      if (last !== undefined && formatDay(last) >= date) continue;
      const message = `The store ${identity.datasetId} has no prices of ${date} yet; ${formatLast(last)}.`;
      return { state: 'waiting', message };
    }
    const count = await performEachIndex(context, (indexId) => runIndex(indexId, context));
    return { state: 'done', message: describeIndices(count, 'with a current run') };
  };
}

function createResult(run: RunDocument, date: string, outcome: string): ItemResult {
  const detail = { run_id: computeRunId(run), end: run.end };
  if (run.end < date)
    return {
      state: 'blocked',
      code: 'NO_DATA_IN_RANGE',
      message: `The run ends on ${run.end}, before ${date}.`,
      detail,
    };
  return { state: 'done', message: `${outcome}, through ${run.end}.`, detail };
}
