import type { Finding } from '../base/findings.js';
import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import type { Calendars } from '../calendars/calendar.js';
import {
  findReview,
  findTextInForce,
  type IndexText,
  isInAnyText,
  listDatedTexts,
  listTextSpans,
  readNotice,
} from '../definition/amendments.js';
import { type BreachRule, createBreachWatch, findBreachRule } from '../definition/compliance.js';
import { changesMembers, DEFAULT_REVIEW } from '../definition/schedule.js';
import {
  type IndexDocument,
  isOverlayDocument,
  listSources,
  type OverlayDocument,
} from '../definition/index-document.js';
import type { ExposureStep } from '../definition/overlay-type.js';
import { CannotResumeError } from '../definition/runs.js';
import { applyStoreDefaults, type DatedTreatment, resolveTreatment } from '../definition/treatment.js';
import type { MarketData, Membership } from '../market/market-data.js';
import { openMarketOn, readPanelRow, type SessionMarket } from '../market/session-market.js';
import type { StoredModel, StoredModels } from '../risk/stored-models.js';
import { alignComposition } from './aligned-books.js';
import type { Book, OutsideMergers, StoredBook } from './book.js';
import {
  composeAsKnown,
  type Composer,
  type Composition,
  type Compositions,
  type Decider,
  type DeciderFactory,
  type DecisionData,
  type DecisionMemory,
  findCompositionInForce,
  findKnownSession,
  isWatched,
  refuseBeforeFirstRebalance,
  type ResumedIndex,
} from './compositions.js';
import { listHoldings, simulateBookUntil, simulateIndexBook, updateStoredBook, type WatchInput } from './index-run.js';
import { countMissing, decideWithChanges, hasMemberChanges } from './member-changes.js';
import { composePending } from './pending-changes.js';
import {
  type DueRebalance,
  findDecider,
  findFollowedSession,
  findSessionWithData,
  hasAnyBar,
  listDueRebalances,
  listDueUnderTexts,
} from './rebalance-dates.js';
import { addComposition, decideRebalanceOn } from './rebalance.js';
import {
  createMembershipReader,
  findIncumbents,
  findOutsideMergers,
  findUniverse,
  listUniverseMembers,
  restoreOnSession,
} from './universe.js';

