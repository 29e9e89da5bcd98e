import { referenceEngine } from '#kernels/engines/reference.js';
import { findLastAtMost } from '../base/numbers.js';
import type { Day } from '../base/time.js';
import { alignBook, alignComposition } from '../books/aligned-books.js';
import { createSeriesBenchmark } from '../books/benchmark.js';
import {
  type Book,
  type BookInput,
  type BookOverlay,
  createBookResume,
  type LevelsOnlyEnd,
  type StoredBook,
  type Targets,
} from '../books/book.js';
import { createComposer, listHeldCompositions } from '../books/composer.js';
import {
  type Composer,
  type Composition,
  type Compositions,
  type DecisionMemory,
  findCompositionInForce,
  type ResumedIndex,
} from '../books/compositions.js';
import { createIndexTargets, createIndexTerms, findHeldLevel, publishesPriceReturn } from '../books/index-run.js';
import { computeOverlayPath, createPathBook, findValuationCurrency, readShares } from '../books/overlay-book.js';
import { followBook, resumeOverlayPortfolio } from '../books/portfolios.js';
import {
  checkRequestedRange,
  type DueRebalance,
  listDueAfter,
  listDueAfterUnderTexts,
  type RequestedRange,
} from '../books/rebalance-dates.js';
import { createBookRounding, createShareChangeTerms } from '../books/state.js';
import { simulateBook } from '../books/step.js';
import { listDriftedIndices } from '../datapoints/expression-checks.js';
import { computeLookBack, type LookBack } from '../decide/rule-decider.js';
import { findReview, isInAnyText, listDatedTexts } from '../definition/amendments.js';
import type { BacktestPlan } from '../definition/backtest-plan.js';
import { type BreachRule, createBreachWatch, findBreachRule } from '../definition/compliance.js';
import { changesMembers, type EventsSpec } from '../definition/schedule.js';
import { listReadFields } from '../definition/field-uses.js';
import {
  type DerivedDocument,
  type IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
  isRuleDocument,
  listSources,
  readDefinitions,
  type RuleDocument,
} from '../definition/index-document.js';
import type { OverlayPath } from '../definition/overlay-type.js';
import { findOverlayType } from '../definition/overlays.js';
import { bindPipeline, listReads } from '../definition/rule-pipeline.js';
import { CannotResumeError } from '../definition/runs.js';
import {
  applyStoreDefaults,
  findTreatment,
  readDefaultStaleSessions,
  readPriceSessions,
} from '../definition/treatment.js';
import { type MarketData, RETURN_VARIANTS, type ReturnVariant } from '../market/market-data.js';
import {
  alignMarkedMarket,
  BeforeMarketError,
  markWindow,
  readPanelRow,
  type SessionMarket,
} from '../market/session-market.js';
import { computeDerivedLookBack } from '../optimisation/derived-index.js';
import {
  type Continuation,
  type ResumeContext,
  type IndexContinuation,
  readTreatment,
  type ResumeRunInput,
  type SimulatedIndex,
} from './checkpoint.js';
import { isPublishedBook } from './plan.js';
import { findLastPriced } from './run-backtest.js';
import {
  appendShares,
  isStoredOverlay,
  joinGrowth,
  selectOrdersBefore,
  type StoredLayer,
  type StoredOverlay,
} from './run.js';
import {
  type ConstrainedRebalances,
  constrainRebalances,
  createConstrainedDocument,
  findTolerance,
  hasOwnRebalances,
  selectLaterRebalances,
} from './strategies.js';

interface DueInput {
  /** Market from the last simulated sessions on, by calendar code. */
  readonly marked: ReadonlyMap<string, SessionMarket>;
  readonly resumed: ReadonlyMap<string, ResumedIndex>;
  readonly day: Day;
}

/** Decides the due rebalances of all indices. Returns the compositions by index id; empty if no rebalance is due. */
function decideDue(input: ResumeRunInput, due: DueInput): ReadonlyMap<string, Compositions> {
  const ids = [...due.resumed.keys()];
  if ([...due.resumed.values()].every((index) => index.due.length === 0)) return new Map();
  return composeWithinLookBack(input, due, {
    looks: listLooks(input, due),
    work: (composer) => new Map(ids.map((id) => [id, composer.compositions(id)])),
  });
}

interface CalendarLookBack {
  readonly code: string;
  readonly lookBack: LookBack;
}

