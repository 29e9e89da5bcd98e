import type { DataStore } from '#clients/typescript/divisor.js';
import type { Metric } from '../../components/metrics.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { storeAddress } from '../../words/addresses.js';
import { countValues, formatCount, MISSING_TEXT } from '../../words/numbers.js';

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
export function useWarningMetric(store: DataStore | undefined): Metric {
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
