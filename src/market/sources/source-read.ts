import type { MarketContent } from '../content/market-content.js';
import type { TableKind, RowsByTable } from '../tables/table-kinds.js';
import type { FileDigest } from '../formats/digest-file.js';
import type { DuckDb } from '../formats/duckdb.js';
import type { DerivedActions } from '#domain/documents/mapping.js';
import type { MarketTerms } from '../mapping/mapped-content.js';
import type { KnownTables } from './known-files.js';
import type { Problems } from '../tables/problems.js';
import type { DividendError } from '../content/dividend-errors.js';
import type { DayFollower } from '../threads/scatter-rows.js';

/** Contents of a source as read. */
export interface SourceRead {
  readonly content: MarketContent;
  readonly rows: RowsByTable;
  readonly files: readonly FileDigest[];
  /** Tables that were not read because their files are the known ones. */
  readonly unchangedTables?: readonly TableKind[];
  /** Number of actions derived from adjusted closes; null if none were requested. */
  readonly derived?: DerivedActions | null;
  /** Precision of each derived dividend. */
  readonly dividendErrors?: readonly DividendError[];
}

export interface ReadOptions {
  /** Terms for interpreting the market. Default: no mapping. */
  readonly terms?: MarketTerms;
  /** The files are some of a source's: they may hold no bar. */
  readonly isPart?: boolean;
  /** The service wrote the files itself. */
  readonly isOwn?: boolean;
  /** Tables that need not be read when their files have these digests. */
  readonly known?: KnownTables;
  /** Receives days of the market that are complete before all of it is, where the order of reading permits. */
  readonly follower?: DayFollower;
}

/** State shared by the tables of one source while they are read. */
export interface ReadState {
  readonly digests: FileDigest[];
  readonly unchangedTables: TableKind[];
  readonly problems: Problems;
  readonly known: KnownTables;
  readonly follower: DayFollower | undefined;
  readonly terms: MarketTerms;
  /** Returns the reader of all its Parquet files. */
  duck(): Promise<DuckDb>;
}
