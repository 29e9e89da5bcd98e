import type { RerunRow } from '#contract/runs.js';
import type { SimulationRequest } from '#domain/analytics/simulation.js';
import type { StaleState } from '#domain/backtest/plan.js';
import type { LevelsDifference } from '#domain/backtest/run-file/compare.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import type { PublicationEntry } from '#domain/definition/publication.js';
import type { FullRunReason, RunDocument } from '#domain/definition/runs.js';
import type { MarketHandle } from '#domain/market/market-data.js';
import type { ExportFormat, ExportPosition, ExportTableName, ReadDifference } from '#domain/outputs/exports.js';
import type { ReportTemplateDocument, RunTerms } from '#domain/outputs/report-templates.js';
import type { AccountBacktestRequest } from '#domain/personal/account.js';
import type { BatchSummary } from '#domain/personal/batch-summary.js';
import type { BatchCommon, PartLines } from '#domain/personal/batch.js';
import type { Patch, RankingName, SweepBase, SweepFolds, Variation } from '#domain/studies/sweep.js';
import type { Difference, ShownDifference } from '#domain/studies/difference-result.js';
import type { DifferenceQuestion } from '#domain/studies/differences.js';
import type { ComparedReturns } from '#domain/studies/outside-levels.js';
import type { ArtifactRef } from '#store/port.js';
import type { IndexQuestion, ModelFiles } from './indices.js';
import type {
  CheckedFiles,
  EarlierContentFiles,
  HashedFile,
  ResponseBytes,
  RowsInBlocks,
  TaskOutputs,
} from './messages.js';

export const RUN_FILES = ['plan', 'columns', 'prices', 'checkpoint'] as const;
export type RunFileName = (typeof RUN_FILES)[number];

export interface BacktestInput {
  readonly market: MarketHandle;
  readonly plan: BacktestPlan;
  readonly models?: ModelFiles;
  readonly known?: EarlierContentFiles;
  readonly engineVersion: string;
  /** Stored run that is extended if the result is the same, or the reason why no run can be extended. */
  readonly stored?: ResumableRun | FullRunReason | null;
  /** Stored price files of runs. If one of them contains the prices of this run, the prices are not written again. */
  readonly storedPrices?: readonly ArtifactRef[];
  /** Files of the stored run. An output with the same bytes as one of them is not written again. */
  readonly storedFiles?: Partial<Readonly<Record<RunFileName, ArtifactRef>>>;
  /** Files that the process wrote or hashed; absent if the process keeps no record. */
  readonly checkedFiles?: CheckedFiles | undefined;
  readonly outputs: TaskOutputs<RunFileName>;
}

/** Stored run to extend, as paths of its files. */
export interface ResumableRun {
  readonly columns: string;
  readonly checkpoint: HashedFile;
  /** Files of the stored run that the new run continues, with the hashes recorded when they were written. */
  readonly checked: readonly HashedFile[];
  /**
   * Names for links to the files of the stored run, in the folder of the new run's files. The earlier column files come
   * first, the newest column file last.
   */
  readonly fileNames: readonly string[];
}

export interface BacktestOutput {
  /** Checkpoint from which the run can be extended. It is null if the run cannot be extended. */
  readonly checkpoint: ArtifactRef | null;
  /** Last date that was copied from the stored run, YYYY-MM-DD. It is null if all dates were computed. */
  readonly extendedFrom: string | null;
  /** Number of files reused from the stored run. */
  readonly earlierFiles: number;
  /** Reason for a full run although there is a stored run. It is null if the run was extended or no run was stored. */
  readonly fullRunReason: FullRunReason | null;
  /** Plan as canonical JSON. */
  readonly plan: ArtifactRef;
  /** Columns that contain all data of the run: see `#domain/backtest/run-file/columns.js`. */
  readonly columns: ArtifactRef;
  /**
   * Prices in a separate file: the hash of the prices, and the file if it was written. No file is written if a stored
   * file has the hash. Null if the columns contain the prices, and for an extended run.
   */
  readonly prices: { readonly sha256: string; readonly written: ArtifactRef | null } | null;
  /** Names of the files that were not written, because the stored run has the same bytes. */
  readonly unwritten: readonly RunFileName[];
  /** Capture time of the run, ISO-8601 UTC with offset. */
  readonly runAt: string;
  /** First and last date of the run, YYYY-MM-DD. */
  readonly start: string;
  readonly end: string;
  /**
   * Rebalances that breaches triggered, with dates YYYY-MM-DD. They are null if they equal the rebalances of the stored
   * run.
   */
  readonly called: readonly { readonly decision: string; readonly effective: string }[] | null;
  /** SHA-256 over engine version, plan and store content. */
  readonly runHash: string;
  readonly storeContentHash: string;
}

