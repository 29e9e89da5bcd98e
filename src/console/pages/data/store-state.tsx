import type { DataStore } from '#clients/typescript/divisor.js';
import { Badge, type BadgeKind, Progress } from '../../components/feedback.js';
import type { LabelledFigure } from '../../components/layout/facts.js';
import { health, liveJobs } from '../../state/live.js';
import { service, useList, useResource } from '../../state/service.js';
import { storeAddress } from '../../words/addresses.js';
import { formatDaysTo } from '../../words/dates.js';
import { describeDue, formatLag, findLag } from '../../words/freshness.js';
import { formatJobId } from '../../words/jobs.js';
import { countValues, formatCount, formatPercent, MISSING_TEXT } from '../../words/numbers.js';

const KINDS: Readonly<Record<DataStore['status'], BadgeKind>> = {
  writing: 'info',
  ready: 'plain',
  loading: 'info',
  refreshing: 'info',
  error: 'bad',
};

const STORE_JOB_KINDS = new Set(['load', 'refresh', 'sync', 'generate']);

export const runningStoreJob = (id: string) =>
  liveJobs.value.find((job) => STORE_JOB_KINDS.has(job.kind) && formatJobId(job) === id);

/** Renders the state of a store: a job with its progress, the age of readable data, or a label. */
export function StoreState({ store }: { readonly store: DataStore }) {
  const job = runningStoreJob(store.store_id);
  if (job === undefined) return store.status === 'ready' ? <StoreAge store={store} /> : <StoreStatus store={store} />;
  return (
    <span class="line gap-2 store-job" title={job.message}>
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
        {formatLag(lag)}
      </Badge>
    );
  if (store.end === null) return <StoreStatus store={store} />;
  return (
    <span class="quiet" title="No index uses the store.">
      ended {formatDaysTo(store.end)}
    </span>
  );
}

/** Returns a function that counts the indices that are computed on a store. Its result is null until they are read. */
export function useStoreUsers(): (store: DataStore) => number | null {
  const { data } = useList('indices');
  return ({ store_id: id, active }) =>
    data?.indices.filter(({ store_id: indexStore }) => indexStore === id || (indexStore === null && active)).length ??
    null;
}

/** Reads the data warnings of a store. Without a store, nothing is read. */
export function useAudit(store: DataStore | undefined) {
  const id = store?.store_id ?? '';
  return useResource(
    store === undefined ? null : `audit ${id} ${store.content_hash}`,
    (signal) => service.value.call('auditStore', { params: { store_id: id }, signal }),
    { follows: false },
  );
}

/** Returns the number of findings of the last read that are warnings. */
export const countReadWarnings = ({ findings = [] }: Pick<DataStore, 'findings'>): number =>
  findings.filter(({ severity }) => severity !== 'info').length;

/** Returns the number of audit warnings of a store as a link to them. Its note counts the warnings of the last read. */
export function useWarningMetric(store: DataStore | undefined): LabelledFigure {
  const audit = useAudit(store);
  const total = audit.data?.total;
  const ofRead = store === undefined ? 0 : countReadWarnings(store);
  return {
    term: 'Audit warnings',
    value:
      store === undefined || total === undefined ? (
        MISSING_TEXT
      ) : (
        <a href={`${storeAddress(store.store_id)}?tab=doubts`}>{formatCount(total)}</a>
      ),
    kind: total !== undefined && total > 0 ? 'down' : '',
    note: audit.isLoading
      ? 'audit in progress'
      : ofRead === 0
        ? 'of the whole history'
        : `${countValues(ofRead, 'warning')} of the last read, below`,
  };
}
