import type { DatedSeries } from '../../analytics/relative.js';
import { LIMITS } from '../../limits.js';
import { coverageOf } from '../simulate/window.js';
import type { Book } from '../simulate/book.js';
import { CannotGoOn, type Continuation, type IndexContinuation } from './resume.js';
import { latestPositions, tradePrices } from '../simulate/portfolio.js';
import { assertFinite, isFrame, readDescription, type Description, type FrameReference, type Kind, type Numbers, type Plain } from '../record/record-columns.js';
import { lengthOf, poolsBehind, type Place, type Pools } from '../record/record-pools.js';
import type { RunColumns } from '../run-file/columns.js';
import { gapsOf, pricingOf, snapshotOf, TRANSACTION_ROWS_MAX, type RecordedBook, type RecordedGaps, type RecordedPortfolio, type RecordedPositions, type RecordedPricing, type RecordedTransactions, type Snapshot, type WeightsFrame } from '../record/run-record.js';
import type { Trades } from '../simulate/trades.js';

/** The record of a run gone on with: a description that refers to what was stored and to what is added behind it. */
export interface ExtendedRecord {
  readonly description: Uint8Array;
  /** What is added to the numbers of the record, by the block they are in. */
  readonly added: Readonly<Record<Kind, readonly Numbers[]>>;
  readonly identifiers: readonly string[];
  readonly gaps: RecordedGaps;
  readonly pricing: RecordedPricing;
  /** Levels of an external benchmark on all of its dates. */
  readonly benchmark: DatedSeries | null;
}

export interface ExtendRecordInput {
  readonly stored: RunColumns;
  readonly continuation: Continuation;
  readonly plain: Plain;
  /** Trades and gaps of the new sessions. */
  readonly trades: Trades;
  readonly gaps: Continuation['index']['book']['gaps'];
}

/** The members of an object whose arrays are places. */
type Placed<T, K extends keyof T> = Omit<{ -readonly [M in keyof T]: T[M] }, K> & { [M in K]: Place };

type DescribedFrame = Placed<WeightsFrame, 'days' | 'columns' | 'weights'>;
type DescribedSnapshot = Placed<Snapshot, 'columns' | 'weights' | 'uncapped' | 'capped'>;

interface DescribedBook extends Placed<Omit<RecordedBook, 'divisor' | 'frame' | 'snapshots'>, 'days' | 'levels'> {
  divisor: Place | null;
  frame: DescribedFrame | FrameReference | null;
  snapshots: DescribedSnapshot[];
}

interface DescribedPortfolio extends Placed<Omit<RecordedPortfolio, 'frame' | 'positions' | 'transactions'>, 'days' | 'value' | 'cash'> {
  frame: DescribedFrame | FrameReference;
  positions: Placed<RecordedPositions, Exclude<keyof RecordedPositions, 'total'>>;
  transactions: Placed<RecordedTransactions, Exclude<keyof RecordedTransactions, 'total'>>;
}

/** What a description has beside the plain members of the record. */
interface Rest {
  readonly benchmark: DescribedBook | null;
  readonly target: DescribedBook;
  readonly optimised: DescribedBook | null;
  readonly portfolio: DescribedPortfolio;
  readonly gaps: Placed<RecordedGaps, keyof RecordedGaps>;
  readonly pricing: Placed<RecordedPricing, keyof RecordedPricing>;
}

/**
 * @throws CannotGoOn when portfolio and index begin or cease to hold the same
 * @cost O(H) for each new session, and the description
 */
