import type { ReferenceTable } from '#domain/market/market-data.js';
import type { MarketContent } from '../content/market-content.js';
import type { TableKind, RowsByTable } from '../tables/table-kinds.js';
import type { FileDigest } from '../formats/digest-file.js';
import type { DuckDb } from '../formats/duckdb.js';
import type { DerivedActions } from '#domain/documents/mapping.js';
import type { MarketInterpretation } from '../mapping/mapped-content.js';
import type { TableDigests } from './known-files.js';
import type { Problems } from '../tables/problems.js';
import type { DividendError } from '../content/dividend-errors.js';
import type { DayFollower } from '../threads/scatter-rows.js';

/** Result of reading a source. */
export interface SourceResult {
  readonly content: MarketContent;
  readonly rows: RowsByTable;
  readonly files: readonly FileDigest[];
  /** Tables that were not read because their files are unchanged. */
  readonly unchangedTables?: readonly TableKind[];
  /** Numbers of actions derived from adjusted closes; null if no derivation was requested. */
  readonly derived?: DerivedActions | null;
  /** Rounding error of each derived dividend. */
  readonly dividendErrors?: readonly DividendError[];
}

export interface ReadOptions {
  /** Interpretation of the market. Default: no mapping. */
  readonly terms?: MarketInterpretation;
  /** True if the files are only a part of a source. A part may contain no bar. */
  readonly isPart?: boolean;
  /** True if the service wrote the files itself. */
  readonly isOwn?: boolean;
  /** Digests of known files. A table with equal digests is not read. */
  readonly knownDigests?: TableDigests;
  /** Receives days of the market as soon as they are complete. Some orders of reading do not permit this. */
  readonly follower?: DayFollower;
}

/** State shared by the tables of one source while they are read. */
export interface SourceReadState {
  readonly digests: FileDigest[];
  readonly unchangedTables: TableKind[];
  readonly problems: Problems;
  readonly knownDigests: TableDigests;
  readonly follower: DayFollower | undefined;
  readonly terms: MarketInterpretation;
  /** Returns the DuckDB that reads all Parquet files of the source. */
  duck(): Promise<DuckDb>;
}

/** State shared by the readers of the market, which follows the reference table. */
export interface MarketReadState extends SourceReadState {
  readonly reference: ReferenceTable;
}
