import type { Timing } from '#base/tracing/tracing.js';
import type { Finding } from '#domain/base/findings.js';
import type { ErrorDetail } from '#domain/base/refusals.js';
import type { Day } from '#domain/base/time.js';
import type { UsedCalendars } from '#domain/calendars/calendar.js';
import type { ImportHeader } from '#domain/definition/datasets.js';
import type { DerivedActions } from '#domain/definition/mapping.js';
import type { ContentDigests } from '#domain/market/market-data.js';
import type {
  ColumnType,
  ListCell,
  ListViewName,
  MarketViewName,
  RowFormat,
  RunSqlView,
  SqlViewName,
} from '#domain/outputs/exports.js';
import type { MemoryLimit } from '#kernels/memory/paged-memory.js';
import type { DividendError } from '../content/market-content.js';
import type { SourceDigest } from '../formats/source-file.js';
import type { MarketInterpretation } from '../mapping/mapped-content.js';
import type { TransferMessage } from '../panels/market-transfer.js';
import type { DatabaseLocation } from '../read/database-location.js';
import type { TableDigests, TableFiles } from '../read/folder.js';
import type { TableImport } from '../read/import.js';
import type { InspectedData, Inspection, InspectionTerms } from '../read/inspection.js';
import type { ParquetLines } from '../read/parquet.js';
import type { TableNames } from '../read/source-read.js';
import type { SyntheticSpec } from '../synthetic/factors.js';
import type { RowsByTable, TableKind } from '../tables/table-kinds.js';
import type { QueryMemory } from './process-pool.js';

/** Query with its limits and output. */
export interface SqlOrder {
  readonly query: string;
  readonly format: RowFormat;
  /** Ids of indices with a run that the client may read. */
  readonly runs: readonly string[];
  readonly columns: Readonly<Record<SqlViewName, Readonly<Record<string, SqlColumnType>>>>;
  readonly resultFile: string;
  /** Module that exports `createResultWriter`, which encodes rows. */
  readonly encoder: string;
  readonly limits: SqlLimits;
  readonly memory: QueryMemory;
}

export type SqlColumnType = ColumnType | 'flag';

interface SqlLimits {
  /** Maximum number of runs whose tables a query may read. */
  readonly runs: number;
  readonly rows: number;
  readonly bytes: number;
}

/** Tables that a query reads. Conditions of the query on `index_id` limit them. */
export interface SqlNeeds {
  readonly runs: readonly { readonly view: RunSqlView; readonly indexId: string }[];
  /** Views with the columns in the query. Null selects all columns. */
  readonly market: readonly { readonly view: MarketViewName; readonly columns: readonly string[] | null }[];
  readonly lists: readonly ListViewName[];
}

/** Inputs of a query: Parquet files, in the order in which they were requested, and rows of lists. */
export interface SqlInputs {
  readonly runs: readonly string[];
  readonly market: readonly { readonly file: string; readonly columns: readonly string[] }[];
  readonly lists: readonly (readonly (readonly ListCell[])[])[];
}

export interface SqlOutcome {
  readonly rows: number;
  /** True if rows beyond the limit were dropped. */
  readonly isTruncated: boolean;
}

/** Values of a column. They are days or counts, numbers, or positions in a list of texts. */
type ResultValues = Int32Array | Float64Array | { readonly codes: Int32Array; readonly texts: readonly string[] };

export interface ResultColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly values: ResultValues;
}

export interface ResultWriter {
  rows(columns: readonly ResultColumn[], count: number): void;
  end(isTruncated: boolean): void;
}

export type CreateResultWriter = (
  format: RowFormat,
  columns: Readonly<Record<string, ColumnType>>,
  append: (bytes: Uint8Array) => void,
) => ResultWriter;

/**
 * Tasks on whole stores, which run in a separate process. Readers run native code and keep whole files in memory. A
 * crash, a runaway task or a cancellation must only affect one task and not the service. This interface is the complete
 * boundary between the processes.
 */
