import type { DataStore } from '#clients/typescript/divisor.js';
import type { Metric } from '../../components/metrics.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { storeAddress } from '../../words/addresses.js';
import { formatCount, MISSING_TEXT } from '../../words/numbers.js';

/** Reads the data warnings of a store. Without a store, nothing is read. */
export function useAudit(store: DataStore | undefined) {
  const id = store?.store_id ?? '';
  return useResource(
    store === undefined ? null : `audit ${id} ${store.content_hash}`,
    (signal) => service.value.call('auditStore', { params: { store_id: id }, signal }),
    { follows: false },
  );
}

/** Returns the number of data warnings of a store as a link to them. */
export function useWarningMetric(store: DataStore | undefined): Metric {
  const audit = useAudit(store);
  const total = audit.data?.total;
  return {
    term: 'Warnings',
    value:
      store === undefined || total === undefined ? (
        MISSING_TEXT
      ) : (
        <a href={`${storeAddress(store.store_id)}?tab=doubts`}>{formatCount(total)}</a>
      ),
    kind: total !== undefined && total > 0 ? 'down' : '',
    note: audit.isLoading ? 'audit in progress' : 'found by its audit',
  };
}
