import type { RelativeMetrics } from '../../analytics/relative-returns.js';
import { findLastAtMost, type Numbers, type NumbersOf, type NumberType } from '../../base/numbers.js';
import type { Book } from '../../books/book.js';
import type { Trades } from '../../books/trades.js';
import type { BacktestPlan } from '../../definition/backtest-plan.js';
import {
  type CorporateAction,
  listVariants,
  resolveVariant,
  type ReturnVariant,
  UNTAXED_VARIANTS,
} from '../../market/market-data.js';
import type { ExchangeRates } from '../../market/rates.js';
import type { Continuation } from '../checkpoint.js';
import type { ExtendedRecord, PackedRecord } from '../record.js';
import type { Run } from '../run.js';

/** Exchange rates of a run. Securities in one currency share a row. */
export interface ForeignRates {
  /** Row of each security with prices in another currency, by security position. */
  readonly foreign: Readonly<Record<string, number>>;
  /** Rates on every session of the market, by row. */
  readonly rows: readonly Float64Array[];
}

/**
 * Collects the exchange rates of the securities of a run.
 * @param names market columns of the securities
 */
export function createForeignRates(rates: ExchangeRates, names: Int32Array): ForeignRates {
  const rowBySeries = new Map<Float64Array, number>();
  const foreignRows: Record<string, number> = {};
  for (let position = 0; position < names.length; position++) {
    if (rates.isNative(names[position]!)) continue;
    const series = rates.seriesOf(names[position]!); // all securities of a currency share one array
    const row = rowBySeries.get(series) ?? rowBySeries.size;
    rowBySeries.set(series, row);
    foreignRows[String(position)] = row;
  }
  return { foreign: foreignRows, rows: [...rowBySeries.keys()] };
}

/** Axes of a block, slowest first. */
export type Axis =
  | 'dates' // dates of the run, T
  | 'index dates' // dates of the index book, B
  | 'benchmark dates' // shared dates of run and benchmark, K
  | 'joined dates' // dates before a security joined the run, for each such security
  | 'rebalances' // R.
  | 'events' // sessions with events other than drift, E
  | 'effects' // corporate actions on held securities, A
  | 'currencies' // foreign price currencies, F
  | 'names' // securities held in the run, H
  | 'numbers'
  | 'bytes';

/** Ways to compare a block between two files. */
export type BlockComparison =
  /**
   * By date of the first axis, then by security. If several blocks differ on one date, the block with the lowest rank
   * is reported, because it is the cause.
   */
  | { readonly by: 'date'; readonly rank: number }
  /** By date: reports the first date that only one of the blocks contains. */
  | { readonly by: 'days' }
  /** By date; reported after all differences on a date of the run. */
  | { readonly by: 'other days' }
  /** By element; reported after all dated differences, lowest rank first. */
  | { readonly by: 'element'; readonly rank: number }
  /** As a whole; values are not reported. */
  | { readonly by: 'content' }
  /** Field by field, as a part of the record. */
  | { readonly by: 'record' }
  /** Not compared: contains only positions of elements, which are compared in another block. */
  | { readonly by: 'layout' };

/** Relation of a block in files of version 0.1.0 to its current form. */
export type BlockUpgrade =
  /** Unchanged form. */
  | 'same'
  /** Block that does not exist and has no replacement. It is not compared, and no view reads it. */
  | 'absent'
  /**
   * Numbers in another order or with another number of rows. The function converts a block of any version to one common
   * form before a comparison.
   */
  | ((columns: BlockReader) => Float64Array);

/** Run file as a source for `BlockUpgrade`. */
export interface BlockReader {
  readonly header: { readonly dates: number; readonly foreign: Readonly<Record<string, number>> };
  f64(name: 'detachments' | 'distributions' | 'effects' | 'rates'): Float64Array;
}

/** Elements of a block that are written directly into the memory of the file. */
export interface BlockFiller<N extends Numbers> {
  readonly length: number;
  writeTo(block: N): void;
}

/** Elements of a block that an extension writes. */
export type Addition<N extends Numbers> =
  /** Elements to append to the stored ones. */
  | { readonly appended: readonly N[] }
  /** All elements of the block, which replace the stored ones. */
  | { readonly replaced: N };

/** Block of a run file, with all its operations. */
export interface Block<K extends NumberType> {
  readonly type: K;
  readonly axes: readonly Axis[];
  readonly meaning: string;
  /** Number of elements per row, if every row begins with the position of a security. */
  readonly positionsEvery?: number;
  /** Block with the elements of securities that joined after a file was written. Default: these elements are zero. */
  readonly joined?: 'joinedPrice';
  /**
   * True if an extension may add the block to a stored run that lacks it. Default: the extended run lacks the block as
   * well.
   */
  readonly canBeAddedLater?: boolean;
  /** Returns the elements of a whole run. Returns null if the run has no such block. */
  readonly whole: (source: WholeRun) => BlockFiller<NumbersOf<K>> | null;
  /** Returns the elements of an extension. Returns null if the run has no such block. */
  readonly added: (source: AppendedSessions) => Addition<NumbersOf<K>> | null;
  readonly compare: BlockComparison;
  readonly upgrade: BlockUpgrade;
}

export type AnyBlock = Block<'f64'> | Block<'i32'> | Block<'u8'>;

/** Whole run, with data from which several blocks are written. */
export interface WholeRun {
  readonly run: Run;
  readonly contentHash: string;
  /** Columns of the market that the run held or targeted, ascending, [H]. */
  readonly names: Int32Array;
  /**
   * Index book. Present only if its weights differ from the portfolio weights on some date and views show both;
   * otherwise null.
   */
  readonly indexRows: Book | null;
  readonly rates: ForeignRates;
  readonly record: PackedRecord;
}

