import type { FullRunReason, StoredFullRunReason } from '#domain/documents/full-run-reasons.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { RerunRow } from '#contract/reruns.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { PublicationEntry } from '#domain/documents/publication-document.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { SimulationRequest } from '#domain/simulation/simulation.js';
import type { SweepFolds } from '#domain/sweeps/fold-terms.js';
import type { RankingName } from '#domain/sweeps/rankings.js';
import type { Patch, SweepBase, Variation } from '#domain/sweeps/variants.js';
import type { ArtifactRef } from '#store/port.js';
import type { ResponseBytes, CheckedFiles, HashedFile, EarlierContentFiles, TaskOutputs } from './files.js';
import type { ModelFiles } from './indices.js';
import type { RowsInBlocks } from '../rows-in-blocks.js';

/** Files of a run that its task writes. */
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
  /** Columns that contain all data of the run: see `#domain/backtest/run-file/read.js`. */
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
  /** Provenance of the run, and the version of its index or strategy. */
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
  readonly fullRunReason: StoredFullRunReason | null;
}

export interface ReplayInput {
  readonly market: MarketHandle;
  /** Plan of the stored run. */
  readonly plan: BacktestPlan;
  readonly models?: ModelFiles;
  readonly known?: EarlierContentFiles;
  readonly engineVersion: string;
  readonly definitionChanged: boolean;
  /** Provenance of the stored run. */
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
  /** File of the run's columns. */
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
