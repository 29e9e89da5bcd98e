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
  | 'benchmark dates' // dates that run and benchmark share, K
  | 'joined dates' // dates before a security joined the run, for each such security
  | 'rebalances' // R.
  | 'events' // sessions on which more than drift happened, E
  | 'effects' // corporate actions on held securities, A
  | 'currencies' // currencies of prices of foreign securities, F
  | 'names' // securities held in the run, H
  | 'numbers'
  | 'bytes';

/** Ways to compare a block of two files. */
export type BlockComparison =
  /**
   * By date of the first axis, then by security. If several blocks differ on one date, the block with the lowest rank
   * (the cause) is reported.
   */
  | { readonly by: 'date'; readonly rank: number }
  /** By date: the first date that only one of the blocks contains. */
  | { readonly by: 'days' }
  /** By date, reported after all differences on a date of the run. */
  | { readonly by: 'other days' }
  /** By element, reported after all differences with a date, lowest rank first. */
  | { readonly by: 'element'; readonly rank: number }
  /** As a whole, without values. */
  | { readonly by: 'content' }
  /** Field by field, as a part of the record. */
  | { readonly by: 'record' }
  /** Not compared: contains only positions of elements, which are compared in another block. */
  | { readonly by: 'layout' };

/** Form of a block in files of version 0.1.0. */
export type BlockUpgrade =
  /** Same form. */
  | 'same'
  /** Absent and without a replacement: not compared, and not used by views. */
  | 'absent'
  /** Numbers that the file has in another order or number of rows: compared in the current order. */
  | ((columns: BlockReader) => Float64Array);

/** Run file as seen by an upgrade. */
export interface BlockReader {
  readonly header: { readonly dates: number; readonly foreign: Readonly<Record<string, number>> };
  f64(name: 'distributions' | 'effects' | 'rates'): Float64Array;
}

/** Elements of a block, written directly into the memory of the file. */
export interface Filling<N extends Numbers> {
  readonly length: number;
  writeTo(block: N): void;
}

/** Elements of a block that an extension writes. */
export type Addition<N extends Numbers> =
  /** Elements to append to the stored ones. */
  | { readonly appended: readonly N[] }
  /** All elements, replacing the stored ones. */
  | { readonly replaced: N };

/** Block of a run file, with all its operations. */
export interface Block<K extends NumberType> {
  readonly type: K;
  readonly axes: readonly Axis[];
  readonly meaning: string;
  /** Numbers in a row, if rows begin with the position of a security. */
  readonly positionsEvery?: number;
  /**
   * Block with the elements of securities that joined after a file was written; if absent, they are zero in that file.
   */
  readonly joined?: 'joinedPrice';
  /** True if an extension may add the block to a run stored without it. Otherwise the extended run lacks it as well. */
  readonly canBeAddedLater?: boolean;
  /** Returns null if a run has no such block. */
  readonly whole: (source: WholeRun) => Filling<NumbersOf<K>> | null;
  /** Returns null if a run has no such block. */
  readonly added: (source: AddedSessions) => Addition<NumbersOf<K>> | null;
  readonly compare: BlockComparison;
  readonly upgrade: BlockUpgrade;
}

export type AnyBlock = Block<'f64'> | Block<'i32'> | Block<'u8'>;

/** Whole run, with data from which several blocks are made. */
export interface WholeRun {
  readonly run: Run;
  readonly contentHash: string;
  /** Columns of the market that the run held or targeted, ascending, [H]. */
  readonly names: Int32Array;
  /** Index, if its weights differ from those of the portfolio on some date and views show them. */
  readonly indexRows: Book | null;
  readonly rates: ForeignRates;
  readonly record: PackedRecord;
}

/** Sessions that extend a stored run, with data of the whole run. */
export interface AddedSessions {
  readonly plan: BacktestPlan;
  readonly contentHash: string;
  readonly continuation: Continuation;
  /** Columns of the market as in a whole run, and those that the stored run lacks. */
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
  /** Returns every corporate action of some columns of the market. */
  readonly actionsOf: (columns: Int32Array) => readonly CorporateAction[];
}