function listLooks({ plan: { documents } }: ResumeRunInput, { marked, resumed }: DueInput): CalendarLookBack[] {
  return [...resumed].flatMap(([id, { due, memory, before }]) =>
    due.flatMap((rebalance): CalendarLookBack[] => {
      const { decision } = rebalance;
      const { document } = listDatedTexts(documents[id]!)[rebalance.amendment ?? 0]!;
      const sm = marked.get(document.calendar)!;
      const holdingLooks = [
        ...listHoldingsLookBack(document, rebalance, { sessions: sm.sessions, before }),
        ...listDriftedLookBack(findReview(document, rebalance.review).document, { documents, marked, resumed }),
      ];
      if (isRuleDocument(document)) {
        const reviewDocument = findReview(document, rebalance.review).document as RuleDocument; // only a review of a rule-based index has rules
        const reviewLook = {
          code: document.calendar,
          lookBack: computeLookBack({ document: reviewDocument, sm, decision }),
        };
        return [reviewLook, ...holdingLooks];
      }
      if (!isDerivedDocument(document)) return [];
      const { source_index_id: parentId } = document.derivation;
      const parents = resumed.get(parentId)!.before;
      return [computeSolveLook({ documents, marked, document, decision, parents, memory }), ...holdingLooks];
    }),
  );
}

interface HoldingsLookBackInput extends Pick<ResumedIndex, 'before'> {
  readonly sessions: Int32Array;
}

/**
 * Returns the look-back of a rebalance that depends on the holdings of its index. The look-back begins at the
 * composition in force. Returns an empty list for all other rebalances.
 */
function listHoldingsLookBack(
  document: IndexDocument,
  rebalance: DueRebalance,
  { sessions, before }: HoldingsLookBackInput,
): CalendarLookBack[] {
  const latestComposition = before.at(-1);
  const isPlain = rebalance.phase === undefined && findReview(document, rebalance.review).scope === 'membership';
  if (isPlain || latestComposition === undefined) return [];
  const { session } = latestComposition;
  return [{ code: document.calendar, lookBack: { session, paidAfter: sessions[session]! - 1 } }];
}

/**
 * Returns the look-back of the weights after a close that a definition reads in other indices. It begins at the earliest
 * composition that the checkpoint keeps for this purpose.
 */
function listDriftedLookBack(
  document: IndexDocument,
  { documents, marked, resumed }: Pick<DueInput, 'marked' | 'resumed'> & Pick<BacktestPlan, 'documents'>,
): CalendarLookBack[] {
  const definitions = readDefinitions(document);
  const reads = [
    ...(isRuleDocument(document) ? listReads(bindPipeline(document)) : []),
    ...(isDerivedDocument(document) ? listReadFields(document.derivation) : []),
  ];
  const driftedIds = reads.flatMap(({ use }) => listDriftedIndices(use.field, definitions));
  return [...new Set(driftedIds)].flatMap((id) => {
    const session = resumed.get(id)?.before[0]?.session;
    const { calendar: code } = documents[id]!;
    if (session === undefined) return [];
    return [{ code, lookBack: { session, paidAfter: marked.get(code)!.sessions[session]! - 1 } }];
  });
}

interface SolverLookBackInput extends Pick<DueInput, 'marked'>, Pick<BacktestPlan, 'documents'> {
  readonly document: DerivedDocument;
  readonly decision: number;
  readonly parents: readonly Pick<Composition, 'decision'>[];
  readonly memory: DecisionMemory | null;
}

/** Returns the look-back of an optimisation, on the calendar of its target index. */
function computeSolveLook({ documents, marked, document, ...solve }: SolverLookBackInput): CalendarLookBack {
  const { source_index_id: parentId } = document.derivation;
  const { calendar: code } = documents[parentId]!;
  const maxStaleSessions = readPriceSessions(readTreatment(documents, parentId));
  return {
    code,
    lookBack: computeDerivedLookBack({ ...solve, document, maxStaleSessions, sessions: marked.get(code)!.sessions }),
  };
}

interface ComposingWork<T> {
  readonly looks: readonly CalendarLookBack[];
  readonly work: (composer: Composer) => T;
}

