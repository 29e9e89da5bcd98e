import type { Json, JsonObject } from '../words/paths.js';
import { useResource } from './resource.js';
import { service } from './service.js';

/**
 * Returns the data store of a definition: its own, or that of an index to which it refers. Returns null for the served
 * store, and undefined until it is known.
 * @param definition definition of an index; undefined until it is known
 */
export function useIndexStore(definition: object | undefined): string | null | undefined {
  const document = definition as JsonObject | undefined; // definitions are plain JSON
  const ownStore = document?.['store_id'];
  const hasStore = typeof ownStore === 'string' && ownStore !== '';
  const references = document === undefined || hasStore ? [] : listNamedIndices(document);
  const indices = useResource(references.length === 0 ? null : 'indices', (signal) =>
    service.value.call('listIndices', { signal }),
  );
  if (document === undefined) return undefined;
  if (hasStore) return ownStore;
  if (references.length > 0 && indices.data === undefined && indices.trouble === null) return undefined;
  return (
    indices.data?.indices.find(({ id, store_id: store }) => store !== null && references.includes(id))?.store_id ?? null
  );
}

/** Functions of expressions that refer to an index, as in `weight_in("CORE")`. */
const CALL = /\b(?:member_of|weight_in)\(\s*"([^"]+)"/g;
const CALLED_NAMES: ReadonlySet<unknown> = new Set(['member_of', 'weight_in']);

/** Returns the ids of the indices to which a definition refers. */
function listNamedIndices(value: Json): readonly string[] {
  if (typeof value === 'string') return Array.from(value.matchAll(CALL), ([, id]) => id!);
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(listNamedIndices);
  const { kind, id, name, operands } = value as JsonObject;
  const [operand] = Array.isArray(operands) ? operands : [];
  return [
    ...(kind === 'index' && typeof id === 'string' ? [id] : []),
    ...(CALLED_NAMES.has(name) && isText(operand) ? [operand.value] : []),
    ...Object.entries(value).flatMap(([member, own]) =>
      INDEX_MEMBERS.has(member) && typeof own === 'string' ? [own] : listNamedIndices(own ?? null),
    ),
  ];
}

const INDEX_MEMBERS: ReadonlySet<string> = new Set(['source_index_id', 'index_id']);

const isText = (operand: Json | undefined): operand is { readonly value: string } =>
  typeof operand === 'object' && operand !== null && 'value' in operand && typeof operand.value === 'string';
