import type { BacktestMetrics } from '../../analytics/series.js';
import type { Finding } from '../../refusals/findings.js';
import type { Continuation, IndexContinuation } from '../extend/continuation.js';
import type { BacktestPlan } from '../../documents/backtest-plan.js';
import type { Run } from '../run.js';
import type { Book } from '../../books/book.js';
import type { Composition, Compositions } from '../../books/compositions.js';
import { createIndexShares, type IndexShares, type IndexSharesReader } from '../../books/index-shares.js';
import { limitToCoverage, type CalendarCoverage } from '../../books/window.js';
import { listStaleFills, type StaleFills } from '../../books/stale-fills.js';
import type { Trades } from '../../books/trades.js';
import type { WeightsFrame } from './field.js';
import { createFrame, haveSameFrame, type AppendedFrame } from './frame.js';
import type { RecordedOrder } from './rows.js';

/** Composition in index shares, with its trades at prices of an earlier session. */
export interface PresentedComposition extends Omit<Composition, 'targets'>, IndexShares {
  readonly staleFills: StaleFills | null;
}

/** Additional data for the presentation of compositions. */
export interface PresentationTerms {
  /** Stale fills by session. */
  readonly fills: ReadonlyMap<number, StaleFills>;
  readonly sharesOf: IndexSharesReader;
}

export function toPresentedComposition(
  composition: Composition,
  { fills, sharesOf }: PresentationTerms,
): PresentedComposition {
  return { ...composition, ...sharesOf(composition), staleFills: fills.get(composition.session) ?? null };
}

export function returnNull(): null {
  return null;
}

/** Book of an index, or a plain level series, over a whole run. */
export interface WholeBook {
  readonly days: Int32Array;
  readonly levels: Float64Array;
  readonly coverage: CalendarCoverage | null;
  /** Null for a plain series. */
  readonly index: {
    readonly book: Book;
    readonly compositions: Pick<Compositions, 'list' | 'document' | 'treatment'>;
  } | null;
  readonly frame: WeightsFrame | null;
}

/** Book of an index, or a plain level series, over the new sessions. */
export interface AppendedBook {
  readonly days: Int32Array;
  readonly levels: Float64Array;
  readonly coverage: CalendarCoverage | null;
  readonly index: Pick<IndexContinuation, 'composed' | 'book' | 'document' | 'treatment'> | null;
  readonly divisor: Float64Array | null;
  readonly frame: AppendedFrame | null;
}

/**
 * Returns compositions with their index shares. Each has the trades of the index without a price bar on its session,
 * with the days of the earlier prices used.
 */
export function showComposition(
  priced: { readonly book: Book; readonly index: Pick<Compositions, 'treatment' | 'document'> } | null,
  compositions: readonly Composition[],
): PresentedComposition[] {
  if (priced === null || compositions.length === 0) return [];
  const { book, index } = priced;
  const terms = { fills: listStaleFills(book), sharesOf: createIndexShares(book, index) };
  return compositions.map((composition) => toPresentedComposition(composition, terms));
}

/** Returns the compositions of a book that took effect. */
export function listEffectiveCompositions({ index }: WholeBook): readonly Composition[] {
  return index === null
    ? []
    : index.compositions.list.filter(({ session }) => session < index.book.from + index.book.length);
}

export const createSourcePair = <S, T>(readSource: (source: S) => T) => ({ whole: readSource, added: readSource });

/** Whole run with the weights frame of its portfolio. */
export interface WholeRecord {
  readonly run: Run;
  readonly frame: WeightsFrame;
}

/** New sessions of a stored run. */
export interface AppendedRecord {
  readonly continuation: Continuation;
  /** Number of stored dates of the run and of each of its books. */
  readonly dates: number;
  readonly before: { readonly [K in 'target' | 'optimised' | 'benchmark']: number };
  readonly plan: BacktestPlan;
  readonly trades: Trades;
  /** Trades of the portfolio at prices of an earlier session, by rebalance session. */
  readonly staleFills: ReadonlyMap<number, StaleFills>;
  readonly gaps: Run['gaps'];
  /** Metrics of the whole run. */
  readonly metrics: BacktestMetrics;
  readonly findings: readonly Finding[];
  readonly unfilled: readonly RecordedOrder[];
}

type PresentedIndex = Pick<Run['index'], 'book' | 'compositions' | 'days' | 'coverage'>;

export function toWholeIndex({ run: { portfolio }, frame }: WholeRecord, index: PresentedIndex): WholeBook {
  const { days, coverage } = index;
  return {
    days,
    coverage,
    index,
    levels: index.book.value,
    frame: haveSameFrame(index.book, portfolio) ? frame : createFrame(index.book),
  };
}

export function toWholeBenchmark(source: WholeRecord): WholeBook | null {
  const { benchmark } = source.run;
  if (!benchmark) return null;
  const {
    level: { days, values },
    index,
  } = benchmark;
  return index
    ? toWholeIndex(source, { ...index, days })
    : { days, levels: values, coverage: null, index: null, frame: null };
}

interface AppendedIndex {
  readonly index: IndexContinuation;
  /** Number of stored dates of the book. */
  readonly before: number;
  readonly coverage: CalendarCoverage | null;
}

export function toAppendedIndex(
  { continuation: { portfolio } }: AppendedRecord,
  { index, before, coverage }: AppendedIndex,
): AppendedBook {
  const { book: added } = index;
  return {
    index,
    coverage,
    days: listLaterDays(added),
    levels: added.value.subarray(1),
    divisor: added.divisor.subarray(1),
    frame: { book: added, portfolio, before },
  };
}

export function toAppendedBenchmark(added: AppendedRecord): AppendedBook | null {
  const { benchmark, series, range } = added.continuation;
  if (benchmark) {
    const { sm } = benchmark;
    return toAppendedIndex(added, {
      index: benchmark,
      before: added.before.benchmark,
      coverage: limitToCoverage(sm.calendar, range),
    });
  }
  return (
    series && {
      days: series.added.days,
      levels: series.added.values,
      coverage: null,
      index: null,
      divisor: null,
      frame: null,
    }
  );
}

/** Returns the days of a book after its first session. The first session is stored already. */
export function listLaterDays({ sm, from, length }: Book): Int32Array {
  return sm.sessions.slice(from + 1, from + length);
}

/** Returns a book without its first session, from which it was resumed. */
export function removeFirstSession(book: Book): Book {
  const { from, length, columns, weights, value, counts } = book;
  return {
    ...book,
    from: from + 1,
    length: length - 1,
    weights: weights.subarray(columns.length),
    value: value.subarray(1),
    counts: counts.subarray(1),
  };
}

/**
 * Returns the session of the calendar before the first session of the run. If the calendar begins with the run, returns
 * the previous calendar day.
 */
export function findPreviousDay({ sm, from }: Book): number {
  const { sessions } = sm.calendar;
  const first = sm.sessions[from]!;
  return sessions[sessions.indexOf(first) - 1] ?? first - 1;
}
