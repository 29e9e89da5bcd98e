import type { RelativeMetrics } from '../../analytics/relative.js';
import type { CorporateAction } from '../../market/market-data.js';
import type { ExtendedRecord } from '../extend/extend-record.js';
import type { Continuation } from '../extend/continuation.js';
import type { Numbers, NumbersOf, NumberType } from '../../numbers/number-types.js';
import type { BacktestPlan } from '../../documents/backtest-plan.js';
import type { PackedRecord } from '../record/pack.js';
import type { Run } from '../run.js';
import type { Book } from '../../books/book.js';
import type { Trades } from '../../books/trades.js';
import type { ForeignRates } from './foreign-rates.js';

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
  /** Returns every corporate action of the given market columns. */
  readonly actionsOf: (columns: Int32Array) => readonly CorporateAction[];
}
