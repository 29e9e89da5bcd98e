import { listTexts } from '../documents/amended-texts.js';
import type { Finding } from '../refusals/findings.js';
import type { Day } from '../time/days.js';
import { findCompositionInForce, isReview, type Composer, type Composition } from './compositions.js';
import { applyFastExit } from './fast-changes.js';
import { createWatch, hasMemberChanges, refillIndex, removeReviews } from './member-changes.js';
import { simulateWatchedBook, type WatchedBooks, type MemberWatch } from './member-watch.js';
import { areAllAnnounced, toDueRebalance, findNextRebalances } from './next-rebalance.js';

/** Index at the close of a session. */
interface IndexAtClose {
  readonly indexId: string;
  readonly session: number;
  /** Compositions up to the session, ascending. */
  readonly list: readonly Composition[];
}

/** Announced composition, computed as if it took effect at the close of a session. */
export interface PendingComposition {
  /** Day of the effective close. */
  readonly effective: Day;
  readonly composition: Composition;
}

/**
 * Returns the change of constituents that takes effect at the close of a session, or otherwise the next announced
 * change. Returns undefined if there is none, or if a review takes effect at that close.
 * @param composer composer without data after the session
 */
export function findPendingChange(composer: Composer, indexAtClose: IndexAtClose): PendingComposition | undefined {
  const { indexId, session, list } = indexAtClose;
  if (!hasMemberChanges(composer, indexId) || list.length === 0) return undefined;
  const latestComposition = list.at(-1)!;
  if (latestComposition.session === session)
    return isReview(latestComposition)
      ? undefined
      : { effective: composer.market(indexId).sessions[session]!, composition: latestComposition };
  return findAnnouncedExit(composer, indexAtClose);
}

function findAnnouncedExit(composer: Composer, indexAtClose: IndexAtClose): PendingComposition | undefined {
  const { indexId, session, list } = indexAtClose;
  const { amendment = 0 } = findCompositionInForce(list.filter(isReview), session) ?? {};
  const document = composer.document(indexId);
  const text = listTexts(document)[amendment]!;
  const { fast_exit: exit } = text.document.events ?? {};
  if (exit === undefined) return undefined;
  const sm = composer.market(indexId);
  const day = sm.sessions[session]!;
  const next = findNextRebalances({ ...removeReviews(text.document), rebalance: exit.schedule }, sm, day + 1);
  const [due] = next;
  if (due === undefined || !areAllAnnounced(next, day)) return undefined;
  const [review] = findNextRebalances(document, sm, day + 1);
  if (review !== undefined && review.session <= due.session) return undefined; // a review on or before that session decides the constituents
  const watch: MemberWatch = {
    ...createWatchAt(composer, indexAtClose, amendment),
    exits: [toDueRebalance(sm, session, due)],
  };
  const watchedBooks: WatchedBooks = { at: watch.first - 1, book: null, uncapped: null, unit: null };
  const composition = applyFastExit(watch, {
    standing: watchedBooks,
    book: simulateWatchedBook(watch, watchedBooks, session),
    session,
  });
  return composition && { effective: due.session, composition };
}

/** Returns the pending composition of a review, with replacements for constituents that left since the decision. */
export function addReplacements(
  composer: Composer,
  indexAtClose: IndexAtClose,
  composition: Composition,
): { readonly composition: Composition; readonly findings: readonly Finding[] } {
  if (!hasMemberChanges(composer, indexAtClose.indexId)) return { composition, findings: [] };
  const watch = createWatchAt(composer, indexAtClose, composition.amendment ?? 0);
  return { composition: refillIndex(watch, composition), findings: watch.findings };
}

function createWatchAt(composer: Composer, { indexId, session, list }: IndexAtClose, amendment: number): MemberWatch {
  const text = listTexts(composer.document(indexId))[amendment]!;
  const first = list[0]?.session ?? session;
  return createWatch(composer, { indexId, due: [], first, last: session, known: [...list], findings: [], text });
}
