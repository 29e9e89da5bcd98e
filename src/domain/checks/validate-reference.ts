import { listTexts } from '../documents/amended-texts.js';
import { keepSmallValue, type Finding } from '../refusals/findings.js';
import { createError, type IndexContext, type UncheckedBody } from './index-context.js';
import type { IndexDocument } from '../documents/index-document.js';
import { listCalledIndices, listNamedIndices } from '../documents/named-indices.js';

/**
 * Returns the indices to which the universe, derivation, overlay or expressions of a document refer, its source first.
 */
export function listReferences(document: IndexDocument): readonly string[] {
  return [...new Set(listTexts(document).flatMap(({ document: text }) => listNamedIndices(text).map(({ id }) => id)))];
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
  return parts.flatMap(({ path, id }) => {
    const isNew = !reports.has(`${path} ${id}`);
    reports.add(`${path} ${id}`);
    if (!isNew) return [];
    const findings = checkReference(id, body['id'], path, indexOf);
    return findings.map((finding) =>
      finding.code === 'UNKNOWN_INDEX' ? { ...finding, severity: 'warning' } : finding,
    );
  });
}

/** Reports a referenced index that is not stored or refers back to the document. */
export function checkReference(id: string, ownId: unknown, path: string, indexOf: IndexContext['indexOf']): Finding[] {
  if (id === ownId)
    return [createError('CIRCULAR_REFERENCE', path, `The index ${id} refers to itself.`, { value: id })];
  if (indexOf(id) === undefined)
    return [createError('UNKNOWN_INDEX', path, `No index ${id} is stored.`, keepSmallValue(id))];
  const chain = findChain(ownId, [id], indexOf);
  if (chain === undefined) return [];
  return [
    createError('CIRCULAR_REFERENCE', path, `The index refers to itself through ${chain.join(', ')}.`, { value: id }),
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
