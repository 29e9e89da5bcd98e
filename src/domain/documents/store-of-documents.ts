import type { Finding } from '../refusals/findings.js';
import { refuseWithFindings } from '../refusals/refusal.js';
import type { IndexDocument } from './index-document.js';
import { listNamedIndices } from './named-indices.js';

type Documents = Readonly<Record<string, IndexDocument>>;

/** Id of a data store with the document or request that names it. */
interface StoreReference {
  readonly storeId: string;
  readonly by: string;
}

/** Returns the stores that documents name, without duplicates. */
function listStoreReferences(documents: Documents): StoreReference[] {
  const referenceByStore = new Map<string, StoreReference>();
  for (const { id, store_id: storeId } of Object.values(documents))
    if (storeId != null && !referenceByStore.has(storeId))
      referenceByStore.set(storeId, { storeId, by: `the index ${id}` });
  return [...referenceByStore.values()];
}

/** Returns a finding if documents of one computation belong to several stores. */
export function checkStores(documents: Documents): Finding[] {
  return reportClash(listStoreReferences(documents));
}

function reportClash([first, otherStoreReference]: readonly StoreReference[]): Finding[] {
  if (first === undefined || otherStoreReference === undefined) return [];
  const message = `An index is computed on one data store, but ${first.by} refers to ${first.storeId} and ${otherStoreReference.by} refers to ${otherStoreReference.storeId}.`;
  return [{ severity: 'error', code: 'DIFFERENT_DATA', path: 'store_id', message, value: otherStoreReference.storeId }];
}

/**
 * Returns the data store on which documents are computed. The documents or the request may name it; null means the
 * active store.
 * @throws Refusal VALIDATION_FAILED if they name several stores
 */
export function findStore(documents: Documents, requestedStore: string | null | undefined = null): string | null {
  const storeReferences = listStoreReferences(documents);
  if (requestedStore != null && storeReferences.every(({ storeId }) => storeId !== requestedStore))
    storeReferences.push({ storeId: requestedStore, by: 'the request' });
  const clash = reportClash(storeReferences);
  if (clash.length > 0) throw refuseWithFindings('data store', clash);
  return storeReferences[0]?.storeId ?? null;
}

/**
 * Returns a function that finds the data store of an index by its id: its own, or that of an index to which it refers.
 * Returns null for the active store.
 */
export function createStoreFinder(documents: ReadonlyMap<string, IndexDocument>): (id: string) => string | null {
  const storesById = new Map<string, string | null>();
  return function findStoreOf(id) {
    const known = storesById.get(id);
    if (known !== undefined) return known;
    storesById.set(id, null); // ends a circle of references
    const document = documents.get(id);
    if (document === undefined) return null;
    let storeId = document.store_id ?? null;
    for (const reference of listNamedIndices(document)) storeId ??= findStoreOf(reference.id);
    storesById.set(id, storeId);
    return storeId;
  };
}

/**
 * Returns documents without the names of stores. Results depend on the content of a store, and a run records the name
 * separately.
 */
export function removeStores(documents: Documents): Documents {
  if (Object.values(documents).every((document) => !('store_id' in document))) return documents;
  return Object.fromEntries(Object.entries(documents).map(([id, document]) => [id, removeStore(document)]));
}

function removeStore(document: IndexDocument): IndexDocument {
  const { store_id: _, ...others } = document;
  return others;
}