export function extendRecord({ stored, continuation, plain, trades, gaps }: ExtendRecordInput): ExtendedRecord {
  const { index, portfolio, parent, benchmark, series, rebalances, range } = continuation;
  const { sm } = index;
  const description = readDescription(stored);
  const rest = description.rest as Rest; // as packRecord and this function write it.
  const names = namesOf(description, sm.identifiers);
  const pools = poolsBehind(stored);
  const { grow, slide } = pools;
  const first = stored.header.dates - 1;
  const bookOf = (shown: DescribedBook, more: IndexContinuation): void => extendBook({ shown, more, portfolio, stored, names, pools });

  const target = rest.target;
  bookOf(target, parent ?? index);
  target.coverage = parent ? null : range.coverage;
  if (rest.optimised) {
    bookOf(rest.optimised, index);
    rest.optimised.coverage = range.coverage;
  }
  if (rest.benchmark && benchmark) {
    bookOf(rest.benchmark, benchmark);
    rest.benchmark.coverage = coverageOf(benchmark.sm.calendar, benchmark.sm.market.dates, range);
  } else if (rest.benchmark && series) {
    rest.benchmark.days = grow(rest.benchmark.days, series.added.days);
    rest.benchmark.levels = grow(rest.benchmark.levels, series.added.values);
  }

  const own = rest.portfolio;
  own.days = grow(own.days, sessionsAfter(portfolio));
  own.value = grow(own.value, portfolio.value.subarray(1));
  own.cash = grow(own.cash, portfolio.cash.subarray(1));
  if (!isFrame(own.frame)) throw new Error('the portfolio is told by other weights than its own');
  own.frame = { portfolioRows: Math.min(LIMITS.MAX_WEIGHT_DATES, stored.header.dates + portfolio.length - 1) };

  const shown = latestPositions({ portfolio: withoutFirst(portfolio), document: index.document }, LIMITS.MAX_POSITION_ROWS);
  const keep = LIMITS.MAX_POSITION_ROWS - shown.count;
  const { positions, transactions } = own;
  positions.total += shown.total;
  positions.at = slide(positions.at, keep, shown.session.map((session) => session - portfolio.from + first));
  positions.columns = slide(positions.columns, keep, names.places(Int32Array.from(shown.slot, (slot) => portfolio.columns[slot]!)));
  for (const member of ['units', 'price', 'value', 'weight'] as const) positions[member] = slide(positions[member], keep, shown[member]);

  const kept = TRANSACTION_ROWS_MAX - trades.count;
  transactions.total += trades.count;
  transactions.at = slide(transactions.at, kept, trades.at.slice(0, trades.count).map((at) => at + first));
  transactions.columns = slide(transactions.columns, kept, names.places(Int32Array.from(trades.slot.subarray(0, trades.count), (slot) => portfolio.columns[slot]!)));
  transactions.price = slide(transactions.price, kept, tradePrices({ portfolio, document: index.document, trades, index: { compositions: index } }));
  for (const member of ['notional', 'reason', 'isFree'] as const) transactions[member] = slide(transactions[member], kept, trades[member].subarray(0, trades.count));

  const absent = gapsOf({ gaps, portfolio });
  rest.gaps.columns = grow(rest.gaps.columns, names.places(absent.columns));
  rest.gaps.days = grow(rest.gaps.days, absent.days);
  rest.gaps.pricedFrom = grow(rest.gaps.pricedFrom, absent.pricedFrom);
  const priced = pricingOf({ rebalances, portfolio });
  rest.pricing.dates = grow(rest.pricing.dates, priced.dates);
  rest.pricing.pricedFrom = grow(rest.pricing.pricedFrom, priced.pricedFrom);

  for (const array of pools.added.f64) if (array instanceof Float64Array) assertFinite(array);
  const text = JSON.stringify({ identifiers: names.identifiers, plain, rest } satisfies Description);
  return { description: new TextEncoder().encode(text), added: pools.added, identifiers: names.identifiers, ...told(stored, rest, pools) };
}

/** Gaps, pricing and benchmark of the whole run, read where the description says. */
function told(stored: RunColumns, { gaps, pricing, benchmark }: Rest, { read }: Pools): Pick<ExtendedRecord, 'gaps' | 'pricing' | 'benchmark'> {
  const days = (place: Place): Int32Array => read(stored, place) as Int32Array; // What is kept in the i32 block.
  return {
    gaps: { columns: days(gaps.columns), days: days(gaps.days), pricedFrom: days(gaps.pricedFrom) },
    pricing: { dates: days(pricing.dates), pricedFrom: days(pricing.pricedFrom) },
    benchmark: benchmark && { days: days(benchmark.days), values: read(stored, benchmark.levels) as Float64Array }, // kept in the f64 block
  };
}

/** Days of a book that begins with a session known before. */
function sessionsAfter({ sm, from, length }: Book): Int32Array {
  return sm.sessions.slice(from + 1, from + length);
}

/** A book without the session it was gone on with from. */
function withoutFirst(book: Book): Book {
  const { from, length, columns, weights, value, counts } = book;
  return { ...book, from: from + 1, length: length - 1, weights: weights.subarray(columns.length), value: value.subarray(1), counts: counts.subarray(1) };
}

interface Names {
  readonly identifiers: string[];
  /** Places of columns of the market among the identifiers of the record; names that it has not told yet are added to them. */
  places(columns: ArrayLike<number>): Int32Array;
}

function namesOf({ identifiers: told }: Description, market: readonly string[]): Names {
  const identifiers = [...told];
  const placeOf = new Map(identifiers.map((identifier, place) => [identifier, place]));
  const placeOfColumn = (column: number): number => {
    const identifier = market[column]!;
    let place = placeOf.get(identifier);
    if (place === undefined) placeOf.set(identifier, (place = identifiers.push(identifier) - 1));
    return place;
  };
  return { identifiers, places: (columns) => Int32Array.from(columns, placeOfColumn) };
}

interface ExtendBookInput {
  readonly shown: DescribedBook;
  readonly more: IndexContinuation;
  readonly portfolio: Book;
  readonly stored: RunColumns;
  readonly names: Names;
  readonly pools: Pools;
}