/** Runs `work` on the market within the look-back, or on the whole market if `work` reads earlier data. */
function composeWithinLookBack<T>(
  input: ResumeRunInput,
  { marked, resumed, day }: DueInput,
  { looks, work }: ComposingWork<T>,
): T {
  const {
    plan: { documents },
    calendars,
    models,
    createDecider,
    report,
  } = input;
  const runOnMarket = (market: MarketData, aligned?: ReadonlyMap<string, SessionMarket>): T => {
    const reportFraction = (fraction: number): void => report(0.2 * fraction, 'deciding compositions');
    return work(
      createComposer({
        market,
        calendars,
        documents,
        models,
        until: day,
        createDecider,
        resumed,
        tick: reportFraction,
        ...(aligned ? { aligned } : {}),
      }),
    );
  };
  const lookBackMarket = selectMarketInLookBack(input, { marked, looks });
  if (lookBackMarket !== null) {
    try {
      return runOnMarket(lookBackMarket.market, lookBackMarket.aligned);
    } catch (error) {
      if (!(error instanceof BeforeMarketError)) throw error;
    }
  }
  return runOnMarket(input.wholeMarket());
}

/** Returns the market from the start of the look-backs. Returns null if that is the whole market. */
function selectMarketInLookBack(
  { calendars, checkpoint, marketSince }: ResumeRunInput,
  { marked, looks }: Pick<DueInput, 'marked'> & { readonly looks: readonly CalendarLookBack[] },
) {
  const first = new Map<string, number>();
  for (const {
    code,
    lookBack: { session },
  } of looks)
    first.set(code, Math.min(first.get(code) ?? marked.get(code)!.mark!.session, session));
  if ([...first.values()].some((session) => session <= 0)) return null;
  const market = marketSince(Math.min(...looks.map(({ lookBack }) => lookBack.paidAfter)));
  const alignedMarkets = new Map(marked);
  for (const [code, session] of first) {
    const calendar = calendars.get(code)!; // every aligned market has a calendar
    alignedMarkets.set(
      code,
      alignMarkedMarket({
        market,
        calendar,
        calendars,
        mark: markWindow({ market, calendar, session, later: checkpoint.marks.get(code)! }),
      }),
    );
  }
  return { market, aligned: alignedMarkets };
}

/** Market from the last simulated sessions of a run's indices, and the decisions made on it. */
interface MarketView {
  readonly range: RequestedRange;
  contextOf(indexId: string): ResumeContext;
  spanOf(indexId: string): Span;
  decided(indexId: string): Pick<IndexContinuation, 'composed' | 'findings'>;
  /**
   * Runs `work` with a composer on the market within the look-back. If `work` reads earlier data, runs it again on the
   * whole market.
   */
  composing<T>(looks: readonly CalendarLookBack[], work: (composer: Composer) => T): T;
  /** Every index on which the run depends, with its decisions. */
  readonly reached: readonly SimulatedIndex[];
}

/** Sessions of an index extension: last simulated session and last new session. */
interface Span {
  readonly from: number;
  readonly to: number;
}

