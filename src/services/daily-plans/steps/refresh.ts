import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import { formatDay } from '#domain/time/days.js';
import type { Finding } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
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

/** Maximum number of attempts to submit a refresh while other refreshes run. After them the step fails. */
const ATTEMPTS_MAX = 3;

interface RefreshTerms {
  readonly store_id?: string | null | undefined;
  readonly fail_on: readonly string[];
}

export function createRefreshPerformer(dependencies: RefreshDependencies): Performer<'refresh'> {
  const { datasets, jobs, markets, stores, follow } = dependencies;

  async function refreshStore({ spec, put, origin, signal }: StepContext<RefreshTerms>) {
    const request = { until: null, full: false, dry_run: false, load: true, fail_on: spec.fail_on as never }; // the schema of the step admits only known codes
    const { store_id: storeId } = spec;
    const submit = () =>
      storeId == null ? datasets.sync(request, origin) : datasets.refresh(storeId, request, origin);
    const { job_id: jobId } = await submitAfterRunningJob(submit, signal);
    await put(REFRESH_ITEM, null, { state: 'waiting', message: 'The store is being refreshed.', job_id: jobId });
    const status = await awaitJobEnd(jobs, jobId, signal);
    assertSucceeded(jobId, status);
    const report = status.result as RefreshReport | null;
    await follow();
    const message =
      report === null
        ? 'The store was refreshed.'
        : `${formatCount(report.dates_added, 'date')} and ${formatCount(report.rows_added, 'row')} added.`;
    await put(REFRESH_ITEM, null, { state: 'done', message, job_id: jobId, detail: findDetail(report) });
    return message;
  }

  /** Waits for a refresh that is already running, for example after a price override. Then submits a refresh. */
  async function submitAfterRunningJob<T>(submit: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (let attempt = 1; ; attempt++)
      try {
        return await submit();
      } catch (failure) {
        const runningJob =
          failure instanceof Refusal && failure.code === 'JOB_RUNNING' ? failure.detail?.['job_id'] : null;
        if (typeof runningJob !== 'string' || attempt === ATTEMPTS_MAX) throw failure;
        await awaitJobEnd(jobs, runningJob, signal);
      }
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
  const { dates_added, rows_added, rows_changed, end, rejected, split_restatements: splits } = report;
  return {
    dates_added,
    rows_added,
    rows_changed,
    end,
    rejected: rejected.slice(0, REJECTED_MAX).map(({ identifier }) => identifier),
    split_restatements: splits.slice(0, REJECTED_MAX).map(({ identifier }) => identifier),
  };
}
