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

/** Axes of a block, the slowest first. */
export type Axis =
  | 'dates' // Of the run, T.
  | 'index dates' // Of the index book, B.
  | 'benchmark dates' // That run and benchmark share, K.
  | 'joined dates' // Before the run came to hold a name, of each such name.
  | 'rebalances' // R.
  | 'events' // Sessions on which more than drift happened, E.
  | 'effects' // Of corporate actions on names held, A.
  | 'currencies' // That prices of foreign names are in, F.
  | 'names' // Held in the run, H.
  | 'numbers'
  | 'bytes';

/** How a block of two files is compared. */
export type Comparison =
  /**
   * By the dates of its first axis, then by name: of blocks that differ on one date the one of the lowest rank, the
   * cause, is reported.
   */
  | { readonly by: 'date'; readonly rank: number }
  /** As dates: the first that is not in both. */
  | { readonly by: 'days' }
  /** The same, after everything that has a date of the run. */
  | { readonly by: 'other days' }
  /** Element by element, after everything that has a date, the lowest rank first. */
  | { readonly by: 'element'; readonly rank: number }
  /** As a whole, without values. */
  | { readonly by: 'content' }
  /** As a part of the record, field by field. */
  | { readonly by: 'record' }
  /** Not at all: it only says where elements lie, which another block compares. */
  | { readonly by: 'layout' };

/** What files of version 0.1.0 have of a block. */
export type Upgrade =
  /** The same. */
  | 'same'
  /** Nothing, and nothing stands for it: it is not compared, views do without. */
  | 'absent'
  /** The same numbers in another order or number of rows: compared in the order of today. */
  | ((columns: BlockReader) => Float64Array);

/** A file, as an upgrade sees it. */
export interface BlockReader {
  readonly header: { readonly dates: number; readonly foreign: Readonly<Record<string, number>> };
  f64(name: 'distributions' | 'effects' | 'rates'): Float64Array;
}

/** Elements of a block, written straight into the file's memory. */
export interface Filling<N extends Numbers> {
  readonly length: number;
  writeTo(block: N): void;
}

/** What an extension writes of a block. */
export type Addition<N extends Numbers> =
  /** Elements after those stored. */
  | { readonly appended: readonly N[] }
  /** All elements, in place of those stored. */
  | { readonly replaced: N };

/** A block of a run file: everything that is ever done to it. */
export interface Block<K extends NumberType> {
  readonly type: K;
  readonly axes: readonly Axis[];
  readonly meaning: string;
  /** Set where rows begin with the position of a name: the numbers in a row. */
  readonly positionsEvery?: number;
  /** Block with the elements of names that joined after a file was written; without one they are zero in that file. */
  readonly joined?: 'joinedPrice';
  /** Whether an extension may write it although the stored run lacks it; without, the extended run lacks it as well. */
  readonly canBeAddedLater?: boolean;
  /** Null where a run has no such block. */
  readonly whole: (source: WholeRun) => Filling<NumbersOf<K>> | null;
  /** Null where a run has no such block. */
  readonly added: (source: AddedSessions) => Addition<NumbersOf<K>> | null;
  readonly compare: Comparison;
  readonly upgrade: Upgrade;
}

export type AnyBlock = Block<'f64'> | Block<'i32'> | Block<'u8'>;

/** A whole run, with what several blocks are made from. */
export interface WholeRun {
  readonly run: Run;
  readonly contentHash: string;
  /** Columns of the market that the run held or was asked to hold, ascending, [H]. */
  readonly names: Int32Array;
  /** The index where its weights differ from those of the portfolio on some date, and are what views show. */
  readonly indexRows: Book | null;
  readonly rates: ForeignRates;
  readonly record: PackedRecord;
}

/** The sessions that extend a stored run, and what concerns the whole run. */
export interface AddedSessions {
  readonly plan: BacktestPlan;
  readonly contentHash: string;
  readonly continuation: Continuation;
  /** Columns of the market as in a whole run, and those of them that the stored run has not. */
  readonly names: Int32Array;
  readonly joined: Int32Array;
  /** Stored dates of the run. */
  readonly before: number;
  readonly hasIndexWeights: boolean;
  readonly rates: ForeignRates;
  /** Of the whole run. */
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly value: Float64Array;
  readonly costs: Float64Array;
  readonly indexLevel: Float64Array;
  readonly relative: RelativeMetrics | null;
  /** Of the new sessions. */
  readonly trades: Trades;
  readonly record: Pick<ExtendedRecord, 'description' | 'rebalances' | 'added'>;
  /** Every action of some columns of the market. */
  readonly actionsOf: (columns: Int32Array) => readonly CorporateAction[];
}
