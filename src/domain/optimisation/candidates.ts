import type { Composer, Composition } from '../books/compositions.js';
import { isDerivedDocument } from '../documents/index-document.js';
import { findLastAtMost } from '../numbers/search.js';

/** Candidate securities of an optimisation. */
export interface Candidates {
  /** Market columns, ascending, [N]. */
  readonly columns: Int32Array;
  /** Weights of the optimised index, zero for other securities, [N]. */
  readonly index: Float64Array;
}

/** Choice of candidates: the securities of the index, or every security of its universe. */
export type CandidateScope = 'parent' | 'universe';

/**
 * Returns the securities that may be held at a composition of an index: its constituents, and optionally every security
 * of its universe with a price at the decision. The universe of a derived index is that of its rule-based root index.
 */
export function listCandidates(
  composer: Composer,
  indexId: string,
  { columns: parentColumns, weights, decision }: Pick<Composition, 'columns' | 'weights' | 'decision'>,
  which: CandidateScope,
): Candidates {
  if (which === 'parent') return { columns: parentColumns, index: weights };
  const rootId = findRoot(composer, indexId);
  const day = composer.market(indexId).sessions[decision]!;
  const universe = composer.universe(rootId, findLastAtMost(composer.market(rootId).sessions, day));
  const columns = Int32Array.from(new Set([...parentColumns, ...universe])).toSorted((a, b) => a - b);
  const weightByColumn = new Map(Array.from(parentColumns, (column, i): [number, number] => [column, weights[i]!]));
  return { columns, index: Float64Array.from(columns, (column) => weightByColumn.get(column) ?? 0) };
}

/** Returns the rule-based index at the start of a chain of derived indices. */
function findRoot(composer: Composer, indexId: string): string {
  const document = composer.document(indexId);
  return isDerivedDocument(document) ? findRoot(composer, document.derivation.source_index_id) : indexId;
}