/** New sessions of a stored run, with data of the whole run. */
export interface AppendedSessions {
  readonly plan: BacktestPlan;
  readonly contentHash: string;
  readonly continuation: Continuation;
  /** Market columns of the whole run's securities, and of the securities that the stored run lacks. */
  readonly names: Int32Array;
  readonly joined: Int32Array;
  /** Number of stored dates of the run. */
  readonly before: number;
  readonly hasIndexWeights: boolean;
  readonly rates: ForeignRates;
  /** Days of the whole run. */
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly value: Float64Array;
  readonly costs: Float64Array;
  readonly indexLevel: Float64Array;
  readonly relative: RelativeMetrics | null;
  /** Trades of the new sessions. */
  readonly trades: Trades;
  readonly record: Pick<ExtendedRecord, 'description' | 'rebalances' | 'added'>;
  readonly actionsOf: (columns: Int32Array) => readonly CorporateAction[];
}

/** Shorthands for the catalogue entries. */

export const compareByDate = (rank: number): BlockComparison => ({ by: 'date', rank });
export const compareByElement = (rank: number): BlockComparison => ({ by: 'element', rank });

/** Returns a filler that copies values from memory. */
export function toFilling<N extends Numbers>(values: N): BlockFiller<N> {
  return { length: values.length, writeTo: (into) => into.set(values) };
}

export function toFillingOrNull<N extends Numbers>(values: N | null): BlockFiller<N> | null {
  return values && toFilling(values);
}

/** Returns an addition that appends elements to the stored ones. */
export function createAppended<N extends Numbers>(...added: N[]): Addition<N> {
  return { appended: added };
}

interface SeriesSource extends Pick<Block<'f64'>, 'axes' | 'meaning' | 'compare'> {
  readonly whole: (source: WholeRun) => Float64Array | null;
  /** Elements of an extension, beginning with the last stored session. */
  readonly added: (source: AppendedSessions) => Float64Array | null;
}

/** Creates a block with one value per date, to which an extension appends. */
export function createSeriesBlock({ whole, added, ...description }: SeriesSource): Block<'f64'> {
  return {
    ...description,
    type: 'f64',
    upgrade: 'same',
    whole: (source) => toFillingOrNull(whole(source)),
    added(source) {
      const values = added(source);
      return values && createAppended(values.subarray(1));
    },
  };
}

/**
 * Creates the block of the index level or divisor in a return variant. The block is absent if the market prices do not
 * allow that variant.
 */
export function createVariantBlock(variant: ReturnVariant, member: 'level' | 'divisor', rank: number): Block<'f64'> {
  return createSeriesBlock({
    axes: ['index dates'],
    compare: compareByDate(rank),
    meaning: `${variant} return ${member}`,
    whole({ run }) {
      const { [variant]: variantLevel } = run.variants;
      return variantLevel && variantLevel[member];
    },
    added({ continuation }) {
      if (!listVariants(continuation.index.sm.market).includes(variant)) return null;
      const { levels } = continuation.index.book.reinvested ?? {};
      const isOwn = variant === resolveVariant(continuation.index.sm.market, continuation.index.treatment.dividends);
      if (levels && !isOwn) return member === 'level' ? levels[variant] : continuation.index.book.divisor;
      return findVariantBook(continuation, variant)[member === 'level' ? 'value' : 'divisor'];
    },
  });
}

/**
 * Returns the book of a return variant as in a full run. A variant that is not simulated shares the book of the index,
 * or of the variant before tax.
 */
function findVariantBook({ index, variants }: Continuation, variant: ReturnVariant): Book {
  const {
    treatment,
    sm: { market },
  } = index;
  const ownVariant = resolveVariant(market, treatment.dividends);
  const findBook = (otherVariant: ReturnVariant): Book =>
    otherVariant === ownVariant ? index.book : (variants[otherVariant] ?? findBook(UNTAXED_VARIANTS[otherVariant]));
  return findBook(variant);
}

/** Creates the block for numbers of the record of one type. */
export function createPoolBlock<K extends NumberType>(type: K, meaning: string): Block<K> {
  return {
    type,
    meaning,
    axes: ['numbers'],
    compare: { by: 'record' },
    upgrade: 'absent',
    whole: ({ record: { pools } }) => ({ length: pools[type].length, writeTo: (into) => pools[type].writeTo(into) }),
    added: ({ record }) => ({ appended: record.added[type] }),
  };
}

/** Returns the position in `columns` of each of the `others`; -1 if absent. Both arrays ascend. */
export function assignSlots(columns: Int32Array, others: Int32Array): Int32Array {
  const slots = new Int32Array(others.length).fill(-1);
  for (let i = 0, slot = 0; i < others.length; i++) {
    while (slot < columns.length && columns[slot]! < others[i]!) slot++;
    if (columns[slot] === others[i]) slots[i] = slot;
  }
  return slots;
}

/**
 * Writes the values of a row for other securities. `slots` are their positions in the row; a negative position gives 0.
 */
export function scatterRow(row: Float64Array, slots: Int32Array, into: Float64Array): void {
  for (let i = 0; i < slots.length; i++) into[i] = slots[i]! < 0 ? 0 : row[slots[i]!]!;
}

/** Returns the position of a column in an ascending array. Returns -1 if absent. */
export function findPosition(columns: Int32Array, column: number): number {
  const position = findLastAtMost(columns, column);
  return columns[position] === column ? position : -1;
}