export interface MarketTasks {
  readFiles: {
    readonly files: TableFiles;
    readonly isPart?: boolean;
    readonly isOwn?: boolean;
    readonly knownDigests?: TableDigests;
    readonly terms?: MarketInterpretation;
  };
  readDatabase: {
    readonly place: DatabaseLocation;
    readonly tables: TableNames;
    readonly terms?: MarketInterpretation;
  };
  /** Reads the body of an import and writes it as a store. The caller decides about its header before. */
  importBody: Record<string, never>;
  /** Reads a table sent as a file and writes it as a store. */
  importTable: TableImport;
  /** Inspects data and proposes a mapping, or reads the data with a given mapping. Stores nothing. */
  inspect: { readonly inspected: InspectedData; readonly inspectionTerms: InspectionTerms };
  /** Runs a query. Requests the tables that the query reads. */
  query: SqlOrder;
  /** Writes the rows of a Parquet file as lines of JSON. */
  parquetLines: { readonly from: string; readonly to: string };
  generate: { readonly spec: SyntheticSpec; readonly folder: string };
}

export type MarketTaskName = keyof MarketTasks;

export type MarketTaskRequest = {
  [K in MarketTaskName]: { readonly task: K; readonly input: MarketTasks[K]; readonly options: TaskOptions };
}[MarketTaskName];

interface TaskOptions {
  /**
   * Files through which the market is transferred to the caller, which reads them into shared memory. When a file is
   * full, the next one is used. Null if the data is only checked.
   */
  readonly sharedFiles: readonly string[] | null;
  /** File with the body of a request; null if the task has none. */
  readonly bodyFile: string | null;
  /** Calendars of the stored indices. */
  readonly calendars: UsedCalendars;
  /** Memory limit of the caller, which also applies to the process. */
  readonly memory: MemoryLimit;
}

/** Properties of a content other than its values. */
export interface ContentSummary {
  readonly contentHash: string;
  readonly identifiers: number;
  /** First and last day of the market dataset. It is null if the dataset has no dates. */
  readonly start: Day | null;
  readonly end: Day | null;
  readonly rows: RowsByTable;
  /** Numbers of rows in an appended request. */
  readonly rowsRead?: RowsByTable;
  /** Total size of the files that were read or written, in bytes. */
  readonly bytes: number;
  readonly files: readonly SourceDigest[];
  /** Tables that were not read because their files are unchanged. */
  readonly unchangedTables?: readonly TableKind[];
  /** Numbers of actions derived from adjusted closes; null if no derivation was requested. */
  readonly derived?: DerivedActions | null;
  /** Rounding error of each derived dividend. */
  readonly dividendErrors?: readonly DividendError[];
  /** Warnings about the reading of the data and about the content. */
  readonly warnings: readonly Finding[];
  /** Warnings about the reading of the data. A later check of the content would not find them. */
  readonly readWarnings?: readonly Finding[];
}

export type MarketTaskReport = { readonly timing?: ProcessTiming } & (
  | { readonly kind: 'progress'; readonly fraction: number; readonly message: string }
  /** Another part of the market is in a shared file. The market may still be rejected. */
  | TransferMessage
  | { readonly kind: 'needs'; readonly needs: SqlNeeds }
  | { readonly kind: 'queried'; readonly outcome: SqlOutcome }
  | { readonly kind: 'inspected'; readonly inspection: Inspection }
  | { readonly kind: 'lines'; readonly lines: ParquetLines }
  | { readonly kind: 'done'; readonly summary: ContentSummary; readonly digests: ContentDigests }
  /** The content was rejected: at least one finding is an error. */
  | { readonly kind: 'refused'; readonly findings: readonly Finding[] }
  /** The header of an import was read; the process waits for an ImportResponse. */
  | { readonly kind: 'question'; readonly header: ImportHeader }
  /** The request was rejected before its data was read. */
  | { readonly kind: 'refusal'; readonly error: ErrorDetail }
  /** The output of the task could not be written. */
  | { readonly kind: 'unwritten'; readonly message: string; readonly isFull: boolean }
  /** A bug or exhausted resources, described without paths. */
  | { readonly kind: 'failed'; readonly message: string }
);

interface ProcessTiming extends Timing {
  readonly pid: number;
}