/** Returns the composer that the decider of one version of an index definition uses. */
function createAmendedComposer(
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

/** Number of sessions simulated at a time. After a breach, at most this many sessions are simulated again. */
const SPAN_SESSIONS = 32;

export type WatchedCompositions = Pick<Compositions, 'list' | 'findings' | 'called'>;

/**
 * Decides the rebalances of a schedule, and the rebalances that breaches of a rule trigger. A breach begins at the
 * close at which drift or a corporate action moves the weights beyond a bound. The composition is decided at that close
 * and takes effect after the lag of the schedule. Two breaches trigger no rebalance: one that a rebalance itself
 * causes, and one that begins while a rebalance is pending.
 * @cost O(T H), and SPAN_SESSIONS more for each breach
 */
function decideWithBreaches(composer: Composer, input: WatchInput): WatchedCompositions {
  const { due, first, last, tick } = input;
  const document = composer.document(input.indexId);
  const compositions: Composition[] = [];
  const findings: Finding[] = [];
  const decideAndRecord = (rebalance: DueRebalance): Composition | undefined => {
    const decidedRebalance = decideRebalanceOn(composer, { indexId: input.indexId, rebalance, known: compositions });
    findings.push(...decidedRebalance.findings);
    const { composition } = decidedRebalance;
    if (composition) addComposition(compositions, composition);
    return composition;
  };
  const state: WatchState = { rule: null, open: new Set(), calledUntil: first };
  let storedBook: StoredBook | null = null;
  let session = first - 1;
  let position = 0;
  while (session < last) {
    tick?.((session - first + 1) / (last - first + 1));
    const next = due[position];
    // decisions are made in session order, because each uses the state of the previous decision
    const followed = next === undefined ? Infinity : findFollowedSession(document, next);
    if (next !== undefined && followed <= session + 1) {
      decideAndRecord(next);
      position++;
      continue;
    }
    const { sm, text, ends } = findTextOnSession(composer, input, session + 1);
    const to = Math.min(session + SPAN_SESSIONS, followed - 1, last, ends);
    const rule = findBreachRule(text.document);
    if (rule?.key !== state.rule?.key) state.open.clear();
    state.rule = rule;
    const span: Span = { stored: storedBook, at: session, to, known: compositions, decide: decideAndRecord, sm, text };
    const book = watchSpan(composer, input, span, state);
    storedBook = updateStoredBook(storedBook, book);
    session = to;
  }
  return { list: compositions, findings, ...(state.called === undefined ? {} : { called: state.called }) };
}

/** Returns the definition in force on a session, and the last session on which it is in force. */
function findTextOnSession(
  composer: Composer,
  { indexId, first }: WatchInput,
  session: number,
): Pick<Span, 'sm' | 'text'> & { readonly ends: number } {
  const sm = composer.market(indexId);
  const document = composer.document(indexId);
  const day = sm.sessions[Math.max(session, first)]!;
  const next = listTextSpans(document, sm.calendar).find(({ after }) => after >= day);
  const ends = next === undefined ? Infinity : findLastAtMost(sm.sessions, next.after);
  return { sm, text: findTextInForce(document, sm.calendar, day), ends };
}

interface WatchState {
  /** Rule that was checked on the previous span. */
  rule: BreachRule | null;
  readonly open: Set<string>;
  /** Effective session of the latest breach-triggered rebalance. */
  calledUntil: number;
  /** Breach-triggered rebalance that takes effect after the last session. */
  called?: Compositions['called'];
}

/** Sessions between two scheduled decisions. A rebalance that was decided earlier may take effect within them. */
interface Span {
  /** State of the book at the close of session `at`; null before the first session. */
  readonly stored: StoredBook | null;
  readonly at: number;
  readonly to: number;
  readonly known: readonly Composition[];
  readonly decide: (rebalance: DueRebalance) => Composition | undefined;
  readonly sm: SessionMarket;
  /** Version of the definition in force on all sessions of the span. */
  readonly text: IndexText;
}

/** Simulates the book of a span, including the rebalances triggered by its breaches. */
function watchSpan(composer: Composer, input: WatchInput, span: Span, state: WatchState): Book {
  const { at, to, decide, sm, text } = span;
  const reviewId = text.document.pipeline?.treatment.breach_review;
  const { rebalance } = findReview(text.document, reviewId).document;
  const reviewMember = reviewId === undefined || reviewId === DEFAULT_REVIEW ? {} : { review: reviewId };
  const { rule } = state;
  let book = simulateBookUntil(composer, { ...input, ...span });
  if (rule === null) return book;
  let from = at + 1;
  for (;;) {
    const breach = findNextBreach(book, { rule, from, to, span, state });
    if (breach === null) return book;
    from = breach + 1;
    const session = findEffectiveSession(sm, breach + rebalance.effective_lag, input.last);
    state.calledUntil = session;
    if (session > input.last) {
      state.called = {
        session: breach,
        effective: findDayAfter(sm, input.last, session - input.last),
        ...reviewMember,
      };
      continue;
    }
    const isScheduled = input.due.some((dueRebalance) => dueRebalance.session === session);
    if (isScheduled) continue;
    const composition = decide({
      date: sm.sessions[session]!,
      also: [],
      session,
      decision: breach,
      announced: session > breach ? sm.sessions[breach]! : null,
      cause: 'breach',
      ...reviewMember,
      ...(text.position === 0 ? {} : { amendment: text.position }),
    });
    if (composition === undefined || session > to) continue;
    book = simulateBookUntil(composer, { ...input, ...span });
    if (session === breach) from = breach; // the rebalance changed the weights at this close
  }
}

/** Returns the first session at or after `earliest` on which any security trades; `last + 1` if there is none. */
function findEffectiveSession(sm: SessionMarket, earliest: number, last: number): number {
  let session = earliest;
  while (session <= last && !hasAnyBar(sm, session)) session++;
  return session;
}

/** Returns the calendar day `count` sessions after a session. Returns null if the calendar ends earlier. */
function findDayAfter({ sessions, calendar }: SessionMarket, session: number, count: number): Day | null {
  return calendar.sessions[findFirstAtLeast(calendar.sessions, sessions[session]!) + count] ?? null;
}

interface BreachSearchSpan {
  readonly rule: BreachRule;
  readonly from: number;
  readonly to: number;
  readonly span: Span;
  readonly state: WatchState;
}

/** Returns the first session at whose close a breach begins that triggers a rebalance. */
function findNextBreach(book: Book, { rule, from, to, span, state }: BreachSearchSpan): number | null {
  const { sm, columns, weights } = book;
  const names = Array.from(columns, (column) => sm.identifiers[column]!);
  const watch = createBreachWatch({ rule, market: sm.market, names, open: state.open });
  const H = columns.length;
  for (let session = from; session <= to; session++) {
    const row = (session - book.from) * H;
    const begins = watch.begins(sm.sessions[session]!, weights.subarray(row, row + H));
    if (begins && session > state.calledUntil && findCompositionInForce(span.known, session)?.session !== session)
      return session;
  }
  return null;
}

interface ComposeInput {
  readonly indexId: string;
  readonly until: Day;
  readonly tick: ((fraction: number) => void) | undefined;
}

function computeCompositions(composer: Composer, { indexId, until, tick }: ComposeInput): Compositions {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  const treatment = composer.treatment(indexId);
  const last = findLastAtMost(sm.sessions, until);
  const first = findFirstPriced(composer, { indexId, until });
  const due = listDueUnderTexts(document, sm, { first, last });
  const decidedCompositions = hasMemberChanges(composer, indexId)
    ? decideWithChanges(composer, { indexId, due, first, last, tick })
    : isWatched(document)
      ? decideWithBreaches(composer, { indexId, due, first, last, tick })
      : decideAll(composer, { indexId, due, before: [], tick });
  const outsideMergers = composer.outsideMergers(indexId);
  return {
    document,
    treatment,
    sm,
    first,
    ...decidedCompositions,
    memory: composer.left(indexId),
    ...(outsideMergers === undefined ? {} : { outside: outsideMergers }),
  };
}

/** Returns the first rebalance of an index, even if it produces no composition. @throws Refusal NO_DATA_IN_RANGE */
export function composeFirstRebalance(
  composer: Composer,
  { indexId, until }: Omit<ComposeInput, 'tick'>,
): DueRebalance {
  const first = findFirstPriced(composer, { indexId, until });
  return listDueRebalances(composer.document(indexId), composer.market(indexId), { first, last: first })[0]!; // the index begins at its first rebalance
}

interface ComposeOnInput {
  readonly indexId: string;
  readonly known: ResumedIndex;
  readonly tick: ((fraction: number) => void) | undefined;
}

function composeOnMarket(
  composer: Composer,
  { indexId, known: { first, before, due, memory }, tick }: ComposeOnInput,
): Compositions {
  const { list, findings } = decideAll(composer, { indexId, due, before, tick });
  const context = {
    document: composer.document(indexId),
    treatment: composer.treatment(indexId),
    sm: composer.market(indexId),
  };
  // Without due rebalances, no decision changes the memory, and `left` would create a decider.
  return {
    ...context,
    first,
    list,
    findings,
    memory: due.length === 0 ? memory : composer.left(indexId),
    outside: composer.outsideMergers(indexId),
  };
}

interface DueInput {
  readonly indexId: string;
  /** Due rebalances, ascending. */
  readonly due: readonly DueRebalance[];
  /** Earlier compositions, including those in force at the decisions. */
  readonly before: readonly Composition[];
  readonly tick?: ((fraction: number) => void) | undefined;
}

/**
 * Decides due rebalances in order, without changes of constituents between reviews.
 * @throws Refusal as `decideRebalanceOn`
 * @throws CannotResumeError if constituents are to be replaced, or if a breach followed a reference date: only a full run
 *   decides such a rebalance
 */
function decideAll(
  composer: Composer,
  { indexId, due, before, tick }: DueInput,
): Pick<Compositions, 'list' | 'findings'> {
  const list: Composition[] = [];
  const compositions = [...before];
  const findings: Finding[] = [];
  due.forEach((rebalance, position) => {
    tick?.(position / due.length);
    // A full run decides the review on its reference date, before the breach of the stored run.
    if (before.some(({ cause, session }) => cause === 'breach' && session >= rebalance.decision))
      throw new CannotResumeError('breach');
    const { composition, findings: decisionFindings } = decideRebalanceOn(composer, {
      indexId,
      rebalance,
      known: compositions,
    });
    findings.push(...decisionFindings);
    if (composition === undefined) return;
    if (needsReplacements(composer, indexId, composition)) throw new CannotResumeError('member_change');
    addComposition(list, composition);
    addComposition(compositions, composition);
  });
  return { list, findings };
}

/** Returns true if securities that left after a review was decided are to be replaced. */
function needsReplacements(composer: Composer, indexId: string, composition: Composition): boolean {
  const document = composer.document(indexId);
  const { events } = listDatedTexts(document)[composition.amendment ?? 0]!.document;
  return document.pipeline !== null && countMissing(composition, events) > 0;
}

/** Returns the first session on or after the base date with a price bar of a universe security. */
function findFirstPriced(composer: Composer, { indexId, until }: Pick<ComposeInput, 'indexId' | 'until'>): number {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  const last = findLastAtMost(sm.sessions, until);
  for (let session = findFirstAtLeast(sm.sessions, parseValidDay(document.base_date)); session <= last; session++) {
    const bars = readPanelRow(sm, session);
    for (const column of composer.universe(indexId, session)) if (sm.lastBar[bars + column] === session) return session;
  }
  const day = formatDay(until);
  const why =
    day < document.base_date
      ? `The base date ${document.base_date} of ${indexId} is after ${day}`
      : `The data contains no price for the universe of ${indexId} from ${document.base_date} to ${day}`;
  throw new Refusal('NO_DATA_IN_RANGE', `${why}.`);
}

/**
 * Composes an overlay: its holdings on the first session and on each rebalance of an underlying index.
 * @throws Refusal NO_DATA_IN_RANGE, and refusals of the underlying indices
 */
function composeOverlay(composer: Composer, document: OverlayDocument, until: Day): Compositions {
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

/** Market data as known at the end of each day. */
export interface DatedMarkets {
  /**
   * Returns the data known at the end of a day. Its securities are the first securities of the latest version, and its
   * first date is the same, so columns and sessions agree.
   * @throws Refusal NO_DATA_KNOWN
   */
  at(day: Day): MarketData;
}

/**
 * Refuses an index with breach-triggered rebalances or changes of constituents between reviews. The session of such a
 * change depends on levels, and levels include every later correction.
 * @throws Refusal LOOK_AHEAD
 */
export function assertScheduled(documents: Readonly<Record<string, IndexDocument>>): void {
  const changingDocument = Object.values(documents).find((document) =>
    isInAnyText(document, ({ events }) => changesMembers(events)),
  );
  if (changingDocument !== undefined) {
    const message = `Constituents of the index ${changingDocument.id} change between reviews. Such changes are found in the current data, so its decisions cannot use only the data known at the time.`;
    throw new Refusal('LOOK_AHEAD', message, { index_id: changingDocument.id });
  }
  const documentWithBreachRule = Object.values(documents).find((document) =>
    isInAnyText(document, (text) => findBreachRule(text) !== null),
  );
  if (documentWithBreachRule === undefined) return;
  const message = `The index ${documentWithBreachRule.id} is rebalanced on breaches of a rule. Breaches are found in the current data, so its decisions cannot use only the data known at the time.`;
  throw new Refusal('LOOK_AHEAD', message, { index_id: documentWithBreachRule.id });
}

/** Data versions on which decisions are made: the data known at each decision. */
export interface DecisionVersions {
  of(indexId: string, session: number): DecisionData;
  /** Returns the decider state after the latest decision of an index. */
  memory(indexId: string): DecisionMemory | null;
}

export interface DecisionVersionsInput {
  /** Composer on the data from which levels are computed. Earlier decisions come from it. */
  readonly composer: Composer;
  readonly known: DatedMarkets;
  readonly calendars: Calendars;
  readonly createDecider: DeciderFactory;
}

/** Composer on the data version for the decisions of one index. */
interface VersionComposer {
  readonly composer: Composer;
  decided: Day;
  /** Last day on or before `decided` with any known price bar. */
  known: Day;
}

/** One version of the data, with one composer for the decisions of each index. */
interface DataVersion {
  readonly market: MarketData;
  seatOf(indexId: string): VersionComposer;
}

/**
 * Creates the data versions for decisions. The state of each decider passes from one version of the data to the next.
 */
function createSeats({ composer, known, calendars, createDecider }: DecisionVersionsInput): DecisionVersions {
  /** Deciders of the latest decisions, by index. */
  const latestDeciders = new Map<string, Decider>();
  let dataVersion: DataVersion | undefined;

  function createDataVersion(market: MarketData): DataVersion {
    const results = new Map<string, VersionComposer>();
    const readMembers = createMembershipReader(market);
    return {
      market,
      // Each index has its own composer, because its decision may depend on another index that is not composed yet on
      // this version.
      seatOf(indexId) {
        const seat = results.get(indexId) ?? createSeat(market, readMembers);
        results.set(indexId, seat);
        return seat;
      },
    };
  }

  function createSeat(market: MarketData, membersOf: ReturnType<typeof createMembershipReader>): VersionComposer {
    const deciders = new Map<string, Decider>();
    const versionComposer: Composer = {
      ...composer,
      market: (indexId) => openMarketOn({ market, calendars, code: composer.document(indexId).calendar }),
      universe: (indexId, session) => findUniverse(versionComposer, membersOf, { indexId, session }),
      members: (indexId, session) => listUniverseMembers(versionComposer, membersOf, { indexId, session }),
      decider(indexId, dueText) {
        const { key, text, document } = findDecider(composer.document(indexId), dueText);
        let decider = deciders.get(key);
        if (!decider)
          deciders.set(
            key,
            (decider = createDecider(document, createAmendedComposer(versionComposer, text, membersOf))),
          );
        latestDeciders.set(indexId, decider);
        return decider;
      },
      decidedOn(indexId, session) {
        const { sessions } = composer.market(indexId);
        // On the last known session the decision day replaces the session. Earlier sessions are unchanged.
        const isLast = session >= findLastAtMost(sessions, seat.known);
        const result = composer.decidedOn(indexId, isLast ? findLastAtMost(sessions, seat.decided) : session);
        return result && { ...result, decision: Math.min(result.decision, session) };
      },
      memory: seats.memory,
      seatOf: (_, session) => ({ composer: versionComposer, session }),
    };
    const seat: VersionComposer = { composer: versionComposer, decided: -Infinity, known: -Infinity };
    return seat;
  }

  const seats: DecisionVersions = {
    of(indexId, decision) {
      const { sessions } = composer.market(indexId);
      const market = known.at(sessions[decision]!);
      if (dataVersion?.market !== market) dataVersion = createDataVersion(market);
      const seat = dataVersion.seatOf(indexId);
      const session = findLastVersion(seat.composer, { indexId, session: decision });
      seat.decided = sessions[decision]!;
      seat.known = sessions[session]!;
      return { composer: seat.composer, session };
    },
    memory: (indexId) => latestDeciders.get(indexId)?.memory?.() ?? composer.memory(indexId),
  };
  return seats;
}

/** Returns the last session at or before the requested session with any known price bar. */
function findLastVersion(
  composer: Composer,
  { indexId, session }: { readonly indexId: string; readonly session: number },
): number {
  const sm = composer.market(indexId);
  let last = Math.min(session, sm.sessions.length - 1);
  while (last > 0 && !hasAnyBar(sm, last)) last--;
  return last;
}

export interface ComposerInput {
  readonly market: MarketData;
  readonly calendars: Calendars;
  /** Documents by id: the index, and every document that it refers to. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  /** Stored risk models that the documents use; absent if there are none. */
  readonly models?: StoredModels | undefined;
  /** Last day with known data. */
  readonly until: Day;
  /** Creates the decider of a document; called once per version of an index definition and per review. */
  readonly createDecider: DeciderFactory;
  /** Aligned markets by calendar. The composer uses them instead of the result of `openMarketOn`. */
  readonly aligned?: ReadonlyMap<string, SessionMarket>;
  /** Known compositions by index; they are not decided again. */
  readonly resumed?: ReadonlyMap<string, ResumedIndex>;
  /** Market as known at each decision. Default: `market`. */
  readonly known?: DatedMarkets | undefined;
  /** Reports progress between decisions; throws to cancel the work. */
  readonly tick?: (fraction: number) => void;
}

export function createComposer({
  market,
  calendars,
  documents,
  models = refuseMissingModel,
  until,
  createDecider,
  aligned: given,
  resumed,
  known,
  tick,
}: ComposerInput): Composer {
  const byId = new Map(Object.entries(documents));
  const deciders = new Map<string, Decider>();
  /** Deciders of the latest decisions, by index. */
  const latestDeciders = new Map<string, Decider>();
  const compositionsById = new Map<string, Compositions>();
  const pendingByKey = new Map<string, readonly Composition[]>();
  const runningIds = new Set<string>();
  /** Compositions before the decision in progress or the latest one, by index that is being composed. */
  const knownById = new Map<string, readonly Composition[]>();
  const outsideMergersById = new Map<string, OutsideMergers | undefined>();
  const treatments = new Map<string, DatedTreatment>();
  const readMembers = createMembershipReader(market);

  const composer: Composer = {
    document(indexId) {
      const document = byId.get(indexId);
      if (!document) throw new Error(`the plan lacks the document ${indexId}`);
      return document;
    },
    market(indexId) {
      const { calendar: code } = composer.document(indexId);
      return given?.get(code) ?? openMarketOn({ market, calendars, code });
    },
    treatment(indexId) {
      const treatment =
        treatments.get(indexId) ??
        applyStoreDefaults(resolveTreatment(composer.document(indexId), composer.document, calendars)!, market);
      treatments.set(indexId, treatment);
      return treatment;
    },
    universe: (indexId, session) => findUniverse(composer, readMembers, { indexId, session }),
    under: (indexId, amendment) =>
      createAmendedComposer(composer, listDatedTexts(composer.document(indexId))[amendment]!, readMembers),
    members: (indexId, session) => listUniverseMembers(composer, readMembers, { indexId, session }),
    outsideMergers(indexId) {
      if (!outsideMergersById.has(indexId)) outsideMergersById.set(indexId, findOutsideMergers(composer, indexId));
      return outsideMergersById.get(indexId);
    },
    decider(indexId, dueText) {
      const { key, text, document } = findDecider(composer.document(indexId), dueText);
      let decider = deciders.get(key);
      if (!decider)
        deciders.set(key, (decider = createDecider(document, createAmendedComposer(composer, text, readMembers))));
      latestDeciders.set(indexId, decider);
      return decider;
    },
    compositions(indexId) {
      let result = compositionsById.get(indexId);
      if (result) return result;
      if (runningIds.has(indexId))
        throw new Refusal(
          'VALIDATION_FAILED',
          `The index ${indexId} refers to itself through its universe or derivation.`,
        );
      runningIds.add(indexId);
      result = composeIndex(indexId);
      runningIds.delete(indexId);
      knownById.delete(indexId);
      compositionsById.set(indexId, result);
      return result;
    },
    decidedOn(indexId, session) {
      const known = [...listKnown(indexId), ...listPending(indexId, session)];
      const composition = known.findLast((one) => findKnownSession(one) <= session);
      return composition && restoreOnSession(composer, { indexId, composition }, session);
    },
    memory: (indexId) => resumed?.get(indexId)?.memory ?? null,
    knownBefore(indexId, session) {
      const pending = listPending(indexId, session);
      const next = pending.findIndex((one) => findKnownSession(one) >= session);
      return [...listKnown(indexId), ...pending.slice(0, next < 0 ? pending.length : next)];
    },
    incumbents: (indexId, session) => findBefore(indexId, composer.knownBefore(indexId, session), session),
    earlierIncumbents: (indexId, session) =>
      findBefore(indexId, knownById.get(indexId) ?? composer.knownBefore(indexId, session), session),
    decideKnowing(indexId, known, decide) {
      knownById.set(indexId, known);
      try {
        return decide();
      } finally {
        // The rules of an index that is composed are also applied between reviews.
        if (!runningIds.has(indexId)) knownById.delete(indexId);
      }
    },
    riskModel: models,
    composed: () => [...compositionsById.values()],
    seatOf: (indexId, session) => seats?.of(indexId, session) ?? { composer, session },
    left: (indexId) =>
      seats ? seats.memory(indexId) : ((latestDeciders.get(indexId) ?? composer.decider(indexId)).memory?.() ?? null),
  };
  const findBefore = (indexId: string, compositions: readonly Composition[], session: number): Int32Array | null => {
    const known = compositions.filter((one) => one.session < session || findKnownSession(one) < session);
    return findIncumbents(composer, { indexId, known }, session);
  };
  const listKnown = (indexId: string): readonly Composition[] => {
    const { list } = composer.compositions(indexId);
    return [...(resumed?.get(indexId)?.before ?? []), ...list];
  };
  const listPending = (indexId: string, session: number): readonly Composition[] => {
    const { sm, overlay } = composer.compositions(indexId);
    const last = findLastAtMost(sm.sessions, until);
    // Only decisions within the longest notice period before the last session can be pending.
    if (overlay !== undefined || session < last - readLongestNotice(composer.document(indexId))) return [];
    const key = `${indexId} ${session}`;
    const pending =
      pendingByKey.get(key) ??
      composePending(composer, { indexId, last, decided: Math.min(session, last), known: listKnown(indexId) });
    pendingByKey.set(key, pending);
    return pending;
  };
  const seats = known && createSeats({ composer, known, calendars, createDecider });
  const composeIndex = (indexId: string): Compositions => {
    const document = composer.document(indexId);
    if (isOverlayDocument(document)) return composeOverlay(composer, document, until);
    const resumedIndex = resumed?.get(indexId);
    return resumedIndex === undefined
      ? computeCompositions(composer, { indexId, until, tick })
      : composeOnMarket(composer, { indexId, known: resumedIndex, tick });
  };
  return composer;
}

function refuseMissingModel(modelId: string): StoredModel {
  throw new Error(`the plan lacks the risk model ${modelId}`);
}

const readLongestNotice = (document: IndexDocument): number =>
  Math.max(...listDatedTexts(document).map((text) => readNotice(text.document)));

/** Securities that an overlay holds through its underlying indices after the close of a session. */
export interface OverlayPreview {
  readonly document: OverlayDocument;
  readonly sm: SessionMarket;
  readonly session: number;
  /** Market columns, ascending. */
  readonly columns: Int32Array;
  /** Weights in the overlay; 1 less the sum is cash, negative if borrowed. */
  readonly weights: Float64Array;
  /** Derivation of the exposure; absent if the overlay has no target exposure. */
  readonly exposure?: ExposureStep;
}

/**
 * Computes the holdings of an overlay on a day.
 * @throws Refusal NO_DATA_AT_DATE before the overlay begins, and refusals of the underlying indices
 */
export function previewOverlay(composer: Composer, document: OverlayDocument, asOf: Day): OverlayPreview {
  const compositions = composeAsKnown(composer, document.id);
  const sm = composer.market(document.id);
  const session = findSessionWithData(sm, asOf);
  if (compositions === undefined || session < compositions.first)
    throw refuseBeforeFirstRebalance(`The overlay ${document.id}`, document, asOf);
  const book = compositions.overlay!.book!; // an overlay document is composed as an overlay
  const exposure = book.overlay?.explain?.(session - book.from);
  return { document, sm, session, ...listHoldings(book, session), ...(exposure ? { exposure } : {}) };
}

export interface FirstOverlayPreview {
  /** Creates a composer without data after a day. */
  readonly composerUntil: (until: Day) => Composer;
  readonly document: OverlayDocument;
}

/**
 * Number of days after the base date in which the first session is searched. Each further attempt covers four times as
 * many days.
 */
const FIRST_SPAN = 14;

/**
 * Computes the holdings on the first session: the base date, or the first later session with prices of all underlying
 * indices.
 */
export function previewOverlayOnFirstSession({ composerUntil, document }: FirstOverlayPreview): OverlayPreview {
  const begin = composerUntil(0);
  const last = begin.market(document.id).market.dates.at(-1) ?? 0;
  const bases = [document, ...listSources(document).map((id) => begin.document(id))].map((of) =>
    parseValidDay(of.base_date),
  );
  for (let span = FIRST_SPAN; ; span *= 4) {
    const endDay = Math.min(Math.max(...bases) + span, last);
    const composer = composerUntil(endDay);
    const compositions = composeAsKnown(composer, document.id);
    if (compositions !== undefined)
      return previewOverlay(composer, document, compositions.sm.sessions[compositions.first]!);
    if (endDay === last) throw refuseBeforeFirstRebalance(`The overlay ${document.id}`, document, last);
  }
}
