import type { IndexText } from '../documents/amended-texts.js';
import type { Membership } from '../market/market-data.js';
import { applyStoreDefaults } from '../documents/stale-sessions.js';
import type { Composer } from './compositions.js';
import { listUniverseMembers, findUniverse } from './find-universe.js';

/** Returns the composer that the decider of one version of an index definition uses. */
export function createAmendedComposer(
  composer: Composer,
  { position, document }: IndexText,
  membersOf: (universe: string) => readonly Membership[],
): Composer {
  if (position === 0) return composer;
  const amendedComposer: Composer = {
    ...composer,
    document: (indexId) => (indexId === document.id ? document : composer.document(indexId)),
    treatment: (indexId) =>
      indexId === document.id && document.pipeline !== null
        ? applyStoreDefaults(document.pipeline.treatment, composer.market(indexId).market)
        : composer.treatment(indexId),
    universe: (indexId, session) =>
      indexId === document.id
        ? findUniverse(amendedComposer, membersOf, { indexId, session })
        : composer.universe(indexId, session),
    members: (indexId, session) =>
      indexId === document.id
        ? listUniverseMembers(amendedComposer, membersOf, { indexId, session })
        : composer.members(indexId, session),
  };
  return amendedComposer;
}