function createMarketView(input: ResumeRunInput): MarketView {
  const {
    plan: { documents, indexId, request },
    checkpoint,
    market,
  } = input;
  const ids = [...checkpoint.recent.keys()];
  const isByStore = ids.some((id) =>
    isInAnyText(documents[id]!, ({ pipeline }) => pipeline?.treatment.max_stale_sessions === undefined),
  );
  if (isByStore && readDefaultStaleSessions(market) !== checkpoint.staleSessions)
    throw new CannotResumeError('default_changed');
  const markedMarkets = listMarkedMarkets(input);
  const findSessionMarket = (id: string) => markedMarkets.get(documents[id]!.calendar)!;
  const main = findSessionMarket(indexId);
  const range = checkRequestedRange({
    document: documents[indexId]!,
    calendar: main.calendar,
    dates: market.dates,
    request,
  });
  const from = main.mark!.session;
  const last = findLastAtMost(main.sessions, range.end);
  const to = last <= from ? from : findLastPriced(main, last);
  if (to <= from) throw new CannotResumeError('no_new_session');
  const day = main.sessions[to]!;
  const computeSpan = (id: string): Span => ({
    from: findSessionMarket(id).mark!.session,
    to: findLastAtMost(findSessionMarket(id).sessions, day),
  });
  const resumedIndices = new Map(
    ids.map((id) => {
      const { first, list, memory } = checkpoint.recent.get(id)!;
      return [
        id,
        {
          first,
          before: list,
          memory,
          due: listDueRebalances(documents[id]!, findSessionMarket(id), { first, ...computeSpan(id) }),
        },
      ];
    }),
  );
  const due: DueInput = { marked: markedMarkets, resumed: resumedIndices, day };
  const compositionsById = decideDue(input, due);
  return {
    range,
    spanOf: computeSpan,
    composing: (looks, work) => composeWithinLookBack(input, due, { looks, work }),
    contextOf(id) {
      const document = documents[id]!;
      const outsideMergers = isInAnyText(document, ({ events }) => events?.acquirer === 'remove')
        ? composeWithinLookBack(input, due, { looks: [], work: (composer) => composer.outsideMergers(id) })
        : undefined;
      return {
        document,
        treatment: applyStoreDefaults(readTreatment(documents, id, input.calendars), market),
        sm: findSessionMarket(id),
        outside: outsideMergers,
      };
    },
    decided(id) {
      const entry = compositionsById.get(id);
      return entry === undefined ? NO_DECISIONS : { composed: entry.list, findings: entry.findings };
    },
    reached: ids.map((id) => {
      const { first, before, memory } = resumedIndices.get(id)!;
      const result = compositionsById.get(id) ?? { list: [], memory };
      return {
        document: documents[id]!,
        sm: findSessionMarket(id),
        first,
        list: [...before, ...result.list],
        memory: result.memory,
        to: computeSpan(id).to,
      };
    }),
  };
}

function listMarkedMarkets({ checkpoint, calendars, market }: ResumeRunInput): ReadonlyMap<string, SessionMarket> {
  return new Map(
    Array.from(checkpoint.marks, ([code, mark]) => {
      // plans with an unknown calendar are not queued
      const calendar = calendars.get(code)!;
      return [code, alignMarkedMarket({ market, calendar, calendars, mark })];
    }),
  );
}

const NO_DECISIONS: Pick<IndexContinuation, 'composed' | 'findings'> = { composed: [], findings: [] };

/**
 * Returns the rebalances that are due on the new sessions.
 * @throws CannotResumeError if nothing traded on a due session, so that the rebalance is priced from a session that was
 * simulated before
 */
function listDueRebalances(
  document: IndexDocument,
  sm: SessionMarket,
  { first, from, to }: Span & { readonly first: number },
): DueRebalance[] {
  const due =
    to === from ? [] : listDueAfterUnderTexts(document, sm, { first: Math.max(first, from), after: from, last: to });
  if (due.some(({ session }) => session <= from)) throw new CannotResumeError('rebalance');
  return due;
}

/**
 * Checks that no breach occurs on the new sessions of an index with breach-triggered rebalances. After a breach, the
 * run cannot be extended, because the decision needs the whole market. Checks every version of the definition.
 * @throws CannotResumeError if a breach occurs, if a triggered rebalance is pending, or if the index was not simulated
 */
function assertNoBreach(
  { plan: { documents }, checkpoint: { recent } }: ResumeRunInput,
  simulated: readonly IndexContinuation[],
): void {
  for (const [id, { isCalled }] of recent) {
    const index = simulated.find((indexContinuation) => indexContinuation.document.id === id);
    for (const { document } of listDatedTexts(documents[id]!)) {
      const rule = findBreachRule(document);
      if (rule === null) continue;
      const isUnknown = isCalled || index === undefined || publishesPriceReturn(index); // the book that decides is not resumed
      if (isUnknown || isBreached(index, rule)) throw new CannotResumeError('breach');
    }
  }
}

/** Returns true if a breach begins on the new sessions. A breach that a rebalance itself causes does not count. */
function isBreached({ book, composed }: IndexContinuation, rule: BreachRule): boolean {
  const { sm, from, length, columns, weights } = book;
  const names = Array.from(columns, (column) => sm.identifiers[column]!);
  const watch = createBreachWatch({ rule, market: sm.market, names, open: new Set() });
  const rebalanceSessions = new Set(composed.map(({ session }) => session));
  for (let position = 0; position < length; position++) {
    const row = weights.subarray(position * columns.length, (position + 1) * columns.length);
    const begins = watch.begins(sm.sessions[from + position]!, row);
    if (position > 0 && begins && !rebalanceSessions.has(from + position)) return true;
  }
  return false;
}

