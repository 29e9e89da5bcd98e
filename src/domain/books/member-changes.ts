import { addRebalanceDate, type Finding } from '../base/findings.js';
import { type IndexText, listDatedTexts } from '../definition/amendments.js';
import { changesMembers, EventsSpec } from '../definition/schedule.js';
import type { IndexDocument } from '../definition/index-document.js';
import { hasIndependentWeights } from '../definition/rule-pipeline.js';
import type { EventCause } from '../definition/index-schedule.js';
import { countStaleSessions } from '../definition/treatment.js';
import { hasLeftMarket, readPanelRow, type SessionMarket } from '../market/session-market.js';
import {
  type Book,
  type BookEnd,
  type BookEvent,
  requireBookEnd,
  type SecurityCounts,
  type ShareChangeTerms,
  type StoredBook,
} from './book.js';
import {
  type RankedCandidate,
  type Composer,
  type Composition,
  type Compositions,
  type ConstituentSwap,
  findCompositionInForce,
  isReview,
  type RankedSecurities,
  type ReviewPool,
} from './compositions.js';
import { simulateBookUntil, updateStoredBook, type WatchInput } from './index-run.js';
import { type DueRebalance, findDecider, findFollowedSession, listDueAfter } from './rebalance-dates.js';
import { decideRebalanceOn, findSelection, updatePhases } from './rebalance.js';
import { createShareChangeTerms, readCounts } from './state.js';

/** Maximum age in sessions of the price of a security that enters. */
const ENTRY_SESSIONS = 5;

interface EnteringSecurity {
  readonly column: number;
  /** Weight of the replaced constituent, relative to the holdings before the entry. 0 if no constituent is replaced. */
  readonly replaced: number;
}

export interface CandidateInput {
  readonly composer: Composer;
  readonly indexId: string;
  readonly pool: ReviewPool;
  readonly session: number;
  readonly staying: Int32Array;
  readonly ranking: Int32Array;
  readonly wanted: number;
}

/** Returns the securities that replace constituents that left, best first. */
function listReplacementCandidates(input: CandidateInput, events: EventsSpec): RankedCandidate[] {
  const { composer, indexId, pool, session, ranking, wanted } = input;
  const sm = composer.market(indexId);
  const isReserve = events.replacement === 'reserve';
  const order = isReserve ? (events.reserve ?? []).map((id) => sm.columnOf(id)) : [...ranking];
  const members = new Set(isReserve ? [] : composer.universe(indexId, session));
  const results: RankedCandidate[] = [];
  const remainingColumns = [...input.staying];
  for (const [position, column] of order.entries()) {
    if (results.length === wanted) break;
    if (column < 0 || remainingColumns.includes(column)) continue;
    const isThere = isReserve
      ? sm.isPriceable(session, column, ENTRY_SESSIONS)
      : members.has(column) && pool.passes(session, Int32Array.from(remainingColumns), column);
    if (!isThere) continue;
    results.push({ column, rank: position + 1 });
    remainingColumns.push(column);
  }
  return results;
}

interface ReplacementInput {
  readonly rule: 'next_ranked' | 'reserve';
  /** Composition with the ranking of its review. */
  readonly before: Composition;
  readonly decision: number;
  readonly found: readonly RankedCandidate[];
  /** Columns of the constituents that left, in the order of replacement. */
  readonly left: readonly number[];
}

function chooseReplacements({ rule, before, decision, found, left }: ReplacementInput): ConstituentSwap[] {
  const rankingSession = rule === 'reserve' ? null : findSelection(before).decision;
  return found.map(({ column, rank }, k) => ({
    rule,
    entered: column,
    left: left[k]!, // there are never more candidates than constituents that left
    decision,
    ranked: rankingSession,
    rank,
    leftRank: null,
  }));
}

interface EnteringSecuritiesInput {
  readonly composer: Composer;
  readonly indexId: string;
  readonly pool: ReviewPool;
  readonly session: number;
  readonly decision: number;
  readonly cause: EventCause;
  readonly before: Composition;
  /**
   * Holdings and weights at the close, without securities that left. `held` is for the index, `uncapped` for the index
   * without caps.
   */
  readonly held: Pick<BookEnd, 'held' | 'weights' | 'units' | 'counts'>;
  readonly uncapped: Pick<BookEnd, 'held' | 'weights'>;
  /** Columns of the constituents that entering securities replace. */
  readonly leaving: readonly number[];
  readonly entries: readonly EnteringSecurity[];
  readonly swaps: readonly ConstituentSwap[];
  /**
   * Money amount that converts a market value into a weight at the close. Null if an entering security takes the weight
   * of the security that left.
   */
  readonly worth: number | null;
}

