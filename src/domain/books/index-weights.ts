import type { IndexWeights } from '../datapoints/expression-section.js';
import { findLastAtMost } from '../numbers/search.js';
import type { Composer } from './compositions.js';

/**
 * Returns other indices as decisions of an index see them: each as last decided on or before the session; null before
 * its first composition.
 */
export function createIndexWeights(
  composer: Composer,
  indexId: string,
): (asked: string, session: number) => IndexWeights | null {
  return (asked, session) => {
    const day = composer.market(indexId).sessions[session]!;
    const known = findLastAtMost(composer.market(asked).sessions, day);
    return composer.decidedOn(asked, known) ?? null;
  };
}
