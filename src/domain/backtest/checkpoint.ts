import type { Day } from '../days.js';
import type { IndexDocument, TreatmentSpec } from '../documents/index-document.js';
import { markMarket, type GrowthTerms } from '../market/growth.js';
import type { MarketMark, SessionMarket } from '../market/session-market.js';
import type { SeriesEnd } from './benchmark.js';
import type { Book, BookEnd, UnfilledOrder } from './book.js';
import { inForce, type Composition, type Compositions } from './compositions.js';
import type { FollowEnd } from './follow-book.js';
import { indexTerms } from './index-run.js';
import { ownEnd, type Run, type RunRemains } from './run.js';

/** All that the dates after the last one of a run depend on, besides its stored columns: what it takes to go on from there. */
export interface RunCheckpoint {
  readonly format: typeof CHECKPOINT_FORMAT;
  /** Last date of the run. */
  readonly day: Day;
  /** Earliest last session of its indices: what the market tells of the days up to it has been taken into account. */
  readonly since: Day;
  /** First session of the portfolio. */
  readonly from: number;
  /** Where the market stands, by calendar. */
  readonly marks: ReadonlyMap<string, MarketMark>;
  readonly index: KeptBook;
  /** What a portfolio that follows the index has of its own, else the whole of it. */
  readonly portfolio: KeptBook | FollowEnd;
  /** The index that a derived one was made from. */
  readonly parent: KeptBook | null;
  /** Of an external benchmark: an index, or a bare series. */
  readonly benchmark: KeptBook | null;
  readonly series: SeriesEnd | null;
  readonly remains: RunRemains;
  /** Weights of the latest rebalance. */
  readonly latest: Float64Array;
  /** By index, the compositions that later decisions can meet as incumbents. */
  readonly recent: ReadonlyMap<string, readonly RecentComposition[]>;
}

/** Changes with everything that a checkpoint holds. */
export const CHECKPOINT_FORMAT = 2;

export type RecentComposition = Pick<Composition, 'session' | 'columns'>;

/** A book as it is kept: orders by column, placed from its first session. */
export interface KeptBook {
  readonly end: BookEnd;
  readonly first: number;
  readonly columns: Int32Array;
  readonly orders: readonly UnfilledOrder[];
}

/** @cost a row of each derived panel of the market */
export function checkpointOf(run: Run): RunCheckpoint {
  const { index, parent, benchmark, portfolio, rebalances } = run;
  const benchmarkIndex = benchmark?.index ?? null;
  const indices = [index, parent, benchmarkIndex].filter((shown) => shown !== null);
  return {
    format: CHECKPOINT_FORMAT,
    day: run.days.at(-1)!,
    since: Math.min(...indices.map(({ book }) => book.sm.sessions[lastOf(book)]!)),
    from: portfolio.from,
    marks: marksOf(indices.map(({ compositions, book }) => ({ sm: book.sm, session: lastOf(book), terms: indexTerms(compositions) }))),
    index: keptBook(index.book),
    portfolio: 'held' in portfolio.end ? keptBook(portfolio) : portfolio.end,
    parent: parent && keptBook(parent.book),
    benchmark: benchmarkIndex && keptBook(benchmarkIndex.book),
    series: benchmark?.end ?? null,
    remains: run.remains,
    latest: rebalances.at(-1)!.weights,
    recent: new Map(indices.map(({ compositions, book }) => [compositions.document.id, recentOf(compositions.document, compositions.list, lastOf(book))])),
  };
}

function lastOf({ from, length }: Book): number {
  return from + length - 1;
}

export function keptBook(book: Book): KeptBook {
  const { columns, from, unfilled } = book;
  return { end: ownEnd(book), first: from, columns, orders: unfilled.map((order) => ({ ...order, slot: columns[order.slot]! })) };
}

export interface MarkedIndex {
  readonly sm: SessionMarket;
  /** Last session of its book. */
  readonly session: number;
  readonly terms: GrowthTerms;
}

/** Marks of the markets that indices were simulated on. Books of one calendar end on one session. */
export function marksOf(indices: readonly MarkedIndex[]): ReadonlyMap<string, MarketMark> {
  const codes = [...new Set(indices.map(({ sm }) => sm.calendar.code))];
  return new Map(codes.map((code) => {
    const own = indices.filter(({ sm }) => sm.calendar.code === code);
    return [code, markMarket(own[0]!.sm, own[0]!.session, own.map(({ terms }) => terms))];
  }));
}

/** Compositions that a decision after a session can meet as incumbents: it may lie as far before its rebalance as the definition says. */
export function recentOf(document: IndexDocument, list: readonly RecentComposition[], session: number): RecentComposition[] {
  const oldest = session - document.rebalance.effective_lag;
  const before = inForce(list, oldest);
  const recent = list.filter((composition) => composition.session > oldest && composition.session <= session);
  return [...(before ? [before] : []), ...recent].map(({ session: effective, columns }) => ({ session: effective, columns }));
}

/** How an index treats prices and actions: a derived one as the index it was made from does. */
export function treatmentOf(documents: Readonly<Record<string, IndexDocument>>, indexId: string): TreatmentSpec {
  const { pipeline, derivation } = documents[indexId]!;
  return pipeline?.treatment ?? treatmentOf(documents, derivation!.source_index_id);
}

/** An index of a run as its books are told: definition, treatment and market. */
export type IndexTold = Pick<Compositions, 'document' | 'treatment' | 'sm'>;
