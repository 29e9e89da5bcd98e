import type { DataStore } from '#clients/typescript/divisor.js';
import { Badge, type BadgeKind } from '../../components/badge.js';
import { Progress } from '../../components/progress.js';
import { health, liveJobs } from '../../state/live.js';
import { formatDaysTo } from '../../words/dates.js';
import { describeDue, describeLag, findLag } from '../../words/freshness.js';
import { formatJobId } from '../../words/jobs.js';
import { formatPercent } from '../../words/numbers.js';

const KINDS: Readonly<Record<DataStore['status'], BadgeKind>> = {
  writing: 'info',
  ready: 'plain',
  loading: 'info',
  refreshing: 'info',
  error: 'bad',
};

const STORE_JOB_KINDS = new Set(['load', 'refresh', 'sync', 'generate']);

/** Returns the pending or running job of a store. */
export const storeJob = (id: string) =>
  liveJobs.value.find((job) => STORE_JOB_KINDS.has(job.kind) && formatJobId(job) === id);

/** Renders the state of a store: a job with its progress, the age of readable data, or a label. */
export function StoreState({ store }: { readonly store: DataStore }) {
  const job = storeJob(store.store_id);
  if (job === undefined) return store.status === 'ready' ? <StoreAge store={store} /> : <StoreStatus store={store} />;
  return (
    <span class="store-job" title={job.message}>
      <span class="number">{job.status === 'pending' ? 'waiting' : formatPercent(job.progress, 0)}</span>
      <Progress value={job.progress} label={job.job_id} />
    </span>
  );
}

const StoreStatus = ({ store }: { readonly store: DataStore }) => (
  <Badge kind={KINDS[store.status]} title={store.error?.message}>
    {store.status}
  </Badge>
);

/** Renders the sessions that a store lacks. If no index uses it, renders the age of its last date. */
function StoreAge({ store }: { readonly store: DataStore }) {
  const lag = findLag(health.value?.freshness, store.store_id);
  if (lag !== undefined)
    return (
      <Badge kind={lag.behind === 0 ? 'good' : 'warning'} title={describeDue(lag)}>
        {describeLag(lag)}
      </Badge>
    );
  if (store.end === null) return <StoreStatus store={store} />;
  return (
    <span class="quiet" title="No index uses the store.">
      ended {formatDaysTo(store.end)}
    </span>
  );
}
