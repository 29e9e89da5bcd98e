import type { Finding } from '../base/findings.js';
import { findFirstAtLeast } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, parseValidDay } from '../base/time.js';
import { isInAnyText, listReviewDates, listReviews, listDatedTexts, type Review } from '../definition/amendments.js';
import { changesMembers, countNoticeSessions } from '../definition/schedule.js';
import { type IndexDocument, isRuleDocument } from '../definition/index-document.js';
import type { RebalanceCause } from '../definition/index-schedule.js';
import type { SessionMarket } from '../market/session-market.js';
import {
  composeAsKnown,
  type Composer,
  type Composition,
  type Compositions,
  findCompositionInForce,
  isReview,
  isWatched,
  type SwapRule,
} from './compositions.js';
import {
  applyFastExit,
  createWatch,
  hasMemberChanges,
  type MemberWatch,
  refillIndex,
  removeReviews,
  simulateWatchedBook,
  type WatchedBooks,
} from './member-changes.js';
import { areAllAnnounced, findNextRebalances, type NextRebalance, toDueRebalance } from './rebalance-dates.js';
import { addComposition, decideRebalanceOn } from './rebalance.js';

interface IndexAtClose {
  readonly indexId: string;
  readonly session: number;
  /** Compositions up to the session, ascending. */
  readonly list: readonly Composition[];
}

