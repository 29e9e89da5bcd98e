import type { Engine } from '#kernels/engines/engine.js';
import type { DatedSeries } from '../analytics/relative-returns.js';
import type { Finding } from '../base/findings.js';
import { findLastAtMost } from '../base/numbers.js';
import type { Day } from '../base/time.js';
import type { BenchmarkRun, SeriesEnd } from '../books/benchmark.js';
import { type Book, shortenBookEnd, type StoredBook, type StoredFollower, toStoredBook } from '../books/book.js';
import {
  type Composition,
  type Compositions,
  type DeciderFactory,
  type DecisionMemory,
  findCompositionInForce,
} from '../books/compositions.js';
import { createDecisionTerms, createIndexTerms, hasSeparateVariants } from '../books/index-run.js';
import type { RequestedRange } from '../books/rebalance-dates.js';
import type { Calendars } from '../calendars/calendar.js';
import { findReadReviews } from '../decide/rule-decider.js';
import { listReviews, listDatedTexts, readNotice } from '../definition/amendments.js';
import type { BacktestPlan } from '../definition/backtest-plan.js';
import { type IndexDocument, isDerivedDocument, isRuleDocument } from '../definition/index-document.js';
import type { TriggeredRebalance } from '../definition/index-schedule.js';
import { bindPipeline } from '../definition/rule-pipeline.js';
import {
  type DatedTreatment,
  readDefaultStaleSessions,
  resolveTreatment as documentTreatment,
} from '../definition/treatment.js';
import { markMarket } from '../market/growth.js';
import type { GrowthTerms } from '../market/action-effects.js';
import { listVariants, type MarketData, type ReturnVariant } from '../market/market-data.js';
import type { MarketMark } from '../market/session-market.js';
import { listPathDates } from '../optimisation/decision-problem.js';
import { findDecision } from '../optimisation/derived-index.js';
import type { StoredModels } from '../risk/stored-models.js';
import { type Run, type RunEndState, type StoredOverlay, toStoredIndex, toStoredPortfolio } from './run.js';
import type { ConstrainedRebalances } from './strategies.js';

/**
 * Returns the rebalances of a run that breaches triggered, in ascending order. The list includes a pending rebalance.
 * For an overlay, it contains the triggered rebalances of the underlying indices.
 */
export function listCalledRebalances(index: Compositions): TriggeredRebalance[] {
  const byEffective = new Map(
    selectCalledRebalances(index).map((triggeredRebalance) => [triggeredRebalance.effective, triggeredRebalance]),
  );
  return [...byEffective.values()].toSorted((a, b) => a.effective - b.effective);
}

function selectCalledRebalances({ list, sm, called, overlay }: Compositions): TriggeredRebalance[] {
  if (overlay !== undefined) return overlay.sources.flatMap(selectCalledRebalances);
  const breachRebalances = list
    .filter(({ cause }) => cause === 'breach')
    .map(({ date, decision }) => ({ decision: sm.sessions[decision]!, effective: date }));
  if (called === undefined || called.effective === null) return breachRebalances;
  return [...breachRebalances, { decision: sm.sessions[called.session]!, effective: called.effective }];
}

/** State that the simulation of later dates of a run needs in addition to the stored columns. */
export interface RunCheckpoint {
  readonly format: typeof CHECKPOINT_FORMAT;
  /** Last date of the run. */
  readonly day: Day;
  /** Earliest last session among the indices of the run. The run has used market data up to this day. */
  readonly since: Day;
  /**
   * Default of the maximum number of sessions without a price, derived from the store: see `readDefaultStaleSessions`.
   */
  readonly staleSessions: number | null;
  /** First session of the portfolio. */
  readonly from: number;
  /** State of the market after the last session, by calendar code. */
  readonly marks: ReadonlyMap<string, MarketMark>;
  readonly index: StoredBook | StoredOverlay;
  /**
   * State of the portfolio: relative to the index if the portfolio follows the index, otherwise that of a separate
   * book.
   */
  readonly portfolio: StoredBook | StoredFollower;
  /** Parent index of a derived index. */
  readonly parent: StoredBook | StoredOverlay | null;
  /** External benchmark that is an index; null for a series or no benchmark. */
  readonly benchmark: StoredBook | StoredOverlay | null;
  /** End state of a benchmark that is a price series. */
  readonly series: SeriesEnd | null;
  readonly remains: RunEndState;
  /** Weights of the latest rebalance. */
  readonly latest: Float64Array;
  /** Every index on which the run depends, with its recent compositions. */
  readonly recent: ReadonlyMap<string, RecentIndex>;
}

/** Version of the checkpoint format. Increment it with every change of the contents or of their bytes. */
export const CHECKPOINT_FORMAT = 20;

/**
 * Index with the compositions that later decisions can use. Decisions use them as incumbents, or as the universe of
 * another index.
 */