/** Text of a run that an earlier version stored. Another text is inserted into it. */
export interface StoredText extends HashedFile {
  readonly inset?: HashedFile & {
    /** Position in the stored text at which this text is inserted. */
    readonly at: number;
  };
}

/** Input for the record or the result of a run, read from its columns or from a text of an earlier version. */
export type RunTextInput = { readonly text: 'record' | 'result' } & (RunTextSource | { readonly stored: StoredText });

type RunTextSource = {
  /** Path of the file with the run's columns. */
  readonly columns: string;
  /** Files of the columns with the hashes recorded when they were written. */
  readonly files: readonly HashedFile[];
  readonly stamp: RunProvenance & { readonly runAt: string; readonly indexVersion: number | null };
} & ({ readonly text: 'record' } | { readonly text: 'result'; readonly plan: HashedFile });

/** Plan from which the overview of a run is formatted, or an overview that an earlier version stored. */
export type OverviewFile = { readonly plan: HashedFile } | { readonly stored: HashedFile };

/** Provenance of a run: its inputs, and the run that it extends. */
export interface RunProvenance {
  readonly runHash: string;
  readonly storeContentHash: string;
  readonly engineVersion: string;
  readonly extendedFrom: string | null;
  readonly fullRunReason: FullRunReason | null;
}

export interface ReplayInput {
  readonly market: MarketHandle;
  readonly plan: BacktestPlan;
  readonly models?: ModelFiles;
  readonly known?: EarlierContentFiles;
  readonly engineVersion: string;
  readonly definitionChanged: boolean;
  readonly stored: RunProvenance & { readonly runAt: string | null };
  /** File with the columns of the stored run. */
  readonly columns: string;
  readonly outputs: TaskOutputs<'view'>;
}

/** Levels in index points by day. */
export interface RunLevels {
  /** MIC of the index calendar. */
  readonly calendar: string;
  readonly days: Int32Array;
  readonly levels: Float64Array;
}

export interface SweepPartInput {
  readonly market: MarketHandle;
  readonly base: SweepBase;
  /** Documents that variants refer to. The variants themselves are not included. */
  readonly documents: BacktestPlan['documents'];
  readonly models?: ModelFiles;
  readonly known?: EarlierContentFiles;
  readonly patches: readonly Patch[];
  /** False if the variants were not checked when the sweep was submitted. The task then checks them. */
  readonly areChecked: boolean;
  readonly outputs: TaskOutputs<'outcomes'>;
}

/** Artifact with outcomes in the serialisation of V8, which preserves every bit. */
export interface SweepPartOutput {
  readonly outcomes: ArtifactRef;
}

/** Outcomes of some parts of a sweep. */
export interface OutcomesFile extends HashedFile {
  /** Parts in order. */
  readonly parts: readonly number[];
}

export interface SumSweepInput {
  readonly market: MarketHandle;
  readonly sweepId: string;
  readonly indexId: string;
  readonly rankBy: RankingName;
  readonly partitions: number;
  readonly folds: SweepFolds | null;
  readonly variation: Variation;
  /** Outcomes of all parts; some parts may occur more than once. */
  readonly files: readonly OutcomesFile[];
  readonly engineVersion: string;
  readonly outputs: TaskOutputs<'view' | 'rows'>;
}

