import { parseValidDay, formatDay, type Day } from '../time/days.js';
import { listSources, type OverlayDocument } from '../documents/index-document.js';
import { Refusal } from '../refusals/refusal.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import type { Book } from './book.js';
import { alignComposition } from './book-on-sessions.js';
import { findCompositionInForce, type Composer, type Composition, type Compositions } from './compositions.js';
import { listHoldings, simulateIndexBook } from './index-run.js';

/**
 * Composes an overlay: its holdings on the first session and on each rebalance of an underlying index.
 * @throws Refusal NO_DATA_IN_RANGE, and refusals of the underlying indices
 */
export function composeOverlay(composer: Composer, document: OverlayDocument, until: Day): Compositions {
  const sources = listSources(document).map((id) => composer.compositions(id));
  const treatment = composer.treatment(document.id);
  const sm = composer.market(document.id);
  const last = findLastAtMost(sm.sessions, until);
  const begins = sources.map((source) => source.sm.sessions[source.first]!);
  const first = findFirstAtLeast(sm.sessions, Math.max(parseValidDay(document.base_date), ...begins));
  if (first > last)
    throw new Refusal(
      'NO_DATA_IN_RANGE',
      `The overlay ${document.id} begins on or after ${document.base_date}; there is no session up to ${formatDay(until)}.`,
    );
  const overlayCompositions: Compositions = {
    document,
    treatment,
    sm,
    first,
    list: [],
    findings: sources.flatMap(({ findings }) => findings),
    memory: null,
    overlay: { spec: document.overlay, sources },
  };
  const book = simulateIndexBook({ compositions: overlayCompositions, to: last });
  const lists = sources.map(({ list, sm: sessionMarket }) =>
    sessionMarket === sm ? list : list.map(alignComposition(sessionMarket, sm)),
  );
  return {
    ...overlayCompositions,
    list: listHeldCompositions(book, lists, first),
    overlay: { ...overlayCompositions.overlay!, book },
  };
}

/**
 * Returns the holdings of a book on each rebalance of an underlying index, and on each reset of the overlay weights.
 * @param first session on which the overlay was first held. Null if that session is before the book.
 */
export function listHeldCompositions(
  book: Book,
  lists: readonly (readonly Composition[])[],
  first: number | null,
): Composition[] {
  const { from, length, sm } = book;
  const compositionBySession = new Map<number, Omit<Composition, 'columns' | 'weights' | 'uncapped'>>();
  for (const list of lists) {
    const begin = first === null ? undefined : findCompositionInForce(list, first);
    if (begin !== undefined)
      compositionBySession.set(from, { ...begin, date: sm.sessions[from]!, also: [], announced: null });
    for (const composition of list)
      if (composition.session > from && composition.session < from + length)
        compositionBySession.set(composition.session, composition);
  }
  for (const { at, rebalanced } of book.events)
    if (rebalanced && at > 0 && !compositionBySession.has(from + at))
      compositionBySession.set(from + at, restoreWeights(sm, from + at));
  return [...compositionBySession]
    .toSorted(([a], [b]) => a - b)
    .map(([session, one]) => {
      const { columns, weights } = listHoldings(book, session);
      const decision = Math.min(one.decision, session);
      return { ...one, session, decision, columns, weights, ...NO_CAP, uncapped: weights };
    });
}

/** Returns the rebalance data of a reset to the weights of the overlay definition. */
function restoreWeights(
  { sessions }: Book['sm'],
  session: number,
): Omit<Composition, 'columns' | 'weights' | 'uncapped'> {
  return { date: sessions[session]!, also: [], session, decision: session, announced: null, ...NO_CAP };
}

/** Empty cap fields: caps apply to the underlying indices, not to the overlay. */
const NO_CAP = { cap: null, capped: new Int32Array(0), redistributed: 0 };