/**
 * Returns the composition of an index after a close at which securities enter between reviews. Other constituents keep
 * their index shares. A security enters with its market value, or with the weight of the security that it replaces.
 */
function composeEntering(input: EnteringSecuritiesInput): Composition {
  const { composer, indexId, session, decision, cause, before, held, uncapped, worth, swaps } = input;
  const { columns, weights, grown } = computeEnteredWeights(input, { ...held, worth, cap: before.cap });
  const uncappedEntrants =
    before.uncapped === before.weights
      ? null
      : computeEnteredWeights(input, { ...uncapped, worth: findUncappedWorth(input), cap: null });
  const sm = composer.market(indexId);
  const shareChangeTerms = createShareChangeTerms({
    sm,
    document: composer.document(indexId),
    treatment: composer.treatment(indexId),
  });
  const counts = shareChangeTerms && readEnteredCounts(shareChangeTerms, { session, columns, kept: held.counts });
  return {
    date: sm.sessions[session]!,
    also: [],
    session,
    decision,
    announced: decision < session ? sm.sessions[decision]! : null,
    columns,
    weights,
    uncapped: uncappedEntrants?.weights ?? weights,
    cap: before.cap,
    capped: before.capped.filter((column) => columns.includes(column)),
    redistributed: before.redistributed,
    cause,
    swaps,
    entered: grown,
    ...(worth === null ? {} : { worth: worth * grown }),
    ...(before.basket === undefined || worth === null ? {} : { basket: worth * grown }),
    ...(worth === null ? {} : findFixedShares(input, columns)),
    ...(before.ranking === undefined ? {} : { ranking: before.ranking }),
    selected: findSelection(before),
    ...(counts === undefined ? {} : { counts }),
  };
}

interface EnteredCountsInput {
  readonly session: number;
  readonly columns: Int32Array;
  /** Counts of the holdings before the change. */
  readonly kept: BookEnd['counts'];
}

/** Returns the share counts of constituents: those of the holdings, and those on a session of securities that enter. */
function readEnteredCounts(terms: ShareChangeTerms, { session, columns, kept }: EnteredCountsInput): SecurityCounts {
  const entered = readCounts(terms, session, columns);
  const merge = (member: 'adopted' | 'latest'): Float64Array =>
    entered[member].map((count, k) => kept?.[member][kept.columns.indexOf(columns[k]!)] ?? count);
  return { adopted: merge('adopted'), latest: merge('latest') };
}

/** Returns the fixed numbers of shares of constituents: those held, and those of securities that enter. */
function findFixedShares(
  { before, held, pool, session }: EnteringSecuritiesInput,
  columns: Int32Array,
): Pick<Composition, 'fixedShares'> {
  const shares = before.fixedShares === undefined ? undefined : pool.fixedShares(session, columns);
  if (shares === undefined) return {};
  return {
    fixedShares: shares.map((entering, k) => {
      const position = held.held.indexOf(columns[k]!);
      return position < 0 ? entering : held.units[position]!;
    }),
  };
}

/** Returns the money amount that converts a market value into a weight of the index without caps. */
function findUncappedWorth({
  pool,
  session,
  uncapped,
  leaving,
  entries,
  worth,
}: EnteringSecuritiesInput): number | null {
  if (worth === null || entries.length === 0) return null;
  return computePoolValue(pool, session, { ...uncapped, without: leaving });
}

/**
 * Returns the ratio of the constituents' market value to their weight at a close. Returns null if no constituent has a
 * market value.
 */
function computePoolValue(
  pool: ReviewPool,
  session: number,
  { held, weights, without }: Pick<BookEnd, 'held' | 'weights'> & { readonly without: ArrayLike<number> },
): number | null {
  const excludedColumns = new Set(Array.from(without));
  const values = pool.values(
    session,
    held.filter((column) => !excludedColumns.has(column)),
  );
  const includedWeights = weights.filter((_, k) => !excludedColumns.has(held[k]!));
  const isValued = (_: number, k: number): boolean => values[k]! > 0;
  const weight = sumValues(includedWeights.filter(isValued));
  return weight > 0 ? sumValues(values.filter(isValued)) / weight : null;
}