/** Result of a job, and its rows in blocks. */
export interface ResultInBlocks {
  readonly view: ArtifactRef;
  readonly rows: RowsInBlocks;
}

/** Row for the result of a job, with further members that only the end of the job reads. */
export interface RowEntry {
  readonly row: { readonly outcome: string };
}

/** Run that a rerun created, or the reason why it created none. */
export interface RerunEntry extends RowEntry {
  readonly row: RerunRow;
  /** Run to store. */
  readonly run: RunDocument | null;
  /** Id of the run that was the newest one before this run. It is null if no run could be read. */
  readonly previous: string | null;
}

/** File with the entries of some parts as JSON, in the order of the parts. */
export interface RowsFile extends HashedFile {
  readonly parts: readonly number[];
}

export interface SumRowsInput {
  readonly kind: 'rerun' | 'study';
  /** Id of the job within its kind. */
  readonly id: string;
  /** Member of the result with the number of rows. */
  readonly total: string;
  /** Outcomes to count in the result. */
  readonly outcomes: readonly string[];
  readonly engineVersion: string;
  /** Entries of all parts; some parts may occur more than once. */
  readonly files: readonly RowsFile[];
  readonly outputs: TaskOutputs<'view' | 'rows'>;
}

/** Inputs that determine the paths of a simulation. */
export interface SimulationInput {
  readonly columns: string;
  readonly request: SimulationRequest;
  readonly calendar: string;
  /** Market of the factor model; null for the bootstrap. */
  readonly market: MarketHandle | null;
}

export interface SimulatePartInput extends SimulationInput {
  readonly parts: readonly number[];
  readonly outputs: TaskOutputs<'tallies'>;
}

/** Results of the paths of some parts. The bytes have the memory layout that `createTallies` reads. */
export interface TalliesFile extends HashedFile {
  /** Parts in order. */
  readonly parts: readonly number[];
}

export interface SumSimulationInput extends SimulationInput {
  /** Results of all parts; some parts may occur more than once. */
  readonly files: readonly TalliesFile[];
  readonly runId: string;
  /** Sessions ahead, [horizon]. */
  readonly dates: readonly string[];
  readonly outputs: TaskOutputs<'view'>;
}

export interface PublicationBundleInput {
  readonly market: MarketHandle;
  readonly plan: BacktestPlan;
  readonly models?: ModelFiles;
  /** Earlier contents of the market. Present for a plan whose decisions use data known at their time. */
  readonly known?: EarlierContentFiles;
  /** Log entries in order. */
  readonly entries: readonly PublicationEntry[];
}

/** Files of a bundle with their SHA-256, and the digests of the inputs. */
export interface PublicationBundleOutput {
  readonly files: Readonly<Record<string, ResponseBytes>>;
  readonly hashes: Readonly<Record<string, string>>;
  readonly securities: Readonly<Record<string, string>>;
  readonly dates: Readonly<Record<string, string>>;
}

/** Open files of a run. They stay readable after their deletion. */
export interface OpenRunFiles {
  /** File descriptor of the run's newest columns. */
  readonly columns: number;
  /** File descriptors of the earlier segments of the run, by the names in the header of the columns. */
  readonly earlier: Readonly<Record<string, number>>;
}

export interface ExportPartInput {
  /** Id of the export. A thread continues an export with this id that it has in memory. */
  readonly exportId: string;
  /** Path of the file with the columns of the run. It identifies the run, and the file may have been deleted. */
  readonly run: string;
  readonly files: OpenRunFiles;
  readonly table: ExportTableName;
  readonly format: ExportFormat;
  /** YYYY-MM-DD. */
  readonly start: string | null;
  readonly end: string | null;
  /** Reference column of a table of groups; absent if none was requested. */
  readonly by?: string | undefined;
  readonly from: ExportPosition;
  /** The served market. It is null if the table does not read it or if the run used another content. */
  readonly market: MarketHandle | null;
  /**
   * Definition of the run, and the earlier contents that its decisions used. Present for a table that computes the
   * decisions again.
   */
  readonly definition?: (Omit<IndexQuestion, 'market'> & { readonly known?: EarlierContentFiles }) | undefined;
  /** Memory that receives the part. */
  readonly buffer: SharedArrayBuffer;
}