function extendBook(input: ExtendBookInput): void {
  const { shown, more: { book, composed }, names, pools } = input;
  const { grow } = pools;
  const before = lengthOf(shown.days);
  shown.frame = extendFrame(input, before);
  shown.days = grow(shown.days, sessionsAfter(book));
  shown.levels = grow(shown.levels, book.value.subarray(1));
  shown.divisor = grow(shown.divisor!, book.divisor.subarray(1));
  const added = composed.map((composition) => describeSnapshot(snapshotOf(composition), { names, pools }));
  shown.snapshots = [...shown.snapshots, ...added].slice(-LIMITS.MAX_REBALANCES);
  shown.rebalancesTotal += composed.length;
}

function describeSnapshot({ date, announced, columns, weights, uncapped, cap, capped, redistributed }: Snapshot, { names, pools: { add } }: Pick<ExtendBookInput, 'names' | 'pools'>): DescribedSnapshot {
  const applied = add(weights);
  return { date, announced, columns: add(names.places(columns)), weights: applied, cap, capped: add(names.places(capped)), redistributed, uncapped: weights === uncapped ? applied : add(uncapped) };
}

/**
 * The most recent weights of a book with those of the new sessions: the portfolio's own where the whole run would tell that both
 * held the same.
 */
function extendFrame({ shown, more: { book }, portfolio, stored, names, pools }: ExtendBookInput, before: number): DescribedFrame | FrameReference {
  const { frame } = shown;
  const max = LIMITS.MAX_WEIGHT_DATES;
  const length = before + book.length - 1;
  const dates = stored.header.dates + portfolio.length - 1;
  const canBeSame = book.sm === portfolio.sm && Math.min(length, max) === Math.min(dates, max) && book.from + book.length === portfolio.from + portfolio.length && isEqual(book.columns, portfolio.columns);
  const isSame = canBeSame && (book.weights.buffer === portfolio.weights.buffer || isEqual(book.weights.subarray(book.columns.length), portfolio.weights.subarray(portfolio.columns.length)));
  if (frame === null) throw new Error('a book without weights is gone on with');
  if (isFrame(frame)) {
    if (!isSame) throw new CannotGoOn('parted');
    return { portfolioRows: Math.min(max, dates) };
  }
  const columns = names.places(book.columns);
  const shownBefore = withNames(frame, { columns, stored, pools });
  const added = book.length - 1;
  const keep = Math.max(0, max - added);
  const last = Math.min(added, max);
  const days = pools.slide(frame.days, keep, sessionsAfter(book).subarray(added - last));
  const weights = pools.slide(shownBefore.weights, keep * columns.length, book.weights.slice((book.length - last) * columns.length));
  const rows = Math.min(before, keep);
  if (isSame && heldAlike(stored, { identifiers: names.identifiers, columns, rows, weights: pools.read(stored, shownBefore.weights) as Float64Array })) throw new CannotGoOn('parted');
  return { days, columns: shownBefore.columns, weights };
}

/** Stored weights of a book by the names that it has now: what it could not hold before had none. */
function withNames({ columns: known, weights }: DescribedFrame, { columns, stored, pools }: Pick<ExtendBookInput, 'stored' | 'pools'> & { readonly columns: Int32Array }): Pick<DescribedFrame, 'columns' | 'weights'> {
  const before = pools.read(stored, known);
  if (isEqual(columns, before)) return { columns: known, weights };
  const placeOf = new Map(Array.from(columns, (column, place) => [column, place]));
  const places = Int32Array.from(before, (column) => placeOf.get(column) ?? -1);
  if (places.includes(-1)) throw new Error('a book has lost a name that it could hold');
  const rows = pools.read(stored, weights) as Float64Array; // Weights are kept in the f64 block.
  const wide = new Float64Array((rows.length / before.length) * columns.length);
  for (let at = 0, row = 0; at < rows.length; at += before.length, row += columns.length) {
    for (let k = 0; k < before.length; k++) wide[row + places[k]!] = rows[at + k]!;
  }
  return { columns: pools.add(columns), weights: pools.add(wide) };
}

interface HeldInput {
  readonly identifiers: readonly string[];
  readonly columns: Int32Array;
  /** Last rows that stay. */
  readonly rows: number;
  /** Of the book, as stored. */
  readonly weights: Float64Array;
}

/** Whether the last stored rows of a book are those of the portfolio. */
function heldAlike(stored: RunColumns, { identifiers, columns, rows, weights }: HeldInput): boolean {
  const { names, dates } = stored.header;
  if (rows > dates) return false;
  const placeOf = new Map(names.map((name, place) => [name, place]));
  const places = Int32Array.from(columns, (column) => placeOf.get(identifiers[column]!) ?? -1);
  const own = stored.f64('weights', (dates - rows) * names.length, dates * names.length);
  const first = weights.length - rows * columns.length;
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < columns.length; k++) {
      const held = places[k]! < 0 ? 0 : own[row * names.length + places[k]!]!;
      if (weights[first + row * columns.length + k] !== held) return false;
    }
  }
  return true;
}

function isEqual(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