interface EnteredHoldings extends Pick<BookEnd, 'held' | 'weights'> {
  readonly worth: number | null;
  readonly cap: number | null;
}

function computeEnteredWeights(
  { pool, session, leaving, entries }: EnteringSecuritiesInput,
  { worth, cap, ...held }: EnteredHoldings,
): Pick<Composition, 'columns' | 'weights'> & { readonly grown: number } {
  const largestMultiple = cap === null || cap >= 1 ? Infinity : cap / (1 - cap);
  const weightByColumn = new Map<number, number>();
  held.held.forEach((column, k) => {
    if (!leaving.includes(column)) weightByColumn.set(column, held.weights[k]!);
  });
  const values =
    worth === null
      ? null
      : pool.values(
          session,
          Int32Array.from(entries, ({ column }) => column),
        );
  entries.forEach(({ column, replaced }, k) => {
    const poolWeight = values === null ? Number.NaN : values[k]! / worth!;
    weightByColumn.set(column, Math.min(poolWeight > 0 ? poolWeight : replaced, largestMultiple));
  });
  const all = [...weightByColumn].toSorted(([a], [b]) => a - b);
  const weightSum = sumValues(all.map(([, weight]) => weight));
  return {
    columns: Int32Array.from(all, ([column]) => column),
    weights: Float64Array.from(all, ([, weight]) => weight / weightSum),
    grown: weightSum,
  };
}