/**
 * Checks that no constituent changes between reviews on the new sessions. After such a change, the run cannot be
 * extended, because the selection of a new constituent compares all securities of the market.
 * @throws CannotResumeError if a constituent may change, or if the index was not simulated
 */
function assertNoMemberChange(
  { plan: { documents }, checkpoint: { recent } }: ResumeRunInput,
  simulated: readonly IndexContinuation[],
): void {
  for (const [id, { list }] of recent) {
    const eventSpecs = listDatedTexts(documents[id]!).map(({ document }) => document.events);
    const eventsOfChanges = eventSpecs.filter(changesMembers);
    if (eventsOfChanges.length === 0) continue;
    const index = simulated.find((indexContinuation) => indexContinuation.document.id === id);
    if (index === undefined || eventsOfChanges.some((events) => mayChange(index, events, list)))
      throw new CannotResumeError('member_change');
  }
}

/** @param known compositions of the stored run */
function mayChange(index: IndexContinuation, events: EventsSpec, known: readonly Composition[]): boolean {
  const { document, sm, from, to, composed, book } = index;
  const { replacement, fast_exit: exit, fast_entry: entry } = events;
  const hasLeft = book.events.some(({ at, exits, conversions }) => at > 0 && exits.length + conversions.length > 0);
  if (replacement !== 'none' && (hasLeft || composed.some((composition) => keepsMissing(index, composition))))
    return true;
  if (exit !== undefined) {
    const scheduledDocument = { ...document, rebalance: exit.schedule };
    if (listDueAfter(scheduledDocument, sm, { first: book.from, after: from, last: to }).length > 0) return true;
  }
  if (entry === undefined) return false;
  // New securities that are ranked during a phase wait for its end.
  const current = findCompositionInForce(known, from);
  const isInPhase = current?.phase !== undefined && (current.transition !== undefined || current.session === from);
  return isInPhase || hasNewSecurity(index, from - entry.after_sessions);
}

/**
 * Returns true if a review that keeps the constituents also keeps one without a price that leaves at its close. A full
 * run replaces this constituent before the review.
 */
function keepsMissing(
  { document, sm, treatment }: IndexContinuation,
  { session, columns, reviews = [], amendment = 0 }: Composition,
): boolean {
  const text = listDatedTexts(document)[amendment]!.document;
  const isExcluding = findTreatment(treatment, sm.sessions[session]!).missing_prices === 'exclude';
  if (!isExcluding || reviews.every((id) => findReview(text, id).scope === 'membership')) return false;
  return columns.some((column) => !sm.hasBar(session, column) && sm.isOpen(session, column));
}

function hasNewSecurity({ sm, to }: IndexContinuation, session: number): boolean {
  const bars = readPanelRow(sm, to);
  const isOld = (column: number): boolean => {
    for (let s = session; s >= 0; s--) if (!Number.isNaN(sm.closeAt(s, column))) return true;
    return false;
  };
  for (let column = 0; column < sm.securityCount; column++)
    if (sm.lastBar[bars + column]! > session && !isOld(column)) return true;
  return false;
}

interface ResumeBook {
  readonly stored: StoredBook;
  /** Return variant. Default: that of the index. */
  readonly variant?: ReturnVariant;
  /** True to compute only levels. */
  readonly isBrief: boolean;
  /** True to simulate the index without caps. */
  readonly isUncapped?: boolean;
}

/** Resumes the book of an index with the terms with which `simulateIndexBook` began it. */
function resumeBook(
  index: Omit<IndexContinuation, 'book'>,
  { stored, variant, isBrief, isUncapped = false }: ResumeBook,
): Book {
  const { sm, treatment, document, composed, from, to } = index;
  return simulateBook({
    title: `The index ${document.id}`,
    sm,
    treatment,
    from,
    to,
    growth: createIndexTerms(index, variant),
    isBrief,
    targets: composed
      .filter(({ session }) => session <= to)
      .map((composition) => createIndexTargets(composition, isUncapped)),
    outside: index.outside,
    shareChanges: createShareChangeTerms(index),
    initialValue: document.base_value,
    ...createBookRounding(document, sm),
    costRate: 0,
    fills: 'all',
    resume: createBookResume(stored, from),
  });
}

/**
 * Returns the rebalances of the run on the new sessions. These are the rebalances of the index. If the strategy has a
 * separate schedule or optimises the weights, they are those of the strategy.
 * @throws CannotResumeError if a rebalance uses prices of a session that has been simulated already
 */
