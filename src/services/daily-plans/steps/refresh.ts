import { setTimeout as pause } from 'node:timers/promises';
import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import { formatDay } from '#domain/time/days.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { DayDocument, ItemState } from '#domain/daily-plans/day-document.js';
import { Refusal, type ErrorCode } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import { isTerminal } from '#jobs/life-cycle.js';
import type { RefreshReport } from '#market/content/refresh-report.js';
import type { Markets } from '#market/serving/markets.js';
import type { StoreMarkets } from '../../datasets/store-markets.js';
import type { DatasetSubmissions } from '../../datasets/submissions.js';
import { assertSucceeded, awaitJobEnd } from '../job-end.js';
import type { Performer, StepContext } from '../performer.js';

export interface RefreshDependencies {
  readonly datasets: Pick<DatasetSubmissions, 'sync' | 'refresh'>;
  readonly stores: Pick<StoreMarkets, 'of'>;
  readonly jobs: Pick<Jobs, 'get'>;
  readonly markets: Pick<Markets, 'settled' | 'require'>;
  /** Serves the active market if another process activated it. */
  readonly follow: () => Promise<unknown>;
}

/** Key of the item with the report of a refresh. */
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

export function createRefreshPerformer(dependencies: RefreshDependencies): Performer<'refresh'> {
  const { datasets, jobs, markets, stores, follow } = dependencies;

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
export function explainPartialCloses(failure: unknown, day: Pick<DayDocument, 'steps'>): unknown {
  const rejected = [...(listRejected(day) ?? [])];
  if (!(failure instanceof Refusal) || failure.code !== 'PARTIAL_CLOSES' || rejected.length === 0) return failure;
  const message = `${failure.message} ${describeRejected(rejected, rejected.length)}`;
  return new Refusal(failure.code, message, { ...failure.detail, rejected }, { cause: failure });
}

export const formatLast = (last: number | undefined): string =>
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
