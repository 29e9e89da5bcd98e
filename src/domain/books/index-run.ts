import { createBookRounding } from './book-rounding.js';
import type { TreatmentSpec } from '../documents/index-document.js';
import type { WeightingSpec } from '../documents/weighting-spec.js';
import { readShareTerms } from '../documents/share-terms.js';
import { toChangingTerms, createGrowthTerms, type GrowthTerms } from '../index-mathematics/growth-terms.js';
import type { ReturnVariant } from '../market/market-data.js';
import { findLastAtMost } from '../numbers/search.js';
import type { Book, Targets } from './book.js';
import { alignBook } from './book-on-sessions.js';
import type { Composition, Compositions } from './compositions.js';
import { createOverlayBook } from './overlay-book.js';
import { createShareChangeTerms } from './share-changes.js';
import { simulateBook } from './simulate-book.js';
import type { CalendarCoverage } from './window.js';

/** Index simulated from its first composition to the end of the run. */
export interface IndexRun {
  readonly compositions: Compositions;
  readonly book: Book;
  readonly days: Int32Array;
  readonly coverage: CalendarCoverage | null;
}

/**
 * Returns the growth terms of an index: its treatment, currency and weighting.
 * @param variant return variant. Default: that of the index.
 */
export function createIndexTerms(
  { treatment: dated, document }: Pick<Compositions, 'treatment' | 'document'>,
  variant: ReturnVariant = dated.dividends,
): GrowthTerms {
  const { amended, ...first } = dated;
  const createTerms = (treatment: TreatmentSpec, weighting: WeightingSpec | undefined): GrowthTerms => ({
    ...createGrowthTerms(treatment, document.currency, variant),
    ...readShareTerms(treatment, weighting),
  });
  const terms = createTerms(first, document.pipeline?.weighting);
  if (amended === undefined) return terms;
  // A derived index has the treatment of its parent, but a separate weighting.
  const isOwn = document.pipeline !== null;
  return {
    ...terms,
    amended: amended.map(({ after, treatment, weighting }) =>
      toChangingTerms(createTerms(treatment, isOwn ? weighting : undefined), after),
    ),
  };
}

export interface IndexBookInput {
  readonly compositions: Compositions;
  /** Last session of the book. */
  readonly to: number;
  /** Return variant. Default: that of the index. */
  readonly variant?: ReturnVariant;
  /** True to use the weights without caps. */
  readonly uncapped?: boolean;
  /** True to compute only levels and divisor. */
  readonly isBrief?: boolean;
  /** True to keep only some rows of weights; see `BookInput`. */
  readonly isSparse?: boolean;
  /** First session of a portfolio that follows the index. */
  readonly followedFrom?: number;
  /** Allocates memory for the weights; see `BookInput`. */
  readonly roomForWeights?: (cells: number) => Float64Array;
  readonly tick?: (fraction: number) => void;
}

/**
 * Simulates an index as a book without costs from its first composition on, starting at its base value.
 * @cost O(T H)
 */
export function simulateIndexBook(input: IndexBookInput): Book {
  const { compositions, to, variant, isBrief = false } = input;
  const { overlay } = compositions;
  if (overlay === undefined) return simulateRuleBook(input);
  const { book } = overlay;
  if (book !== undefined && variant === undefined && to === book.from + book.length - 1) return book;
  const { sm } = compositions;
  const simulateSource = (source: Compositions): Book => {
    const last = source.sm === sm ? to : findLastAtMost(source.sm.sessions, sm.sessions[to]!);
    const heldVariant = variant ?? findHeldLevel(compositions, source);
    const underlyingBook = simulateIndexBook({
      compositions: source,
      to: last,
      isBrief,
      ...(heldVariant ? { variant: heldVariant } : {}),
    });
    return source.sm === sm ? underlyingBook : alignBook(underlyingBook, sm, { to });
  };
  return createOverlayBook({ compositions: { ...compositions, overlay }, to, isBrief, bookOf: simulateSource });
}

/**
 * Returns the return variant in which an overlay holds an underlying index. Returns undefined if the index itself has
 * that variant.
 */
export function findHeldLevel(
  { treatment: { dividends } }: Pick<Compositions, 'treatment'>,
  source: Pick<Compositions, 'treatment'>,
): ReturnVariant | undefined {
  return source.treatment.dividends === dividends ? undefined : dividends;
}

