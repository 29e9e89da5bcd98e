import type { RunSummaryRow } from '#clients/typescript/divisor.js';
import { describeLag, findLag } from '../words/freshness.js';
import { formatStale } from '../words/stale.js';
import { health } from './live.js';

/** State of an index whose run has every session of its data store, which lacks sessions of its calendar. */
export const STORE_BEHIND = 'store behind';

/**
 * Describes why the run of an index is not current. Returns null if it is up to date with a data store that has every
 * session.
 * @param store data store of the index; null for the served store
 */
export function describeRunLag(
  stale: RunSummaryRow['stale'],
  store: string | null,
): { readonly text: string; readonly title: string } | null {
  if (stale !== null) return { text: formatStale(stale), title: stale.reasons.join(' ') };
  const lag = findLag(health.value?.freshness, store ?? health.value?.store?.active ?? null);
  if (lag === undefined || lag.behind === 0) return null;
  return { text: STORE_BEHIND, title: `up to date with the store, which is ${describeLag(lag)}` };
}
