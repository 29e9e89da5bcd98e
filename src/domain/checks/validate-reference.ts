import { smallValue, type Finding } from '../refusals/findings.js';
import { error, type IndexContext } from './index-context.js';
import { isDerivedDocument, isOverlayDocument, sourcesOf, type IndexDocument } from '../documents/index-document.js';

/** The indices that a document's universe, derivation or overlay refers to. */
export function referencesOf(document: IndexDocument): readonly string[] {
  if (isOverlayDocument(document)) return sourcesOf(document);
  if (isDerivedDocument(document)) return [document.derivation.source_index_id];
  const { universe } = document;
  return universe?.kind === 'index' && universe.id != null ? [universe.id] : [];
}

/** An index that is not stored, or that leads back to the document. */
export function referenceFindings(
  id: string,
  ownId: unknown,
  path: string,
  indexOf: IndexContext['indexOf'],
): Finding[] {
  if (id === ownId) return [error('CIRCULAR_REFERENCE', path, `The index ${id} refers to itself.`, { value: id })];
  if (indexOf(id) === undefined)
    return [error('UNKNOWN_INDEX', path, `No index is stored under ${id}.`, smallValue(id))];
  const chain = chainTo(ownId, [id], indexOf);
  if (chain === undefined) return [];
  return [error('CIRCULAR_REFERENCE', path, `The index refers to itself through ${chain.join(', ')}.`, { value: id })];
}

/** A way along references from the end of a chain to an index, undefined where there is none. */
function chainTo(
  ownId: unknown,
  chain: readonly string[],
  indexOf: IndexContext['indexOf'],
): readonly string[] | undefined {
  const document = indexOf(chain.at(-1)!);
  const next = document === undefined ? [] : referencesOf(document);
  if (next.some((id) => id === ownId)) return chain;
  for (const id of next) {
    const found = chain.includes(id) ? undefined : chainTo(ownId, [...chain, id], indexOf);
    if (found !== undefined) return found;
  }
  return undefined;
}
