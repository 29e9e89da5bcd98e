import { smallValue, type Finding } from '../findings.js';
import { error, type IndexContext } from './index-context.js';
import { isDerivedDocument, type IndexDocument } from './index-document.js';

/** The index that a document's universe or derivation refers to. */
export function referenceOf(document: IndexDocument): string | undefined {
  if (isDerivedDocument(document)) return document.derivation.source_index_id;
  return document.universe?.kind === 'index' ? (document.universe.id ?? undefined) : undefined;
}

/** An index that is not stored, or that leads back to the document. */
export function referenceFindings(
  id: string,
  ownId: unknown,
  path: string,
  indexOf: IndexContext['indexOf'],
): Finding[] {
  if (id === ownId) return [error('CIRCULAR_REFERENCE', path, `The index ${id} refers to itself.`, { value: id })];
  const chain = [id];
  for (let at = indexOf(id); ;) {
    if (at === undefined)
      return chain.length === 1
        ? [error('UNKNOWN_INDEX', path, `No index is stored under ${id}.`, smallValue(id))]
        : [];
    const next = referenceOf(at);
    if (next === undefined || chain.includes(next)) return [];
    if (next === ownId)
      return [
        error('CIRCULAR_REFERENCE', path, `The index refers to itself through ${chain.join(', ')}.`, { value: id }),
      ];
    chain.push(next);
    at = indexOf(next);
  }
}
