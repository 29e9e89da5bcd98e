import type { Day } from '../../time/days.js';
import type { IndexDocument } from '../../documents/index-document.js';
import type { Calendars } from '../../calendars/calendar.js';
import { noticeOf } from '../../documents/reviews.js';
import { treatmentOf as documentTreatment, type DatedTreatment } from '../../documents/treatment.js';
import { defaultStaleSessions } from '../../documents/stale-sessions.js';
import { markMarket } from '../../index-mathematics/growth.js';
import type { MarketMark } from '../../market/session-market.js';
import { lastAtMost } from '../../numbers/search.js';
import type { SeriesEnd } from '../../books/benchmark.js';
import type { StoredFollow } from '../../books/book.js';
import { inForce, type Composition, type Compositions } from '../../books/compositions.js';
import type { DecisionMemory } from '../../books/decider.js';
import { indexTerms } from '../../books/index-run.js';
import { storedIndex, storedPortfolio, type StoredOverlay } from './overlay-state.js';
import { storedBook, type StoredBook } from '../../books/resumed-book.js';
import type { Run, RunRemains } from '../run.js';

/** The state that later dates of a run depend on, besides its stored columns: enough to resume it. */
export interface RunCheckpoint {
  readonly format: typeof CHECKPOINT_FORMAT;
  /** Last date of the run. */
  readonly day: Day;
  /** Earliest of the last sessions of its indices: market data up to this day has been used. */
  readonly since: Day;
  /** Longest gap that the store implied: see `defaultStaleSessions`. */
  readonly staleSessions: number | null;
  /** First session of the portfolio. */
  readonly from: number;
  /** State of the market after the last session, by calendar. */
  readonly marks: ReadonlyMap<string, MarketMark>;
  readonly index: StoredBook | StoredOverlay;
  /** The own state of a portfolio that follows the index; otherwise the whole book. */
  readonly portfolio: StoredBook | StoredFollow;
  /** The index that a derived one was made from. */
  readonly parent: StoredBook | StoredOverlay | null;
  /** An external benchmark that is an index; null for a series, and without one. */
  readonly benchmark: StoredBook | StoredOverlay | null;
  /** Where a benchmark that is a series ended. */
  readonly series: SeriesEnd | null;
  readonly remains: RunRemains;
  /** Weights of the latest rebalance. */
  readonly latest: Float64Array;
  /** Every index that the run reaches. */
  readonly recent: ReadonlyMap<string, RecentIndex>;
}

/** Incremented with every change of the contents of a checkpoint. */
export const CHECKPOINT_FORMAT = 14;

/**
 * An index with the compositions that later decisions can meet: their own incumbents, or the universe of another index.
 */
export interface RecentIndex {
  /** Session of its first composition. */
  readonly first: number;
  readonly list: readonly Composition[];
  /** State carried from its decisions to later ones. */
  readonly memory: DecisionMemory | null;
  /** There where a breach has called for a rebalance that is still to come. */
  readonly isCalled?: true;
}

/** The checkpoint of a run. @cost a row of each derived panel of the market */
export function checkpointOf(run: Run): RunCheckpoint {
  const { index, parent, benchmark, portfolio, rebalances, reached } = run;
  const benchmarkIndex = benchmark?.index ?? null;
  const indices = [index, parent, benchmarkIndex].filter((shown) => shown !== null);
  const day = run.days.at(-1)!;
  const ended = reached.map((compositions): KnownIndex & Pick<Compositions, 'overlay'> => ({
    ...compositions,
    to: lastAtMost(compositions.sm.sessions, day),
  }));
  const known = ended.filter(({ overlay }) => overlay === undefined);
  return {
    format: CHECKPOINT_FORMAT,
    day,
    since: sinceOf(known),
    staleSessions: defaultStaleSessions(index.compositions.sm.market),
    from: portfolio.from,
    marks: marksOf(
      ended,
      indices.flatMap(({ compositions }) => simulatedOf(compositions)),
    ),
    index: storedIndex(index.book),
    portfolio: 'held' in portfolio.end ? storedBook(portfolio) : storedPortfolio(portfolio, 0),
    parent: parent && storedIndex(parent.book),
    benchmark: benchmarkIndex && storedIndex(benchmarkIndex.book),
    series: benchmark?.end ?? null,
    remains: run.remains,
    latest: rebalances.at(-1)!.weights,
    recent: recentOf(known),
  };
}

/** What is simulated of an index: itself, or the indices beneath an overlay. */
function simulatedOf(index: Compositions): readonly Compositions[] {
  return index.overlay?.sources.flatMap(simulatedOf) ?? [index];
}

/** An index up to the last session that was simulated. */
export interface KnownIndex extends Pick<Compositions, 'document' | 'sm' | 'first' | 'list' | 'memory' | 'called'> {
  readonly to: number;
}

/** Earliest of the last sessions of some indices, as a day. */
export function sinceOf(indices: readonly KnownIndex[]): Day {
  return Math.min(...indices.map(({ sm, to }) => sm.sessions[to]!));
}

/**
 * Marks of the markets of some indices, with the terms of those that were simulated. Indices of one calendar end on one
 * session.
 */
export function marksOf(
  indices: readonly Pick<KnownIndex, 'document' | 'sm' | 'to'>[],
  simulated: readonly Pick<Compositions, 'document' | 'treatment'>[],
): ReadonlyMap<string, MarketMark> {
  return new Map(
    indices.map(({ document: { calendar }, sm, to }) => {
      const terms = simulated
        .filter(({ document }) => document.calendar === calendar)
        .map((index) => indexTerms(index));
      return [calendar, markMarket(sm, to, terms)];
    }),
  );
}

/**
 * Compositions that a decision after the last session can meet: it may lie as far before its rebalance as the
 * definitions say.
 */
export function recentOf(indices: readonly KnownIndex[]): ReadonlyMap<string, RecentIndex> {
  const oldest = Math.min(...indices.map(({ document, sm, to }) => sm.sessions[Math.max(0, to - noticeOf(document))]!));
  return new Map(
    indices.map(({ document, sm, first, list, memory, called, to }) => {
      const session = lastAtMost(sm.sessions, oldest);
      const before = inForce(list, session);
      const recent = list.filter((composition) => composition.session > session && composition.session <= to);
      return [
        document.id,
        { first, list: [...(before ? [before] : []), ...recent], memory, ...(called ? { isCalled: true } : {}) },
      ];
    }),
  );
}

/** Treatment of prices and actions; a derived index has that of its source, an overlay of what lies beneath. */
export function treatmentOf(
  documents: Readonly<Record<string, IndexDocument>>,
  indexId: string,
  calendars?: Calendars,
): DatedTreatment {
  return documentTreatment(documents[indexId]!, (id) => documents[id], calendars)!; // A plan has every document that it reaches.
}

/** Inputs of the books of an index: definition, treatment and market. */
export type IndexContext = Pick<Compositions, 'document' | 'treatment' | 'sm' | 'outside'>;
