import type { IndexWeights } from '../datapoints/expression-section.js';
import { findLastAtMost } from '../numbers/search.js';
import type { Composer } from './compositions.js';

/**
 * Returns a function that reads the weights of any index, by its id, for a decision of the index `indexId` on a
 * session. The weights are those of the latest composition that was decided on or before the session. Null before the
 * first composition.
 */
export function createIndexWeights(
  composer: Composer,
  indexId: string,
): (requestedId: string, session: number) => IndexWeights | null {
  return (requestedId, session) => {
    const day = composer.market(indexId).sessions[session]!;
    const latestSession = findLastAtMost(composer.market(requestedId).sessions, day);
    return composer.decidedOn(requestedId, latestSession) ?? null;
  };
}