function sumValues(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Index whose constituents may change between reviews, with the data to find such changes. */
export interface MemberWatch extends WatchInput {
  /** Composer with every version of the definition. */
  readonly whole: Composer;
  /** Composer with the version of the definition that is searched. */
  readonly composer: Composer;
  readonly document: IndexDocument;
  readonly events: EventsSpec;
  readonly sm: SessionMarket;
  readonly pool: ReviewPool;
  readonly known: Composition[];
  readonly findings: Finding[];
  readonly exits: readonly DueRebalance[];
  /** New securities by the session on which they are ranked, as columns. */
  readonly entries: Map<number, readonly number[]>;
}

/** State of the index book at a close, and of the book without caps. */
export interface WatchedBooks {
  readonly at: number;
  readonly book: StoredBook | null;
  readonly uncapped: StoredBook | null;
  /**
   * Ratio of index market value to `worth` of the latest review's composition. Null if the composition has no `worth`.
   */
  readonly unit: number | null;
}

function isCapped({ known }: MemberWatch): boolean {
  return known.some(({ weights, uncapped }) => weights !== uncapped && weights.some((w, k) => w !== uncapped[k]));
}

interface WatchPosition {
  readonly standing: WatchedBooks;
  readonly book: Book;
  readonly session: number;
}

/** Returns the change of constituents at a close. Returns undefined if nothing changes. */
type MemberChange = (watch: MemberWatch, position: WatchPosition) => Composition | undefined;

/**
 * Returns the ratio of index market value to `worth` of the latest review's composition. The ratio is constant between
 * reviews.
 */
function computeMarketValueUnit({ known }: MemberWatch, { standing, book, session }: WatchPosition): number | null {
  const review = known.findLast((composition) => composition.session <= session && isReview(composition));
  if (review === undefined || review.session <= standing.at) return standing.unit;
  return review.worth === undefined ? null : computeMarketValue(book, review.session) / review.worth;
}

function computeMarketValue({ reinvested, value, divisor, from }: Book, session: number): number {
  return (reinvested?.levels.price ?? value)[session - from]! * divisor[session - from]!;
}

function isReviewSession({ known }: MemberWatch, session: number): boolean {
  const composition = findCompositionInForce(known, session);
  return (
    composition === undefined || (composition.session === session && isReview(composition)) || isInPhase(known, session)
  );
}

/** Returns true if later closes of an earlier rebalance are pending. Constituents change only after the last close. */
function isInPhase(compositions: readonly Composition[], session: number): boolean {
  return findCompositionInForce(compositions, session)?.transition !== undefined;
}

interface ClosingHoldings extends Pick<EnteringSecuritiesInput, 'held' | 'uncapped'> {
  readonly marketValue: number;
}

function readClosingHoldings(watch: MemberWatch, { standing, session }: WatchPosition): ClosingHoldings {
  const book = simulateWatchedBook(watch, standing, session);
  const bookEnd = requireBookEnd(book);
  const uncappedEnd = isCapped(watch) ? requireBookEnd(simulateWatchedBook(watch, standing, session, true)) : bookEnd;
  return { held: bookEnd, uncapped: uncappedEnd, marketValue: computeMarketValue(book, session) };
}

function findWeighing(
  { whole, indexId }: Pick<MemberWatch, 'whole' | 'indexId'>,
  latest: Composition | undefined,
): { readonly pool: ReviewPool; readonly document: IndexDocument } {
  const review = {
    ...(latest?.amendment === undefined ? {} : { amendment: latest.amendment }),
    ...(latest?.reviews === undefined ? {} : { review: latest.reviews.at(-1)! }), // a list of reviews is not empty
  };
  const { pool } = whole.decider(indexId, review);
  if (pool === undefined) throw new Error(`${indexId} changes at reviews alone`);
  return { pool, document: findDecider(whole.document(indexId), review).document };
}

function weighEntrants(
  watch: MemberWatch,
  watchPosition: WatchPosition,
  { held, uncapped, marketValue: worth }: ClosingHoldings,
): Omit<EnteringSecuritiesInput, 'cause' | 'leaving' | 'entries' | 'swaps'> {
  const { composer, indexId, known } = watch;
  const { session } = watchPosition;
  const { pool, document } = findWeighing(
    watch,
    known.findLast((one) => one.session <= session && isReview(one)),
  );
  const unit = computeMarketValueUnit(watch, watchPosition);
  const before = findCompositionInForce(known, session)!;
  const findWorthOfPool = (): number | null => {
    const isSelfWeighing = hasIndependentWeights(document.pipeline?.weighting);
    return isSelfWeighing ? computePoolValue(pool, session, { ...held, without: before.capped }) : null;
  };
  return {
    composer,
    indexId,
    pool,
    session,
    decision: session,
    before,
    held,
    uncapped,
    worth: unit === null ? findWorthOfPool() : worth / unit,
  };
}

export function simulateWatchedBook(
  watch: MemberWatch,
  watchedBooks: WatchedBooks,
  to: number,
  isUncapped = false,
): Book {
  const { whole, indexId, known, first } = watch;
  const storedBook = isUncapped ? watchedBooks.uncapped : watchedBooks.book;
  return simulateBookUntil(whole, { indexId, first, stored: storedBook, at: watchedBooks.at, to, known, isUncapped });
}

/** Replaces each constituent that ranks too low by the best-ranked security that is not a constituent. */
export const applyFastExit: MemberChange = (watch, watchPosition) => {
  const { events, exits, pool, composer, indexId, known, sm } = watch;
  const { fast_exit: exit } = events;
  const due = exits.find(({ session }) => session === watchPosition.session);
  if (exit === undefined || due === undefined || isReviewSession(watch, watchPosition.session)) return undefined;
  const { decision } = due;
  const members = findCompositionInForce(known, decision)?.columns;
  if (members === undefined) return undefined;
  const universe = composer.universe(indexId, decision);
  const staleMax = countStaleSessions(composer.treatment(indexId));
  // A constituent that left after its review is not ranked.
  const constituents = members.filter((column) => !hasLeftMarket(sm, decision, column, staleMax));
  const order = pool.ranked(decision, exit.field, createRankedSecurities(constituents, universe));
  const ends = readClosingHoldings(watch, watchPosition);
  const isMember = (column: number): boolean => ends.held.held.includes(column);
  const low = [...order].slice(exit.rank).filter(isMember).toReversed();
  const stayingColumns = ends.held.held.filter((column) => !low.includes(column));
  const isAvailable = (column: number): boolean =>
    universe.includes(column) && sm.isPriceable(watchPosition.session, column, ENTRY_SESSIONS);
  const best: number[] = [];
  for (const column of order) {
    if (best.length === low.length) break;
    if (!isMember(column) && isAvailable(column) && pool.passes(decision, stayingColumns, column)) best.push(column);
  }
  // A constituent stays if its replacement ranks lower.
  const pairs = low.map((column, k) => [column, best[k]] as const);
  const swaps = pairs.filter(([column, other]) => other !== undefined && order.indexOf(other) < order.indexOf(column));
  return composeSwaps(watch, watchPosition, {
    ends,
    cause: 'fast_exit',
    decision,
    order: [...order],
    swaps: swaps as [number, number][],
  });
};

/** Adds new securities that rank high enough. Each replaces the constituent with the lowest rank. */
const applyFastEntry: MemberChange = (watch, watchPosition) => {
  const { events, entries, pool, composer, indexId } = watch;
  const { fast_entry: entry } = events;
  const newSecurities = entries.get(watchPosition.session);
  if (entry === undefined || newSecurities === undefined) return undefined;
  if (isReviewSession(watch, watchPosition.session)) {
    const isPhase = findCompositionInForce(watch.known, watchPosition.session)?.phase !== undefined;
    if (isPhase)
      entries.set(watchPosition.session + 1, [...newSecurities, ...(entries.get(watchPosition.session + 1) ?? [])]);
    return undefined;
  }
  const ends = readClosingHoldings(watch, watchPosition);
  const { held } = ends.held;
  const universe = composer.universe(indexId, watchPosition.session);
  const order = [...pool.ranked(watchPosition.session, entry.field, createRankedSecurities(held, universe))];
  const qualifyingColumns = newSecurities.filter(
    (column) => order.slice(0, entry.rank).includes(column) && !held.includes(column),
  );
  const best = qualifyingColumns
    .filter((column) => universe.includes(column) && pool.passes(watchPosition.session, held, column))
    .toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
  const columnsFromWorst = [...held].toSorted((a, b) => findRank(order, b) - findRank(order, a));
  const swaps = best.flatMap((column, k): [number, number][] =>
    columnsFromWorst[k] === undefined || findRank(order, columnsFromWorst[k]) < findRank(order, column)
      ? []
      : [[columnsFromWorst[k], column]],
  );
  return composeSwaps(watch, watchPosition, {
    ends,
    cause: 'fast_entry',
    decision: watchPosition.session,
    order,
    swaps,
  });
};

const createRankedSecurities = (constituents: Int32Array, universe: Int32Array): RankedSecurities => ({
  columns: Int32Array.from(new Set([...constituents, ...universe])).toSorted(),
  constituents,
});

/** Returns the rank of a security. Returns Infinity if it has no value. */
function findRank(order: readonly number[], column: number): number {
  const position = order.indexOf(column);
  return position < 0 ? Infinity : position + 1;
}

interface FastChangesInput {
  readonly ends: ClosingHoldings;
  readonly cause: 'fast_exit' | 'fast_entry';
  readonly decision: number;
  /** Columns in rank order. */
  readonly order: readonly number[];
  /** Pairs of the leaving and the entering column. */
  readonly swaps: readonly (readonly [number, number])[];
}

function composeSwaps(
  watch: MemberWatch,
  watchPosition: WatchPosition,
  { ends, cause, decision, order, swaps }: FastChangesInput,
): Composition | undefined {
  if (swaps.length === 0) return undefined;
  const { held, weights } = ends.held;
  const leavingColumns = swaps.map(([column]) => column);
  const entries = swaps.map(([column, other]): EnteringSecurity => ({
    column: other,
    replaced: weights[held.indexOf(column)]!,
  }));
  const earlier = findCompositionInForce(watch.known, watchPosition.session);
  const results = swaps.map(([left, entered]): ConstituentSwap => {
    const leaverRank = findRank(order, left);
    return {
      rule: cause,
      entered,
      left,
      decision,
      ranked: decision,
      rank: findRank(order, entered),
      leftRank: Number.isFinite(leaverRank) ? leaverRank : null,
    };
  });
  const composition = composeEntering({
    ...weighEntrants(watch, watchPosition, ends),
    cause,
    decision,
    leaving: leavingColumns,
    entries,
    swaps: earlier?.session === watchPosition.session ? [...(earlier.swaps ?? []), ...results] : results,
  });
  // Only one composition can take effect at a close, so it includes earlier entries at this close.
  if (earlier?.session !== watchPosition.session) return composition;
  return { ...composition, entered: composition.entered! * (earlier.entered ?? 1) };
}

/**
 * Number of sessions simulated at a time. After a change of constituents, at most this many sessions are simulated
 * again.
 */
const SPAN_SESSIONS = 64;

/** Returns true if constituents of an index may change between its reviews. */
export function hasMemberChanges(composer: Composer, indexId: string): boolean {
  const document = composer.document(indexId);
  return document.pipeline !== null && listDatedTexts(document).some((text) => changesMembers(text.document.events));
}

/**
 * Decides the rebalances of a schedule and the changes of constituents between them: replacements at the close at which
 * a constituent left, removals by rank, and additions of new securities. Each change is a separate composition, decided
 * on data up to its session.
 * @cost O(T H), plus SPAN_SESSIONS for each change
 */
export function decideWithChanges(composer: Composer, input: WatchInput): Pick<Compositions, 'list' | 'findings'> {
  const watches = createWatches(composer, input);
  const watch = watches[0]!; // every index has a first version
  const { due, known, last, tick } = watch;
  const document = composer.document(input.indexId);
  let watchedBooks: WatchedBooks = { at: input.first - 1, book: null, uncapped: null, unit: null };
  let position = 0;
  while (watchedBooks.at < last) {
    tick?.((watchedBooks.at - input.first + 1) / (last - input.first + 1));
    const next = due[position];
    const followed = next === undefined ? Infinity : findFollowedSession(document, next);
    if (next !== undefined && followed <= watchedBooks.at + 1) {
      decideRebalance(watches[next.amendment ?? 0]!, next, watchedBooks);
      position++;
      continue;
    }
    const to = Math.min(watchedBooks.at + SPAN_SESSIONS, followed - 1, last);
    watchedBooks = searchSpan(watches, watchedBooks, to);
  }
  return { list: known, findings: watch.findings };
}

/**
 * Creates one search for changes of constituents per version of an index definition. All share one list of
 * compositions.
 */
function createWatches(composer: Composer, input: WatchInput): MemberWatch[] {
  const sharedState = { known: [], findings: [] };
  return listDatedTexts(composer.document(input.indexId)).map((text) =>
    createWatch(composer, { ...input, ...sharedState, text }),
  );
}

interface WatchedTextInput extends WatchInput, Pick<MemberWatch, 'known' | 'findings'> {
  readonly text: IndexText;
}

export function createWatch(wholeComposer: Composer, { text, ...input }: WatchedTextInput): MemberWatch {
  const { document, position } = text;
  const composer = wholeComposer.under(input.indexId, position);
  const sm = composer.market(input.indexId);
  const { events = EventsSpec.parse({}) } = document;
  const { pool } = wholeComposer.decider(input.indexId, { amendment: position });
  if (pool === undefined) throw new Error(`${input.indexId} changes at reviews alone`);
  const { fast_exit: exit, fast_entry: entry } = events;
  const span = { first: input.first, after: input.first, last: input.last };
  return {
    ...input,
    whole: wholeComposer,
    composer,
    document,
    events,
    sm,
    pool,
    exits: exit === undefined ? [] : listDueAfter({ ...removeReviews(document), rebalance: exit.schedule }, sm, span),
    entries: entry === undefined ? new Map() : groupNewSecurities(sm, { ...input, after: entry.after_sessions }),
  };
}

/** Returns the document without reviews other than `rebalance`. */
export const removeReviews = ({ reviews: _reviews, ...document }: IndexDocument): IndexDocument => document;

/**
 * Returns securities with their first price after the first session of an index, grouped by the session on which they
 * are ranked.
 */
function groupNewSecurities(
  sm: SessionMarket,
  { first, last, after }: { readonly first: number; readonly last: number; readonly after: number },
): Map<number, readonly number[]> {
  const results = new Map<number, number[]>();
  for (let session = Math.max(first, sm.first) + 1; session + after <= last; session++) {
    const row = readPanelRow(sm, session);
    for (let column = 0; column < sm.securityCount; column++) {
      if (sm.lastBar[row + column] !== session || sm.lastBar[row - sm.securityCount + column]! >= 0) continue;
      results.set(session + after, [...(results.get(session + after) ?? []), column]);
    }
  }
  return results;
}

function decideRebalance(watch: MemberWatch, rebalance: DueRebalance, watchedBooks: WatchedBooks): void {
  const { composer, indexId, known, findings } = watch;
  const { decision: session } = rebalance;
  const keepsMembers = findDecider(composer.document(indexId), { ...rebalance, amendment: 0 }).scope !== 'membership';
  const warnings: Finding[] = [];
  if (keepsMembers && watchedBooks.at + 1 === session && known.length > 0) {
    // Constituents that left at the close of the reference date are replaced before weights are computed.
    const composition = replaceLeavers(
      { ...watch, findings: warnings },
      { standing: watchedBooks, book: simulateWatchedBook(watch, watchedBooks, session), session },
    );
    if (composition !== undefined) insertComposition(known, composition);
  }
  const decidedRebalance = decideRebalanceOn(watch.whole, { indexId, rebalance, known });
  // Without a composition on the session, the search of that session repeats the warnings.
  const compositions = [findCompositionInForce(known, session), decidedRebalance.composition];
  if (compositions.some((composition) => composition?.session === session)) findings.push(...warnings);
  findings.push(...decidedRebalance.findings);
  if (decidedRebalance.composition) insertComposition(known, refillIndex(watch, decidedRebalance.composition));
}

/**
 * Adds replacements to the composition of a review for constituents that left after its decision, before its index
 * shares took effect.
 */
export function refillIndex(watch: MemberWatch, composition: Composition): Composition {
  const { events, composer, indexId, pool, sm, findings } = watch;
  const { targets, columns, weights, session, ranking = new Int32Array(0) } = composition;
  const missingCount = countMissing(composition, events);
  if (targets === undefined || events.replacement === 'none' || missingCount === 0) return composition;
  const departedConstituents = Array.from(targets.columns, (column, k): DepartedConstituent => ({
    column,
    weight: targets.weights[k]!,
  }))
    .filter(({ column }) => !columns.includes(column))
    .slice(0, missingCount);
  const result = listReplacementCandidates(
    { composer, indexId, pool, session, staying: columns, ranking, wanted: missingCount },
    events,
  );
  if (result.length < departedConstituents.length)
    findings.push(warnOfMissingReplacement(sm, session, departedConstituents.slice(result.length)));
  if (result.length === 0) return composition;
  const remainingWeight = 1 - departedConstituents.reduce((sum, { weight }) => sum + weight, 0);
  const compositionWithEntrants = composeEntering({
    composer,
    indexId,
    pool: findWeighing(watch, composition).pool,
    session,
    decision: composition.decision,
    cause: 'replacement',
    before: composition,
    held: {
      held: columns,
      weights,
      units: composition.fixedShares ?? weights,
      ...(composition.counts ? { counts: { ...composition.counts, columns } } : {}),
    },
    uncapped: { held: columns, weights: composition.uncapped },
    leaving: [],
    entries: result.map(({ column }, k): EnteringSecurity => ({
      column,
      replaced: departedConstituents[k]!.weight / remainingWeight,
    })),
    swaps: chooseReplacements({
      rule: events.replacement,
      before: composition,
      decision: session,
      found: result,
      left: departedConstituents.map(({ column }) => column),
    }),
    worth: composition.worth ?? null,
  });
  const { cause: _, entered: __, ...review } = compositionWithEntrants;
  return {
    ...composition,
    ...review,
    date: composition.date,
    also: composition.also,
    announced: composition.announced,
  };
}

/** Returns the number of securities that left after a review was decided, and that replacements follow. */
export function countMissing({ targets, columns, transition }: Composition, events: EventsSpec | undefined): number {
  if (targets === undefined || transition !== undefined || (events?.replacement ?? 'none') === 'none') return 0;
  return Math.max(0, targets.columns.length - columns.length);
}

function insertComposition(compositions: Composition[], composition: Composition): void {
  const position = compositions.findLastIndex(({ session }) => session <= composition.session);
  const isSame = compositions[position]?.session === composition.session;
  compositions.splice(isSame ? position : position + 1, isSame ? 1 : 0, composition);
  updatePhases(compositions, isSame ? position : position + 1);
}

/**
 * Searches the sessions of a span for changes. Each change is searched on the book that includes the earlier changes.
 */
function searchSpan(under: readonly MemberWatch[], watchedBooks: WatchedBooks, to: number): WatchedBooks {
  const first = under[0]!;
  let book = simulateWatchedBook(first, watchedBooks, to);
  for (let session = watchedBooks.at + 1; session <= to; session++) {
    const watch = under[findCompositionInForce(first.known.filter(isReview), session)?.amendment ?? 0]!;
    for (const applyChange of MEMBER_CHANGES) {
      const composition = applyChange(watch, { standing: watchedBooks, book, session });
      if (composition === undefined) continue;
      insertComposition(watch.known, composition);
      book = simulateWatchedBook(watch, watchedBooks, to);
    }
  }
  const uncappedBook = isCapped(first) ? simulateWatchedBook(first, watchedBooks, to, true) : null;
  return {
    at: to,
    book: updateStoredBook(watchedBooks.book, book),
    uncapped: uncappedBook && updateStoredBook(watchedBooks.uncapped, uncappedBook),
    unit: computeMarketValueUnit(first, { standing: watchedBooks, book, session: to }),
  };
}

/** Replaces constituents that left at a close, unless a review takes effect at that close. */
const replaceLeavers: MemberChange = (watch, watchPosition) => {
  const { events, known, composer, indexId, pool, findings, sm } = watch;
  if (events.replacement === 'none' || isInPhase(known, watchPosition.session)) return undefined;
  const before = findCompositionInForce(known, watchPosition.session);
  const event = watchPosition.book.events.find(
    (bookEvent) => bookEvent.at === watchPosition.session - watchPosition.book.from,
  );
  if (before === undefined || event === undefined || before.session === watchPosition.session) return undefined;
  const departedConstituents = listLeavers(watchPosition.book, event, before.columns);
  if (departedConstituents.length === 0) return undefined;
  const ends = readClosingHoldings(watch, watchPosition);
  if (ends.held.held.length === 0) return undefined;
  const { ranking = new Int32Array(0) } = before;
  const request = {
    composer,
    indexId,
    pool,
    session: watchPosition.session,
    staying: ends.held.held,
    ranking,
    wanted: departedConstituents.length,
  };
  const result = listReplacementCandidates(request, events);
  if (result.length < departedConstituents.length)
    findings.push(warnOfMissingReplacement(sm, watchPosition.session, departedConstituents.slice(result.length)));
  const remainingWeight = 1 - event.exits.reduce((sum, { change }) => sum - change, 0);
  const entries = result.map(({ column }, k): EnteringSecurity => ({
    column,
    replaced: departedConstituents[k]!.weight / remainingWeight,
  }));
  if (entries.length === 0) return undefined;
  const swaps = chooseReplacements({
    rule: events.replacement,
    before,
    decision: watchPosition.session,
    found: result,
    left: departedConstituents.map(({ column }) => column),
  });
  return composeEntering({
    ...weighEntrants(watch, watchPosition, ends),
    cause: 'replacement',
    leaving: [],
    entries,
    swaps,
  });
};

interface DepartedConstituent {
  readonly column: number;
  readonly weight: number;
}

/** Returns the constituents that left at a close, at a price or by converting into another constituent. */
function listLeavers({ columns }: Book, { exits, conversions }: BookEvent, members: Int32Array): DepartedConstituent[] {
  const conversionsIntoMembers = conversions.filter(({ into: other }) => members.includes(columns[other]!));
  const left = new Map<number, number>();
  for (const { slot, weight } of conversionsIntoMembers) left.set(columns[slot]!, weight);
  const convertedSlots = new Set(conversions.map(({ slot }) => slot));
  for (const { slot, change } of exits)
    if (!convertedSlots.has(slot)) left.set(columns[slot]!, (left.get(columns[slot]!) ?? 0) - change);
  return [...left].filter(([column]) => members.includes(column)).map(([column, weight]) => ({ column, weight }));
}

function warnOfMissingReplacement(
  sm: SessionMarket,
  session: number,
  departedConstituents: readonly DepartedConstituent[],
): Finding {
  const namesText = departedConstituents.map(({ column }) => sm.identifiers[column]!).join(', ');
  const [finding] = addRebalanceDate(
    [
      {
        severity: 'warning',
        code: 'NO_REPLACEMENT',
        message: `No security was available to replace ${namesText}; the weight was distributed over the other constituents.`,
        path: 'events.replacement',
      },
    ],
    sm.sessions[session]!,
  );
  return finding!;
}

const MEMBER_CHANGES: readonly MemberChange[] = [replaceLeavers, applyFastExit, applyFastEntry];