/** Announced composition, computed as if it took effect at the close of a session. */
export interface PendingComposition {
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
  const text = listDatedTexts(document)[amendment]!;
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
function addReplacements(
  composer: Composer,
  indexAtClose: IndexAtClose,
  composition: Composition,
): { readonly composition: Composition; readonly findings: readonly Finding[] } {
  if (!hasMemberChanges(composer, indexAtClose.indexId)) return { composition, findings: [] };
  const watch = createWatchAt(composer, indexAtClose, composition.amendment ?? 0);
  return { composition: refillIndex(watch, composition), findings: watch.findings };
}

function createWatchAt(composer: Composer, { indexId, session, list }: IndexAtClose, amendment: number): MemberWatch {
  const text = listDatedTexts(composer.document(indexId))[amendment]!;
  const first = list[0]?.session ?? session;
  return createWatch(composer, { indexId, due: [], first, last: session, known: [...list], findings: [], text });
}

export interface AnnouncedIndexInput {
  readonly indexId: string;
  readonly session: number;
  /** Compositions before `session`, ascending. */
  readonly before: readonly Composition[];
  /** Announced rebalances that share one effective session, at or after `session`. */
  readonly next: readonly NextRebalance[];
}

/**
 * Returns the compositions of an index with announced rebalances, as if these took effect at the close of `session`.
 */
export function composeAsIfEffective(
  composer: Composer,
  { indexId, session, before, next }: AnnouncedIndexInput,
): { readonly list: readonly Composition[]; readonly findings: readonly Finding[] } {
  const sm = composer.market(indexId);
  const list = [...before];
  const findings: Finding[] = [];
  for (const nextRebalance of next) {
    const decidedRebalance = decideRebalanceOn(composer, {
      indexId,
      rebalance: toDueRebalance(sm, session, nextRebalance),
      known: list,
    });
    findings.push(...decidedRebalance.findings);
    if (decidedRebalance.composition === undefined) continue;
    const replacement = addReplacements(composer, { indexId, session, list }, decidedRebalance.composition);
    findings.push(...replacement.findings);
    addComposition(list, replacement.composition);
  }
  return { list, findings };
}

/** Index with an announced composition, which takes effect at the close of the session or later. */
export interface AnnouncedIndex {
  readonly effective: Day;
  /** Compositions up to the session; the last one is announced. */
  readonly compositions: Compositions;
}

/** Index without a pending announcement, with the next rebalance if the calendar has one. */
export interface UnannouncedIndex {
  readonly effective: null;
  readonly next: NextRebalance | undefined;
}

/**
 * Returns the announced composition of an index on a session. A composition is announced from the close of its
 * announcement to its effective close. Index shares are computed at the prices of the session.
 * @param composer composer without data after the session
 */
export function findAnnouncedIndex(
  composer: Composer,
  { indexId, session }: Pick<AnnouncedIndexInput, 'indexId' | 'session'>,
): AnnouncedIndex | UnannouncedIndex {
  const compositions = composer.compositions(indexId);
  const { sm, list } = compositions;
  const day = sm.sessions[session]!;
  if (list.at(-1)!.session === session) return { effective: day, compositions };
  const change = findPendingChange(composer, { indexId, session, list });
  if (change !== undefined)
    return { effective: change.effective, compositions: { ...compositions, list: [...list, change.composition] } };
  const next = findNextDueRebalances(composer, compositions, day);
  if (!areAllAnnounced(next, day)) return { effective: null, next: next[0] };
  const pendingComposition = composeAsIfEffective(composer, { indexId, session, before: list, next });
  if (pendingComposition.list.length === list.length) return { effective: null, next: next[0] };
  return { effective: next[0]!.date, compositions: { ...compositions, list: pendingComposition.list } };
}

/** Returns the next rebalances: those of the schedule, or the one triggered by a breach. */
function findNextDueRebalances(
  composer: Composer,
  { document, sm, called }: Compositions,
  day: Day,
): readonly NextRebalance[] {
  const scheduledRebalances = findNextRebalances(composer.document(document.id), sm, day + 1);
  const [first] = scheduledRebalances;
  if (called === undefined || called.effective === null) return scheduledRebalances;
  if (first !== undefined && first.session <= called.effective) return scheduledRebalances;
  const { session, effective, review } = called;
  return [
    {
      date: effective,
      session: effective,
      decision: sm.sessions[session]!,
      ...(review === undefined ? {} : { review }),
    },
  ];
}

/** Maximum number of pending rebalances of an index: one per session of the longest notice period. */
const PENDING_MAX = 60;

interface PendingInput extends Pick<AnnouncedIndexInput, 'indexId'> {
  /** Last session with data. */
  readonly last: number;
  /** Session up to which the compositions are decided. */
  readonly decided: number;
  /** Compositions up to the last session, ascending. */
  readonly known: readonly Composition[];
}

/**
 * Returns the compositions of an index that are decided up to a session and take effect after the last session with
 * data, in order. An index that reads them has the same decisions whether or not the data reach their effective closes.
 */
export function composePending(composer: Composer, { indexId, last, decided, known }: PendingInput): Composition[] {
  const document = composer.document(indexId);
  if (!isRuleDocument(document) || known.length === 0) return [];
  const sm = composer.market(indexId);
  const pending: Composition[] = [];
  let before = known;
  let from = sm.sessions[last]! + 1;
  for (let k = 0; k < PENDING_MAX; k++) {
    const upcoming = findNextRebalances(document, sm, from);
    const next = upcoming.filter(({ decision }) => decision <= sm.sessions[decided]!);
    if (next.length === 0) break;
    const { list } = composeAsIfEffective(composer, { indexId, session: last, before, next });
    const composition = list.at(-1)!;
    if (composition !== before.at(-1)) pending.push({ ...composition, session: last + 1 + k });
    before = list;
    from = upcoming[0]!.session + 1;
  }
  return pending;
}

/** Swap with identifiers and days. */
export interface NamedSwap {
  /** Effective date; the swap takes effect at its close. */
  readonly date: Day;
  readonly rule: SwapRule;
  readonly entered: string;
  readonly left: string;
  readonly decision: Day;
  readonly ranked: Day | null;
  readonly rank: number;
  readonly leftRank: number | null;
}

export function resolveSwaps(
  { session, swaps = [] }: Pick<Composition, 'session' | 'swaps'>,
  { identifiers, sessions }: Pick<SessionMarket, 'identifiers' | 'sessions'>,
): NamedSwap[] {
  return swaps.map(({ entered, left, decision, ranked, ...swap }) => ({
    ...swap,
    date: sessions[session]!,
    entered: identifiers[entered]!,
    left: identifiers[left]!,
    decision: sessions[decision]!,
    ranked: ranked === null ? null : sessions[ranked]!,
  }));
}

/** Returns the swaps of a composition that takes effect on a later day. */
export function listPendingSwaps({ effective, composition }: PendingComposition, sm: SessionMarket): NamedSwap[] {
  return resolveSwaps(composition, sm).map((swap) => ({ ...swap, date: effective }));
}

/**
 * Returns the swaps between reviews that were decided on a session, including announced swaps that take effect later.
 */
export function listSwapsDecidedOn(composer: Composer, indexId: string, session: number): NamedSwap[] {
  if (!hasMemberChanges(composer, indexId)) return [];
  const compositions = findCompositions(composer, indexId);
  if (compositions === undefined) return [];
  const { sm, list } = compositions;
  const pendingComposition = findPendingChange(composer, { indexId, session, list });
  const announcedSwaps =
    pendingComposition === undefined || list.includes(pendingComposition.composition)
      ? []
      : listPendingSwaps(pendingComposition, sm);
  const day = sm.sessions[session]!;
  const namedSwaps = [...list.flatMap((composition) => resolveSwaps(composition, sm)), ...announcedSwaps];
  return namedSwaps.filter(({ decision }) => decision === day);
}

/** Returns the compositions of an index. Returns undefined if it has none yet. */
function findCompositions(composer: Composer, indexId: string): Compositions | undefined {
  try {
    return composeAsKnown(composer, indexId);
  } catch (failure) {
    if (failure instanceof Refusal && failure.code === 'EMPTY_INDEX') return undefined;
    throw failure;
  }
}

/**
 * Returns the trigger of a rebalance that is decided on a session. Returns null if there is none, or if the index
 * cannot be run up to the session.
 * @param composer composer without data after the session
 * @cost that of computing the schedule; if breaches trigger rebalances, that of running the index up to the session
 */
export function findRebalanceCause(composer: Composer, indexId: string, session: number): RebalanceCause | null {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  if (listReviewsDecidedOn(document, sm, session).length > 0) return 'schedule';
  const calls = isWatched(document) || isInAnyText(document, ({ events }) => changesMembers(events));
  if (!calls || sm.sessions[session]! < parseValidDay(document.base_date)) return null;
  try {
    const { list, called } = composer.compositions(indexId);
    const eventCause = list.find(({ cause, decision }) => cause !== undefined && decision === session)?.cause;
    if (eventCause !== undefined) return eventCause;
    if (called?.session === session) return 'breach';
    const pendingComposition = findPendingChange(composer, { indexId, session, list })?.composition;
    return pendingComposition?.decision === session ? (pendingComposition.cause ?? null) : null;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** Review, with the position of the definition version that contains it. */
export interface DecidedReview {
  readonly review: Review;
  readonly amendment: number;
}

/** Returns the reviews whose reference date is the session, in order. */
export function listReviewsDecidedOn(
  document: IndexDocument,
  { calendar, sessions }: SessionMarket,
  session: number,
): readonly DecidedReview[] {
  const day = sessions[session]!;
  const position = findFirstAtLeast(calendar.sessions, day);
  const baseDay = parseValidDay(document.base_date);
  const texts = listDatedTexts(document);
  const reviews = texts.flatMap((text, k) =>
    listReviews(text.document).map((review) => ({
      review,
      amendment: k,
      from: text.from,
      until: texts[k + 1]?.from ?? Infinity,
    })),
  );
  const isDecided = ({ review, from, until }: (typeof reviews)[number]): boolean => {
    const last = Math.min(position + countNoticeSessions(review.document.rebalance), calendar.sessions.length - 1);
    const dates = listReviewDates(review, { calendar, baseDay, from: day, to: calendar.sessions[last]! });
    return dates.some(({ date, decision }) => decision === day && date >= from && date < until);
  };
  return reviews.filter(isDecided);
}
