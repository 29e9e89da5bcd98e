import type { DocumentStore } from '#store/port.js';
import type { UsedCalendars } from '#domain/calendars/used-calendars.js';
import { readIndex } from '#domain/checks/validate-index.js';
import { readRecordedClosures } from '../stored/recorded-closures.js';

/** Store whose market is checked. */
export interface CheckedStore {
  readonly datasetId: string;
  /** True if indices without a store use the store: it is active, or will be. */
  readonly isActive: boolean;
}

/**
 * Returns the calendars of the indices that use a store, ordered by code, with their recorded changes. Changes that are
 * unreadable are left out. @cost reads every stored index
 */
export async function readCalendarsInUse(
  documents: Pick<DocumentStore, 'list' | 'get'>,
  { datasetId, isActive }: CheckedStore,
): Promise<UsedCalendars> {
  const { documents: definitions } = await documents.list('index', readIndex);
  const codes = definitions
    .filter(({ store_id: storeId = null }) => (storeId === null ? isActive : storeId === datasetId))
    .map(({ calendar }) => calendar);
  const closures = await readRecordedClosures(documents).catch(() => undefined);
  return { codes: [...new Set(codes)].toSorted(), ...(closures && { closures }) };
}