function findLaterRebalances(
  { plan: { strategy, documents }, checkpoint, engine = referenceEngine, report }: ResumeRunInput,
  marketView: MarketView,
  index: IndexContinuation,
): Pick<ConstrainedRebalances, 'rebalances' | 'findings'> & { readonly memory: DecisionMemory | null } {
  const { solves: memory } = checkpoint.remains;
  const { document, from, to, composed } = index;
  const laterRebalances = strategy?.rebalance
    ? selectLaterRebalances(index, strategy.rebalance, { first: checkpoint.from, from, to })
    : composed;
  if (laterRebalances === undefined) throw new CannotResumeError('rebalance');
  const rows = strategy?.constraints;
  if (rows === undefined || laterRebalances.length === 0) return { rebalances: laterRebalances, findings: [], memory };
  const markedMarkets = new Map([[document.calendar, index.sm]]);
  const looks = laterRebalances.map((rebalance) =>
    computeSolveLook({
      documents,
      marked: markedMarkets,
      document: createConstrainedDocument(document, rows),
      decision: rebalance.decision,
      parents: [...(checkpoint.recent.get(document.id)?.list ?? []), rebalance],
      memory,
    }),
  );
  const reportFraction = (fraction: number): void => report(0.3 + 0.1 * fraction, 'solving the constraint set');
  return marketView.composing(looks, (composer) =>
    constrainRebalances({
      document,
      rows,
      rebalances: laterRebalances,
      composer,
      engine,
      memory,
      tick: reportFraction,
    }),
  );
}

interface ResumedPortfolio {
  readonly rebalances: readonly Composition[];
  /** Level of the index on the first date of the run. */
  readonly levelAtStart: number;
}

function resumePortfolio(
  { plan, checkpoint }: ResumeRunInput,
  index: IndexContinuation,
  { rebalances, levelAtStart }: ResumedPortfolio,
): Book {
  const { request, strategy } = plan;
  const { portfolio } = checkpoint;
  const { sm, treatment, from, to, book } = index;
  if (book.overlay !== undefined) {
    if ('end' in portfolio) throw new Error('a portfolio that holds an overlay has no separate holdings');
    const sessions = rebalances.map(({ session }) => session);
    const { from: first } = checkpoint;
    return resumeOverlayPortfolio(book, { plan, rebalances: sessions, stored: portfolio, first, levelAtStart });
  }
  const exposure = strategy?.exposure ?? 1;
  const tolerance = findTolerance(strategy);
  const targets =
    strategy === undefined
      ? rebalances
      : rebalances.map(({ session, columns, weights, counts }): Targets => ({
          session,
          columns,
          ...(counts === undefined ? {} : { counts }),
          weights: weights.map((weight) => exposure * weight),
        }));
  const bookInput: BookInput = {
    title: 'The portfolio',
    sm,
    treatment,
    from,
    to,
    targets,
    growth: createIndexTerms(index),
    outside: index.outside,
    shareChanges: hasOwnRebalances(strategy) ? undefined : createShareChangeTerms(index),
    initialValue: request.initial_capital,
    costRate: request.transaction_cost_bps / 10_000,
    fills: 'priceable',
    ...(tolerance === undefined ? {} : { tolerance }),
  };
  if ('end' in portfolio) return simulateBook({ ...bookInput, resume: createBookResume(portfolio, from) });
  const followedBook = followBook(bookInput, book, portfolio);
  if (!followedBook) throw new CannotResumeError('holdings_diverged');
  return followedBook;
}

interface ResumedOverlay {
  readonly indexId: string;
  readonly stored: StoredBook | StoredOverlay;
  /** Return variant. Default: that of the index. */
  readonly variant?: ReturnVariant | undefined;
  /** True to compute only levels. */
  readonly isBrief?: boolean;
  /**
   * Continuation of the index in its native return variant. Present only if `variant` is another return variant of the
   * overlay.
   */
  readonly own?: IndexContinuation;
  /** Simulated overlay that holds the index; absent for a standalone index. */
  readonly above?: Pick<IndexContinuation, 'sm' | 'from' | 'to'>;
}

/**
 * Resumes an index, or an overlay with its underlying indices, over the new sessions.
 * @throws CannotResumeError
 */
