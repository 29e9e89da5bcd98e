import type { Composer, Composition } from '../books/compositions.js';
import { isDerivedDocument } from '../documents/index-document.js';
import { lastAtMost } from '../numbers/search.js';

/** Names that weights are chosen among. */
export interface Candidates {
  /** Columns of the market, ascending, [N]. */
  readonly columns: Int32Array;
  /** Weights of the index that is optimised, zero for names it does not hold, [N]. */
  readonly index: Float64Array;
}

/** Whether only the names of an index may be held, or those of the universe that it was chosen from as well. */
export type CandidateNames = 'parent' | 'universe';

/**
 * The candidates at a composition of an index: its names, and where asked for every name of its universe that can be priced on the
 * decision. A derived index has the universe of the rules that it goes back to.
 */
export function candidatesAt(
  composer: Composer,
  indexId: string,
  { columns: held, weights, decision }: Pick<Composition, 'columns' | 'weights' | 'decision'>,
  which: CandidateNames,
): Candidates {
  if (which === 'parent') return { columns: held, index: weights };
  const rootId = rootOf(composer, indexId);
  const day = composer.market(indexId).sessions[decision]!;
  const universe = composer.universe(rootId, lastAtMost(composer.market(rootId).sessions, day));
  const columns = Int32Array.from(new Set([...held, ...universe])).toSorted((a, b) => a - b);
  const own = new Map(Array.from(held, (column, i): [number, number] => [column, weights[i]!]));
  return { columns, index: Float64Array.from(columns, (column) => own.get(column) ?? 0) };
}

/** The index of rules that a derived index goes back to. */
function rootOf(composer: Composer, indexId: string): string {
  const document = composer.document(indexId);
  return isDerivedDocument(document) ? rootOf(composer, document.derivation.source_index_id) : indexId;
}