function simulateRuleBook({
  compositions,
  to,
  variant,
  uncapped = false,
  isBrief = false,
  isSparse = false,
  followedFrom,
  roomForWeights,
  tick,
}: IndexBookInput): Book {
  const { sm, treatment, document, first, list, outside } = compositions;
  return simulateBook({
    title: `The index ${document.id}`,
    sm,
    treatment,
    growth: createIndexTerms(compositions, variant),
    ...(variant ? { indexTerms: createIndexTerms(compositions) } : {}),
    outside,
    isBrief,
    isSparse,
    ...(followedFrom === undefined ? {} : { followedFrom }),
    from: first,
    to,
    targets: list
      .filter(({ session }) => session <= to)
      .map((composition) => createIndexTargets(composition, uncapped)),
    shareChanges: createShareChangeTerms(compositions),
    initialValue: document.base_value,
    ...createBookRounding(document, sm),
    costRate: 0,
    fills: 'all',
    ...(roomForWeights ? { roomForWeights } : {}),
    ...(tick ? { tick } : {}),
  });
}

/**
 * Returns the targets of an index book for a composition.
 * @param isUncapped true to use the weights without caps
 */
export function createIndexTargets(
  { session, columns, weights, uncapped, basket, fixedShares, counts, entered }: Composition,
  isUncapped: boolean,
): Targets {
  const optionalTargets = {
    ...(counts === undefined ? {} : { counts }),
    ...(entered === undefined ? {} : { entered }),
  };
  if (isUncapped) return { session, columns, weights: uncapped, ...optionalTargets };
  return {
    session,
    columns,
    weights,
    ...(basket === undefined ? {} : { basket }),
    ...(fixedShares === undefined ? {} : { fixedShares }),
    ...optionalTargets,
  };
}

/** Returns true if caps or a floor in a definition can change weights. */
export function isCapped({ document }: Pick<Compositions, 'document'>): boolean {
  const weighting = document.pipeline?.weighting;
  return (
    weighting !== undefined &&
    (weighting.cap !== null ||
      weighting.floor !== null ||
      weighting.group_caps.length > 0 ||
      weighting.ladder_caps !== undefined)
  );
}

/** Returns the days of a book, [T]. */
export function listBookDays({ sm, from, length }: Book): Int32Array {
  return sm.sessions.slice(from, from + length);
}

/** Returns the holdings of a book after a close, long and short: columns, ascending, and weights. */
export function listHoldings(
  { from, columns, weights }: Book,
  session: number,
): { readonly columns: Int32Array; readonly weights: Float64Array } {
  const row = (session - from) * columns.length;
  const holdings = { columns: new Int32Array(columns.length), weights: new Float64Array(columns.length) };
  let count = 0;
  for (let slot = 0; slot < columns.length; slot++) {
    const weight = weights[row + slot]!;
    if (weight === 0) continue;
    holdings.columns[count] = columns[slot]!;
    holdings.weights[count++] = weight;
  }
  return { columns: holdings.columns.slice(0, count), weights: holdings.weights.slice(0, count) };
}

/**
 * Returns the holdings of a book together with its waiting purchases, as far as its cash allows. Includes the remaining
 * cash if its exact value is known.
 */
export function findRequestedShares(book: Book, session: number): Omit<Targets, 'session'> {
  const position = session - book.from;
  const holdings = { ...listHoldings(book, session), cash: book.cash[position]! };
  const waitingOrders = book.unfilled.filter(
    (order) =>
      order.side === 'buy' &&
      order.at <= position &&
      !(isPast(order.filledAt, position) || isPast(order.replacedAt, position)),
  );
  if (waitingOrders.length === 0) return holdings;
  const toShare = ({ notional }: { readonly notional: number }): number => notional / book.value[position]!;
  const scale = Math.min(1, book.cash[position]! / waitingOrders.reduce((sum, order) => sum + toShare(order), 0));
  const weightByColumn = new Map(Array.from(holdings.columns, (column, k) => [column, holdings.weights[k]!]));
  for (const order of waitingOrders) {
    const column = book.columns[order.slot]!;
    weightByColumn.set(column, (weightByColumn.get(column) ?? 0) + scale * toShare(order));
  }
  const entries = [...weightByColumn].toSorted(([a], [b]) => a - b);
  return {
    columns: Int32Array.from(entries, ([column]) => column),
    weights: Float64Array.from(entries, ([, weight]) => weight),
  };
}

function isPast(position: number | null, current: number): boolean {
  return position !== null && position <= current;
}