function resumeIndexOrOverlay(
  marketView: MarketView,
  { indexId, stored, variant, isBrief = false, own, above }: ResumedOverlay,
): IndexContinuation {
  const context = { ...marketView.contextOf(indexId), ...marketView.spanOf(indexId) };
  const span = above === undefined ? context : { ...context, ...computeUnderlyingSpan(context, above) };
  if (!isStoredOverlay(stored)) {
    const index = { ...span, ...marketView.decided(indexId) };
    return { ...index, book: resumeBook(index, { stored, isBrief, ...(variant ? { variant } : {}) }) };
  }
  const { document } = context;
  if (!isOverlayDocument(document)) throw new Error(`${indexId} is not an overlay but was stored as one`);
  const continuations = listSources(document).map((id, k) =>
    resumeIndexOrOverlay(marketView, {
      indexId: id,
      stored: stored.beneath[k]!.of,
      variant: variant ?? findHeldLevel(context, marketView.contextOf(id)),
      isBrief,
      above: span,
      ...(own ? { own: own.beneath![k]! } : {}), // `own` continues the same overlay, with the same order of underlying indices.
    }),
  );
  const findings = continuations.flatMap((source) => source.findings);
  const isOther = variant !== undefined;
  const book = resumeOverlayBook(stored, {
    ...span,
    document,
    beneath: continuations,
    isBrief,
    isOther,
    ownShares: own?.book.overlay?.shares,
  });
  return { ...span, book, beneath: continuations, findings, composed: listNewCompositions(book, continuations) };
}

/**
 * Returns the new sessions of an underlying index, up to the last session of the overlay.
 * @throws CannotResumeError if the index and the overlay were last simulated on different sessions
 */
function computeUnderlyingSpan(
  { sm, from }: Pick<IndexContinuation, 'sm' | 'from'>,
  above: Pick<IndexContinuation, 'sm' | 'from' | 'to'>,
): Pick<IndexContinuation, 'from' | 'to'> {
  const findSession = (session: number): number => findLastAtMost(sm.sessions, above.sm.sessions[session]!);
  if (findSession(above.from) !== from) throw new CannotResumeError('overlay');
  return { from, to: findSession(above.to) };
}

interface OverlaySpan extends Omit<IndexContinuation, 'book' | 'composed' | 'findings'> {
  readonly beneath: readonly IndexContinuation[];
  readonly isBrief: boolean;
  /** True if the index is held in a return variant that is not its native one. */
  readonly isOther: boolean;
  /** Weights by currency over all sessions, if the native variant of the index has them. */
  readonly ownShares: BookOverlay['shares'] | undefined;
}

/**
 * Computes the overlay's book over the new sessions from its path over all sessions.
 * @throws CannotResumeError
 */
function resumeOverlayBook(stored: StoredOverlay, span: OverlaySpan): Book {
  const { document, sm, from, to, beneath, isBrief } = span;
  if (!isOverlayDocument(document)) throw new Error(`${document.id} is not an overlay`);
  const { first, level, hasCurrencyPart } = stored;
  const books = beneath.map(({ book, sm: sessionMarket }) =>
    sessionMarket === sm ? book : alignBook(book, sm, { from, to }),
  );
  const extendedLayers = stored.beneath.map((layer: StoredLayer, k) => ({
    from: layer.first,
    ...joinGrowth(layer, books[k]!),
  }));
  const { currency } = beneath[0]!.document;
  const type = findOverlayType(document.overlay);
  const weightedUnderlying = { book: books[0]!, currency, codes: type.weighed(document.overlay), first: from, to };
  // All return variants hedge with the same currency weights, and only those of the native variant are known here.
  const isUnknown = span.ownShares === undefined && (span.isOther || publishesPriceReturn(span));
  if (isUnknown && weightedUnderlying.codes.length > 0) throw new CannotResumeError('overlay');
  const shares = span.ownShares ?? appendShares(stored, readShares(weightedUnderlying));
  const overlayPath = computeOverlayPath({ sm, first, document, currency }, { beneath: extendedLayers, shares, to });
  const path = slicePath(overlayPath, from - first);
  const book = createPathBook({
    path,
    beneath: books,
    shares,
    valued: findValuationCurrency(document.overlay, books[0]!, currency),
    sm,
    from,
    level,
    isBrief,
    indexId: document.id,
    resumed: { hasCurrencyPart, ...selectOrdersBefore(stored, from) },
  });
  if (book.overlay!.hasCurrencyPart !== hasCurrencyPart) throw new CannotResumeError('overlay');
  return book;
}

