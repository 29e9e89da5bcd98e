import {
  isDerivedDocument,
  isOverlayDocument,
  listSources,
  type IndexDocument,
  type UniverseSpec,
} from './index-document.js';

/** Reference of a document to an index, with its path. */
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

/** Returns the indices in a universe, including indices within sets. */
function listUniverseIndices(universe: UniverseSpec | undefined, path: string): IndexReference[] {
  if (universe === undefined) return [];
  const directIndex = universe.kind === 'index' && universe.id != null ? [{ path: `${path}.id`, id: universe.id }] : [];
  return [...directIndex, ...(universe.of ?? []).flatMap((part, i) => listUniverseIndices(part, `${path}.of[${i}]`))];
}

/** Functions of expressions that refer to an index. */
const INDEX_FUNCTIONS: ReadonlySet<unknown> = new Set(['member_of', 'weight_in']);

/** Returns the indices to which expressions and parameters `index_id` in a value refer. */
export function listCalledIndices(value: unknown, path: string): IndexReference[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item: unknown, i) => listCalledIndices(item, `${path}[${i}]`));
  const node = value as { node?: unknown; name?: unknown; operands?: unknown }; // the shape is not checked yet
  if (node.node === 'function' && INDEX_FUNCTIONS.has(node.name)) {
    const [operand] = Array.isArray(node.operands) ? (node.operands as { value?: unknown }[]) : [];
    return typeof operand?.value === 'string' ? [{ path, id: operand.value }] : [];
  }
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'index_id' && typeof member === 'string'
      ? [{ path: `${path}.${name}`, id: member }]
      : listCalledIndices(member, path === '' ? name : `${path}.${name}`),
  );
}