export interface RecentIndex {
  /** Session of the first composition. */
  readonly first: number;
  readonly list: readonly Composition[];
  /** State that the decisions of the index pass on to later decisions; null if there is none. */
  readonly memory: DecisionMemory | null;
  /** Present if a breach triggered a rebalance that is still pending. */
  readonly isCalled?: true;
}

/**
 * Creates the checkpoint of a run.
 * @cost a row of each derived panel of the market
 */
export function createCheckpoint(run: Run): RunCheckpoint {
  const { index, parent, benchmark, portfolio, rebalances, reached } = run;
  const { findings, stale, solves, ...ends } = run.remains;
  const benchmarkIndex = benchmark?.index ?? null;
  const indices = [index, parent, benchmarkIndex].filter((shown) => shown !== null);
  const day = run.days.at(-1)!;
  const endedIndices = reached.map((compositions): SimulatedIndex & Pick<Compositions, 'overlay'> => ({
    ...compositions,
    to: findLastAtMost(compositions.sm.sessions, day),
  }));
  const plainIndices = endedIndices.filter(({ overlay }) => overlay === undefined);
  return {
    format: CHECKPOINT_FORMAT,
    day,
    since: findEarliestSession(plainIndices),
    staleSessions: readDefaultStaleSessions(index.compositions.sm.market),
    from: portfolio.from,
    marks: listMarks(
      endedIndices,
      indices.flatMap(({ compositions }) => listSimulatedIndices(compositions)),
    ),
    index: toStoredIndex(index.book),
    portfolio: 'held' in portfolio.end ? toStoredBook(portfolio) : toStoredPortfolio(portfolio, 0),
    parent: parent && toStoredIndex(parent.book),
    benchmark: benchmarkIndex && toStoredIndex(benchmarkIndex.book),
    series: benchmark?.end ?? null,
    remains: { ...ends, uncapped: run.uncapped && shortenBookEnd(run.uncapped()), findings, stale, solves },
    latest: rebalances.at(-1)!.weights,
    recent: listRecentIndices(run.plan, plainIndices),
  };
}

/** Returns the simulated indices: the index itself, or the underlying indices of an overlay. */
function listSimulatedIndices(index: Compositions): readonly Compositions[] {
  return index.overlay?.sources.flatMap(listSimulatedIndices) ?? [index];
}

/** Index with its compositions up to the last simulated session. */
export interface SimulatedIndex extends Pick<Compositions, 'document' | 'sm' | 'first' | 'list' | 'memory' | 'called'> {
  readonly to: number;
}

export function findEarliestSession(indices: readonly SimulatedIndex[]): Day {
  return Math.min(...indices.map(({ sm, to }) => sm.sessions[to]!));
}

/**
 * Returns the growth terms of the books of an index. If its return variants have separate holdings, these are the terms
 * of the named variant, of decisions and of each variant.
 */
function listBookTerms(index: Pick<Compositions, 'document' | 'treatment'>, market: MarketData): GrowthTerms[] {
  if (!hasSeparateVariants(index)) return [createIndexTerms(index)];
  const variantTerms = listVariants(market).map((variant) => createIndexTerms(index, variant));
  return [createIndexTerms(index), createDecisionTerms(index), ...variantTerms];
}

/**
 * Returns the market state of each calendar, with the growth terms of the simulated indices. All indices of one
 * calendar end on the same session.
 */
export function listMarks(
  indices: readonly Pick<SimulatedIndex, 'document' | 'sm' | 'to'>[],
  simulated: readonly Pick<Compositions, 'document' | 'treatment'>[],
): ReadonlyMap<string, MarketMark> {
  return new Map(
    indices.map(({ document: { calendar }, sm, to }) => {
      const terms = simulated
        .filter(({ document }) => document.calendar === calendar)
        .flatMap((index) => listBookTerms(index, sm.market));
      return [calendar, markMarket(sm, to, terms)];
    }),
  );
}

/** Returns the compositions of each index that a decision after the last session can use. */
export function listRecentIndices(
  plan: Pick<BacktestPlan, 'indexId' | 'strategy'>,
  indices: readonly SimulatedIndex[],
): ReadonlyMap<string, RecentIndex> {
  const oldest = Math.min(...indices.map(findOldestRead));
  const pathReviews = listPathReviews(plan, indices);
  return new Map(
    indices.map((index) => {
      const { document, sm, first, list, memory, called, to } = index;
      const session = findLastAtMost(sm.sessions, oldest);
      const readCompositions = new Set([
        findCompositionInForce(list, session),
        // Constituents before a review on that session.
        findCompositionInForce(list, session - 1),
        ...pathReviews.map((day) => findDecided(index, day)),
      ]);
      const kept = list.filter(
        (composition) =>
          readCompositions.has(composition) || (composition.session > session && composition.session <= to),
      );
      return [document.id, { first, list: kept, memory, ...(called ? { isCalled: true } : {}) }];
    }),
  );
}