/** Returns the part of an overlay path from `position` on. */
function slicePath({ growth, exposures, exchange, parts, resets }: OverlayPath, position: number): OverlayPath {
  return {
    growth: growth.slice(position),
    exposures: exposures.map((exposure) => exposure.slice(position)),
    exchange: exchange && exchange.slice(position),
    parts: parts.map(({ part, contributions }) => ({ part, contributions: contributions.slice(position) })),
    resets: resets && resets.slice(position),
  };
}

/** Returns the overlay's holdings at each new composition of an underlying index. */
function listNewCompositions(book: Book, continuations: readonly IndexContinuation[]): Composition[] {
  const lists = continuations.map(({ composed, sm }) =>
    sm === book.sm ? composed : composed.map(alignComposition(sm, book.sm)),
  );
  return listHeldCompositions(book, lists, null);
}

/**
 * Simulates the sessions after a stored run. If the market is unchanged up to the checkpoint, the result is
 * bit-identical to a full run.
 * @throws CannotResumeError
 * @throws Refusal as a full run would
 * @cost O(N) and a pass over the new sessions; a rebalance on a new session adds its decision and a pass over its
 *   look-back
 */
export function resumeRun(input: ResumeRunInput): Continuation {
  const { plan, checkpoint, report } = input;
  const { request, documents, indexId } = plan;
  const document = documents[indexId]!;
  const parentId = document.derivation?.source_index_id ?? null;
  const benchmarkId = request.benchmark?.kind === 'index' ? request.benchmark.id : null;
  const marketView = createMarketView(input);
  report(0.3, 'resuming the stored run');
  const createSeparateBook = (brief: LevelsOnlyEnd): StoredBook => {
    if (isStoredOverlay(checkpoint.index)) throw new Error('an overlay has no separate book');
    return { ...checkpoint.index, ...brief };
  };
  const index = resumeIndexOrOverlay(marketView, { stored: checkpoint.index, indexId });
  const { rebalances, ...solves } = findLaterRebalances(input, marketView, index);
  const portfolio = resumePortfolio(input, index, { rebalances, levelAtStart: input.levelAtStart });
  const series =
    request.benchmark?.kind === 'identifier'
      ? createSeriesBenchmark(index, request.benchmark, {
          from: index.from + 1,
          to: index.to,
          begin: checkpoint.series!,
        })
      : null;
  const variants: Partial<Record<ReturnVariant, Book>> = {};
  for (const variant of RETURN_VARIANTS) {
    const variantEnd = checkpoint.remains.variants[variant];
    const overlay = checkpoint.remains.overlays?.[variant];
    if (variantEnd)
      variants[variant] = resumeBook(index, {
        stored: createSeparateBook(variantEnd),
        variant,
        isBrief: !isPublishedBook(plan, index, variant),
      });
    else if (overlay)
      variants[variant] = resumeIndexOrOverlay(marketView, {
        indexId,
        stored: overlay,
        variant,
        isBrief: !isPublishedBook(plan, index, variant),
        own: index,
      }).book;
  }
  const { uncapped } = checkpoint.remains;
  const parent =
    parentId === null ? null : resumeIndexOrOverlay(marketView, { stored: checkpoint.parent!, indexId: parentId });
  const benchmark =
    benchmarkId === null
      ? null
      : resumeIndexOrOverlay(marketView, { stored: checkpoint.benchmark!, indexId: benchmarkId });
  const simulatedIndices = [index, parent, benchmark].flatMap(addUnderlying);
  assertNoBreach(input, simulatedIndices);
  assertNoMemberChange(input, simulatedIndices);
  return {
    range: marketView.range,
    reached: marketView.reached,
    index,
    portfolio,
    variants,
    rebalances,
    solves,
    parent,
    benchmark,
    series: series && { added: series.series, end: series.end, variant: series.variant },
    uncapped: uncapped && resumeBook(index, { stored: createSeparateBook(uncapped), isUncapped: true, isBrief: true }),
  };
}

function addUnderlying(index: IndexContinuation | null): IndexContinuation[] {
  return index === null ? [] : [index, ...(index.beneath ?? []).flatMap(addUnderlying)];
}
