import type { UsedCalendars } from '#domain/calendars/used-calendars.js';
import type { MemoryLimit } from '#kernels/memory/paged-memory.js';
import type { Timing } from '#base/tracing/spans.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { InspectedData, InspectionTerms } from '../inspect/inspect.js';
import type { Inspection } from '../inspect/inspection.js';
import type { DatabaseLocation } from '../sources/databases/database-location.js';
import type { TableNames } from '../sources/databases/tables-to-read.js';
import type { TableKind, RowsByTable } from '../tables/table-kinds.js';
import type { TableFiles } from '../sources/folder.js';
import type { Day } from '#domain/time/days.js';
import type { ImportHeader } from '#domain/documents/import-request.js';
import type { ContentDigests } from '#domain/market/handle.js';
import type { DividendError } from '../content/dividend-errors.js';
import type { DerivedActions } from '#domain/documents/mapping.js';
import type { MarketInterpretation } from '../mapping/mapped-content.js';
import type { ErrorDetail } from '#domain/refusals/refusal.js';
import type { FileDigest } from '../formats/digest-file.js';
import type { ParquetLines } from '../formats/parquet-lines.js';
import type { TableImport } from '../import/import-answer.js';
import type { TableDigests } from '../sources/known-files.js';
import type { TransferMessage } from '../panels/shared-market.js';
import type { SqlNeeds, SqlOrder, SqlOutcome } from '../sql/sql-order.js';
import type { SyntheticSpec } from '../synthetic/spec.js';

/**
 * Tasks on whole stores, which run in a separate process. Readers run native code and keep whole files in memory. A
 * crash, a runaway task or a cancellation must only affect one task and not the service. This interface is the complete
 * boundary between the processes.
 */
export interface MarketTasks {
  /** Reads the files of a store. */
  readFiles: {
    readonly files: TableFiles;
    readonly isPart?: boolean;
    readonly isOwn?: boolean;
    readonly knownDigests?: TableDigests;
    readonly terms?: MarketInterpretation;
  };
  /** Reads the tables of a database. */
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
  /** Generates a synthetic market and writes it as a store. */
  generate: { readonly spec: SyntheticSpec; readonly folder: string };
}

export type MarketTaskName = keyof MarketTasks;

export type MarketTaskRequest = {
  [K in MarketTaskName]: { readonly task: K; readonly input: MarketTasks[K]; readonly options: TaskOptions };
}[MarketTaskName];

export interface TaskOptions {
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
  readonly files: readonly FileDigest[];
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

/** Report of a process. */
export type MarketTaskReport = { readonly timing?: ProcessTiming } & (
  | { readonly kind: 'progress'; readonly fraction: number; readonly message: string }
  /** Another part of the market is in a shared file. The market may still be rejected. */
  | TransferMessage
  /** Tables that a query reads; the process waits for SqlInputs. */
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

/** Times of a task in its process, in the last report. */
export interface ProcessTiming extends Timing {
  readonly pid: number;
}