/**
 * Returns the day from which on the decisions of an index after its last session read other indices. Its schedules state
 * how long before a rebalance a decision can be made. A phase-in and functions such as `last_review` read earlier reviews.
 */
function findOldestRead({ document, sm, to }: SimulatedIndex): Day {
  const texts = listDatedTexts(document).map((text) => text.document);
  const notice = Math.max(...texts.map(readNotice));
  const session = Math.max(0, to - notice);
  const phaseReviews = texts.flatMap(listReviews).flatMap((review) => {
    const own = review.document;
    return isRuleDocument(own) ? findReadReviews(own, bindPipeline(own), { sm, session }) : [];
  });
  return sm.sessions[Math.min(session, ...phaseReviews)]!;
}

/** Returns the earlier days on which later decisions read indices: the decisions that bound paths measure. */
function listPathReviews(
  { indexId, strategy }: Pick<BacktestPlan, 'indexId' | 'strategy'>,
  indices: readonly SimulatedIndex[],
): readonly Day[] {
  const derivations = indices
    .flatMap(({ document }) => listDatedTexts(document).map((text) => text.document))
    .filter(isDerivedDocument)
    .map(({ derivation }) => ({ parentId: derivation.source_index_id, rows: derivation.constraints }));
  return [...derivations, { parentId: indexId, rows: strategy?.constraints ?? [] }].flatMap(({ parentId, rows }) => {
    const parent = indices.find(({ document }) => document.id === parentId);
    return parent === undefined ? [] : listPathDates(rows).flatMap((day) => findDecisionDay(parent, day) ?? []);
  });
}

/** Returns the latest composition of an index that was decided on or before a day. */
const findDecided = ({ sm, list }: SimulatedIndex, day: Day): Composition | undefined =>
  findDecision(list, findLastAtMost(sm.sessions, day));

function findDecisionDay(index: SimulatedIndex, day: Day): Day | undefined {
  const composition = findDecided(index, day);
  return composition && index.sm.sessions[composition.decision]!;
}

/**
 * Returns the treatment of prices and corporate actions of an index. A derived index uses the treatment of its parent
 * index, an overlay the treatment of its underlying indices.
 */
export function readTreatment(
  documents: Readonly<Record<string, IndexDocument>>,
  indexId: string,
  calendars?: Calendars,
): DatedTreatment {
  return documentTreatment(documents[indexId]!, (id) => documents[id], calendars)!; // A plan contains every document that it refers to.
}

/** Inputs of the books of an index: definition, treatment and market. */
export type ResumeContext = Pick<Compositions, 'document' | 'treatment' | 'sm' | 'outside'>;

export interface ResumeRunInput {
  readonly plan: BacktestPlan;
  readonly checkpoint: RunCheckpoint;
  readonly calendars: Calendars;
  /** Market without the cash that was paid up to the day of the checkpoint. */
  readonly market: MarketData;
  /** Returns a market for decisions. It excludes cash that was paid up to a day. */
  readonly marketSince: (day: Day) => MarketData;
  /** Returns the whole market, for decisions that read data before their declared look-back. */
  readonly wholeMarket: () => MarketData;
  /** Stored risk models of the plan; absent if there are none. */
  readonly models?: StoredModels;
  readonly createDecider: DeciderFactory;
  /** Engine of matrix products for the constraint set of a strategy. Default: plain loops. */
  readonly engine?: Engine;
  /** Level of the index on the first date of the stored run. */
  readonly levelAtStart: number;
  readonly report: (fraction: number, message: string) => void;
}

/** New sessions of a run. Every book starts with the last session of the stored run. */
export interface Continuation {
  readonly range: RequestedRange;
  readonly index: IndexContinuation;
  readonly portfolio: Book;
  readonly parent: IndexContinuation | null;
  readonly benchmark: IndexContinuation | null;
  readonly series: {
    readonly added: DatedSeries;
    readonly end: SeriesEnd;
    readonly variant: BenchmarkRun['variant'];
  } | null;
  readonly variants: Readonly<Partial<Record<ReturnVariant, Book>>>;
  readonly uncapped: Book | null;
  /** Rebalances of the run on the new sessions. */
  readonly rebalances: readonly Composition[];
  /** Warnings of the optimisations for the constraint set of a strategy, and the state that later optimisations use. */
  readonly solves: Pick<ConstrainedRebalances, 'findings'> & { readonly memory: DecisionMemory | null };
  /** Every index on which the run depends, with its latest decisions. */
  readonly reached: readonly SimulatedIndex[];
}

/** Simulation of an index over the new sessions. */
export interface IndexContinuation extends ResumeContext {
  /** Last session of the stored book (`from`) and of the extension (`to`). */
  readonly from: number;
  readonly to: number;
  readonly book: Book;
  readonly composed: readonly Composition[];
  readonly findings: readonly Finding[];
  /** Underlying indices of an overlay. */
  readonly beneath?: readonly IndexContinuation[];
}
