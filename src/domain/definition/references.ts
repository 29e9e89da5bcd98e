import { type Finding, keepSmallValue } from '../base/findings.js';
import { refuseWithFindings } from '../base/refusals.js';
import { INDEX_FUNCTIONS } from '../datapoints/expression-tree.js';
import { listDatedTexts } from './amendments.js';
import {
  createErrorFinding,
  type IndexContext,
  type IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
  listSources,
  type UncheckedBody,
  type UniverseSpec,
} from './index-document.js';

export interface IndexReference {
  readonly path: string;
  readonly id: string;
}

const indicesByDocument = new WeakMap<IndexDocument, readonly IndexReference[]>();

/** Returns the indices to which a document refers, its source first. @cost one pass over the document, once */
export function listNamedIndices(document: IndexDocument): readonly IndexReference[] {
  const result = indicesByDocument.get(document) ?? findIndices(document);
  indicesByDocument.set(document, result);
  return result;
}

function findIndices(document: IndexDocument): IndexReference[] {
  const { datapoints, pipeline, derivation, universe, reviews } = document;
  if (isOverlayDocument(document)) {
    const path = document.overlay.type === 'blend' ? 'overlay.parts' : 'source_index_id';
    return listSources(document).map((id) => ({ path, id }));
  }
  return [
    ...(isDerivedDocument(document)
      ? [{ path: 'derivation.source_index_id', id: document.derivation.source_index_id }]
      : []),
    ...listUniverseIndices(universe, 'universe'),
    ...listCalledIndices(datapoints, 'datapoints'),
    ...listCalledIndices(pipeline, 'pipeline'),
    ...listCalledIndices(reviews, 'reviews'),
    ...listCalledIndices(derivation, 'derivation'),
  ];
}

function listUniverseIndices(universe: UniverseSpec | undefined, path: string): IndexReference[] {
  if (universe === undefined) return [];
  const directIndex = universe.kind === 'index' && universe.id != null ? [{ path: `${path}.id`, id: universe.id }] : [];
  return [...directIndex, ...(universe.of ?? []).flatMap((part, i) => listUniverseIndices(part, `${path}.of[${i}]`))];
}

/** Reference of an expression or a parameter, with the name of the function that reads the index. */
interface CalledIndex extends IndexReference {
  readonly by?: unknown;
}

/** Returns the indices to which expressions and parameters `index_id` in a value refer. */
export function listCalledIndices(value: unknown, path: string): CalledIndex[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return listCalledInItems(value, path);
  const node = value as { node?: unknown; name?: unknown; operands?: unknown }; // the shape is not checked yet
  if (node.node === 'function' && INDEX_FUNCTIONS.has(node.name)) {
    const [operand] = Array.isArray(node.operands) ? (node.operands as { value?: unknown }[]) : [];
    return typeof operand?.value === 'string' ? [{ path, id: operand.value, by: node.name }] : [];
  }
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'index_id' && typeof member === 'string'
      ? [{ path: `${path}.${name}`, id: member }]
      : listCalledIndices(member, path === '' ? name : `${path}.${name}`),
  );
}

/** A list of thousands of identifiers refers to none, so no path is formatted for them. */
function listCalledInItems(items: readonly unknown[], path: string): CalledIndex[] {
  const found: CalledIndex[] = [];
  for (const [i, item] of items.entries())
    if (typeof item === 'object' && item !== null) found.push(...listCalledIndices(item, `${path}[${i}]`));
  return found;
}

/**
 * Returns the indices to which the universe, derivation, overlay or expressions of a document refer, its source first.
 */
export function listReferences(document: IndexDocument): readonly string[] {
  return [
    ...new Set(listDatedTexts(document).flatMap(({ document: text }) => listNamedIndices(text).map(({ id }) => id))),
  ];
}

/**
 * Returns findings about indices that the expressions of a body refer to: a warning for one that is not stored, like for
 * a field that the data lacks, and an error for one that refers back. A computation needs every index.
 */
export function checkCalledReferences(body: UncheckedBody, indexOf: IndexContext['indexOf']): Finding[] {
  const reports = new Set<string>();
  const parts = ['datapoints', 'pipeline', 'derivation', 'reviews'].flatMap((part) =>
    listCalledIndices(body[part], part),
  );
  return parts.flatMap(({ path, id, by }) => {
    const isNew = !reports.has(`${path} ${id}`);
    reports.add(`${path} ${id}`);
    if (!isNew) return [];
    const document = indexOf(id);
    if (by === 'drifted_weight_in' && document !== undefined && isOverlayDocument(document)) {
      const message = `drifted_weight_in reads the index ${id}, which is an overlay. Name the index beneath it instead.`;
      return [createErrorFinding('NOT_IN_CHOICES', path, message, { value: id })];
    }
    const findings = checkReference(id, body['id'], path, indexOf);
    return findings.map((finding) =>
      finding.code === 'UNKNOWN_INDEX' ? { ...finding, severity: 'warning' } : finding,
    );
  });
}

/** Reports a referenced index that is not stored or refers back to the document. */
export function checkReference(id: string, ownId: unknown, path: string, indexOf: IndexContext['indexOf']): Finding[] {
  if (id === ownId)
    return [createErrorFinding('CIRCULAR_REFERENCE', path, `The index ${id} refers to itself.`, { value: id })];
  if (indexOf(id) === undefined)
    return [createErrorFinding('UNKNOWN_INDEX', path, `No index ${id} is stored.`, keepSmallValue(id))];
  const chain = findChain(ownId, [id], indexOf);
  if (chain === undefined) return [];
  return [
    createErrorFinding('CIRCULAR_REFERENCE', path, `The index refers to itself through ${chain.join(', ')}.`, {
      value: id,
    }),
  ];
}

/** Returns the chain of references from an index back to the document. Returns undefined if there is none. */
function findChain(
  ownId: unknown,
  chain: readonly string[],
  indexOf: IndexContext['indexOf'],
): readonly string[] | undefined {
  const document = indexOf(chain.at(-1)!);
  const nextReferences = document === undefined ? [] : listReferences(document);
  if (nextReferences.some((id) => id === ownId)) return chain;
  for (const id of nextReferences) {
    const result = chain.includes(id) ? undefined : findChain(ownId, [...chain, id], indexOf);
    if (result !== undefined) return result;
  }
  return undefined;
}

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
