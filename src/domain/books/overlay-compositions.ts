import { dayFrom, formatDay, type Day } from '../time/days.js';
import { sourcesOf, type OverlayDocument } from '../documents/index-document.js';
import { Refusal } from '../refusals/refusal.js';
import { firstAtLeast, lastAtMost } from '../numbers/search.js';
import type { Book } from './book.js';
import { compositionOnSessions } from './book-on-sessions.js';
import { inForce, type Composer, type Composition, type Compositions } from './compositions.js';
import { heldAt, indexBook } from './index-run.js';

/**
 * What an overlay consists of: on its first session and wherever an index beneath is rebalanced, what it holds then.
 * @throws Refusal NO_DATA_IN_RANGE, and what the indices beneath refuse
 */
export function overlayCompositions(composer: Composer, document: OverlayDocument, until: Day): Compositions {
  const sources = sourcesOf(document).map((id) => composer.compositions(id));
  const treatment = composer.treatment(document.id);
  const sm = composer.market(document.id);
  const last = lastAtMost(sm.sessions, until);
  const begins = sources.map((source) => source.sm.sessions[source.first]!);
  const first = firstAtLeast(sm.sessions, Math.max(dayFrom(document.base_date), ...begins));
  if (first > last)
    throw new Refusal(
      'NO_DATA_IN_RANGE',
      `The overlay ${document.id} begins on or after ${document.base_date}; there is no session up to ${formatDay(until)}.`,
    );
  const own: Compositions = {
    document,
    treatment,
    sm,
    first,
    list: [],
    findings: sources.flatMap(({ findings }) => findings),
    memory: null,
    overlay: { spec: document.overlay, sources },
  };
  const book = indexBook({ compositions: own, to: last });
  const lists = sources.map(({ list, sm: of }) => (of === sm ? list : list.map(compositionOnSessions(of, sm))));
  return { ...own, list: heldCompositions(book, lists, first), overlay: { ...own.overlay!, book } };
}

/**
 * What a book holds wherever an index beneath takes a composition, and wherever it restores its own weights.
 * @param first session on which it was first held; null where that lies before the book
 */
export function heldCompositions(
  book: Book,
  lists: readonly (readonly Composition[])[],
  first: number | null,
): Composition[] {
  const { from, length, sm } = book;
  const taken = new Map<number, Omit<Composition, 'columns' | 'weights' | 'uncapped'>>();
  for (const list of lists) {
    const begin = first === null ? undefined : inForce(list, first);
    if (begin !== undefined) taken.set(from, { ...begin, date: sm.sessions[from]!, also: [], announced: null });
    for (const one of list) if (one.session > from && one.session < from + length) taken.set(one.session, one);
  }
  for (const { at, rebalanced } of book.events)
    if (rebalanced && at > 0 && !taken.has(from + at)) taken.set(from + at, restoredOn(sm, from + at));
  return [...taken]
    .toSorted(([a], [b]) => a - b)
    .map(([session, one]) => {
      const { columns, weights } = heldAt(book, session);
      const decision = Math.min(one.decision, session);
      return { ...one, session, decision, columns, weights, ...UNCAPPED, uncapped: weights };
    });
}

/** A rebalance of the overlay alone: its weights are in its definition. */
function restoredOn({ sessions }: Book['sm'], session: number): Omit<Composition, 'columns' | 'weights' | 'uncapped'> {
  return { date: sessions[session]!, also: [], session, decision: session, announced: null, ...UNCAPPED };
}

/** Caps are those of what lies beneath. */
const UNCAPPED = { cap: null, capped: new Int32Array(0), redistributed: 0 };