export interface ExportPart {
  /** Number of bytes written to the memory. */
  readonly length: number;
  /** Bytes for which the shared memory had no space; usually empty. */
  readonly rest: Uint8Array<ArrayBuffer>;
  /** Position of the next part; null after the last part. */
  readonly next: ExportPosition | null;
}

export interface RenderInput {
  readonly template: ReportTemplateDocument;
  /** Runs that the blocks of the template show. */
  readonly runs: readonly RenderedRun[];
  /** Wall-clock time of the rendering, ISO-8601 UTC with offset. */
  readonly renderedAt: string;
  /** Name and version of the program, for the metadata of the file. */
  readonly creator: string;
  readonly outputs: TaskOutputs<'pdf'>;
}

export interface RenderedRun {
  readonly indexId: string;
  readonly overview: OverviewFile;
  /** Path of the file with the run's columns. */
  readonly columns: string;
  readonly terms: RunTerms;
  readonly stale: StaleState | null;
  /** Explanation of a level from outside; null if there is none or no block shows it. */
  readonly difference: (ShownDifference & ReadDifference) | null;
  /** Market of the run, for risk estimates. It is null if the market cannot be read or no block needs it. */
  readonly market: MarketHandle | null;
}

export interface RenderOutput {
  readonly pdf: ArtifactRef;
  readonly pages: number;
}

/** Data that all parts of a batch share. */
interface BatchInput {
  readonly market: MarketHandle;
  /** The parent index and all documents that it refers to, by id. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly models?: ModelFiles;
  readonly terms: BatchCommon['terms'];
}

export interface BatchPartInput extends BatchInput {
  readonly lines: readonly PartLines[];
  readonly outputs: TaskOutputs<'outcomes'>;
}

/** Artifact with one outcome as JSON per line. */
export interface BatchPartOutput {
  readonly outcomes: ArtifactRef;
}

/** Outcomes of some parts of a batch. */
export interface AccountsPartFile extends HashedFile {
  readonly parts: readonly number[];
}

export interface SumBatchInput extends BatchInput {
  readonly batchId: string;
  /** Number of accounts of each part, in order. */
  readonly sizes: readonly number[];
  readonly files: readonly AccountsPartFile[];
  readonly engineVersion: string;
  /**
   * Names of the outputs: `view`, `common`, and `accounts0` and so on, one file for each `VOLUME_ACCOUNTS` accounts.
   */
  readonly outputs: TaskOutputs<string>;
}

/** Outputs of a batch: its summary, the common data as a block, and its accounts in blocks. */
export interface BatchSum {
  readonly view: ArtifactRef;
  readonly volumes: readonly RowsInBlocks[];
  readonly summary: BatchSummary;
}

export interface AccountBacktestInput extends Omit<BatchInput, 'terms'> {
  readonly indexId: string;
  readonly backtestId: string;
  readonly request: Omit<AccountBacktestRequest, 'backtest_id'>;
  readonly engineVersion: string;
  readonly outputs: TaskOutputs<'view'>;
}

/** Paths of the columns of two stored runs. */
export interface CompareLevelsInput {
  readonly from: string;
  readonly to: string;
}

export interface CompareLevelsOutput extends LevelsDifference {
  readonly totalReturns: readonly [number, number];
}

/** Explanation of a level from outside, with the comparison of all returns before any cause. */
export interface ComparedDifference extends Difference {
  /** Absent in an explanation of release 0.11.0. */
  readonly returns?: ComparedReturns | undefined;
}

export interface DifferencesInput extends Omit<TotalReturnInput, 'known'> {
  /** Path of the file with the columns of the run. */
  readonly columns: string;
  readonly question: DifferenceQuestion;
}

export interface TotalReturnInput {
  readonly market: MarketHandle;
  readonly plan: BacktestPlan;
  readonly models?: ModelFiles;
  readonly known?: EarlierContentFiles;
}
