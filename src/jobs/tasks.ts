import type { ErrorDetail } from '#domain/refusal.js';
import type { ConstraintRow, IndexDocument, TreatmentSpec } from '#domain/documents/index-document.js';
import type { OptimisationRequest } from '#domain/documents/optimisation-request.js';
import type { RiskDiagnosticsPayload, RiskModelRequest } from '#domain/documents/risk-model-document.js';
import type { Finding } from '#domain/findings.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { ReturnVariant } from '#domain/market/market-data.js';
import type { FullRunReason, StoredFullRunReason } from '#domain/backtest/extend/reasons.js';
import type { BacktestPlan } from '#domain/backtest/plan.js';
import type { StaleState } from '#domain/backtest/stale.js';
import type { ReportTemplateDocument } from '#domain/reports/template-document.js';
import type { ExportTableName } from '#domain/exports/catalogue.js';
import type { ExportFormat, ExportPosition } from '#domain/exports/formats.js';
import type { RunTerms } from '#domain/reports/run-terms.js';
import type { FactorModelName } from '#domain/risk/factor-risk.js';
import type { SimulationPlan, SimulationRequest } from '#domain/simulation/simulation.js';
import type { RiskMemory } from '#domain/analytics/rolling-risk.js';
import type { RiskModelPart } from '#domain/risk/risk-model-part.js';
import type { MarketAudit } from '#market/audit/audit-market.js';
import type { Repair } from '#market/audit/doubt.js';
import type { ContentSummary } from '#market/process/market-tasks.js';
import type { VariantOutcome } from '#domain/sweeps/run-variants.js';
import type { RankingName } from '#domain/sweeps/sweep-request.js';
import type { Patch, SweepBase } from '#domain/sweeps/variants.js';
import type { NameBars, SeriesRequest } from '#market/serving/price-series.js';
import type { RefreshOptions, RefreshReport } from '#market/content/refresh-report.js';

/** Every task a worker can run: the one list that services, the pool and `workers/` agree on. */
export interface Tasks {
  /** A whole backtest: bytes to store, and the little that listings need. */
  backtest: { input: BacktestInput; output: BacktestOutput };
  /** A stored run made again and laid beside what is stored: a ReplayView as JSON. */
  replay: { input: ReplayInput; output: OutputBytes };
  /** Some variants of a sweep. */
  'sweep-part': { input: SweepPartInput; output: SweepPartOutput };
  /** All variants of a sweep ranked: a SweepView as JSON. */
  'sum-sweep': { input: SumSweepInput; output: OutputBytes };
  /** A view of stored runs as JSON. */
  'view-run': { input: RunViewInput; output: AnswerBytes };
  /** The record of a stored run: a BacktestResultSummary as JSON. */
  'run-record': { input: RunRecordInput; output: AnswerBytes };
  /** The same as a file of its own. */
  'write-record': { input: RunRecordInput & { readonly path: string }; output: WrittenFile };
  /** The result of a backtest that an earlier version stored, with the members of today. */
  'upgrade-result': { input: HashedFile; output: AnswerBytes };
  /** A part of an export of a stored run. */
  'export-part': { input: ExportPartInput; output: ExportPart };
  /** Index levels of a stored run. */
  'run-levels': { input: { readonly columns: string }; output: RunLevels };
  /** What an index would consist of on a day: a PreviewResponse as JSON. */
  preview: { input: IndexQuestion & { readonly asOf: string | null }; output: AnswerBytes };
  /** The chain behind one weight, on the store's last day when none is given: an IndexExplanation as JSON. */
  explain: {
    input: IndexQuestion & { readonly identifier: string; readonly asOf: string | null };
    output: AnswerBytes;
  };
  /** What a change of a definition would change, on the store's last day when none is given: a WhatIfResponse as JSON. */
  whatIf: { input: WhatIfQuestion; output: AnswerBytes };
  /** A report as a PDF. */
  render: { input: RenderInput; output: RenderOutput };
  /** Prices of one name as the bytes of an answer. */
  prices: { input: PricesInput; output: AnswerBytes };
  /** Names with a price through time: a CoverageHistoryResponse as JSON. */
  coverage: { input: { readonly market: MarketHandle }; output: AnswerBytes };
  /** The next version of a store from the one held and what its source has now. */
  'refresh-market': { input: RefreshMarketInput; output: RefreshMarketOutput };
  /** What is probably wrong in a market. */
  'audit-market': { input: { readonly market: MarketHandle }; output: MarketAudit };
  /** A market with repairs applied, written as a store of its own. */
  'repair-market': { input: RepairMarketInput; output: RepairMarketOutput };
  /** How risk moved along a stored run: a RollingRiskView as JSON. */
  'rolling-risk': { input: RollingRiskInput; output: OutputBytes };
  /** What all parts of a simulation have in common. */
  'plan-simulation': { input: PlanSimulationInput; output: SimulationStart };
  /** One part of the paths, drawn into shared memory. */
  'simulate-paths': {
    input: { readonly plan: SimulationPlan; readonly part: number; readonly memory: SharedArrayBuffer };
    output: { readonly precision: 'float64' | 'float32' };
  };
  /** A SimulationView as JSON. */
  'sum-simulation': { input: SumSimulationInput; output: OutputBytes };
  /** A covariance model: its matrix to store, and what is remembered beside it. */
  'estimate-risk-model': { input: EstimateRiskModelInput; output: RiskModelOutput };
  /** Weights near an index under constraints: an OptimisationRunResult as JSON, and what a client should know without reading it. */
  optimise: { input: OptimiseInput; output: { readonly result: OutputBytes; readonly message: string } };
  /** A stretch of a stored model's JSON. */
  'risk-model-part': { input: StoredMatrix & { readonly part: RiskModelPart }; output: AnswerBytes };
  /** A share of the hashes that a reconciliation needs: of the files that nobody has taken yet. */
  'hash-files': { input: SharedHashes; output: null };
  /** Nothing but to be ready: code of tasks, and the market when one is given. */
  'warm-up': { input: { readonly names: readonly TaskName[]; readonly market: MarketHandle | null }; output: null };
  /** A stored model as an Arrow stream. */
  'risk-model-arrow': {
    input: StoredMatrix & { readonly assetIds: readonly string[]; readonly body: Readonly<Record<string, unknown>> };
    output: AnswerBytes;
  };
}

export type TaskName = keyof Tasks;
export type TaskInput<N extends TaskName> = Tasks[N]['input'];
export type TaskOutput<N extends TaskName> = Tasks[N]['output'];

/** A question about one definition: it and every document it reaches, by id. */
export interface IndexQuestion {
  readonly market: MarketHandle;
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly indexId: string;
}

export interface WhatIfQuestion {
  readonly market: MarketHandle;
  readonly before: Omit<IndexQuestion, 'market'>;
  readonly after: Omit<IndexQuestion, 'market'>;
  readonly asOf: string | null;
  /** Warnings about the changed document, passed through. */
  readonly findings: readonly Finding[];
}

export interface PlanSimulationInput {
  /** File of the run's columns. */
  readonly columns: string;
  readonly request: SimulationRequest;
  readonly calendar: string;
  /** Market of the factor model; null for the bootstrap. */
  readonly market: MarketHandle | null;
}

export interface SimulationStart {
  readonly plan: SimulationPlan;
  readonly observations: number;
  readonly observedStart: string;
  readonly observedEnd: string;
  /** Of a session's return. */
  readonly mean: number;
  readonly deviation: number;
  readonly factorShare: number | null;
}

export interface SumSimulationInput {
  readonly start: SimulationStart;
  readonly memory: SharedArrayBuffer;
  readonly request: SimulationRequest;
  readonly runId: string;
  /** Sessions ahead, [horizon]. */
  readonly dates: readonly string[];
  readonly precision: 'float64' | 'float32';
}

export interface OptimiseInput {
  readonly market: MarketHandle;
  readonly runId: string;
  /** The index and every document it reaches. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly constraints: readonly ConstraintRow[];
  /** As in the body of `POST /optimise/runs`, defaults filled in. Dates are YYYY-MM-DD. */
  readonly request: OptimisationRequest;
}

export interface EstimateRiskModelInput {
  readonly market: MarketHandle;
  readonly universe: RiskUniverse;
  readonly request: RiskModelRequest;
}

/** Whose returns are estimated, and on whose sessions. */
export type RiskUniverse =
  /** Names on the days on which one of them has a bar, in the currencies of their prices. */
  | { readonly kind: 'names'; readonly identifiers: readonly string[] }
  /** Names that a stored run held last, on the sessions and in the currency of its index. */
  | {
      readonly kind: 'run';
      readonly columns: string;
      readonly calendar: string;
      readonly currency: string;
      readonly treatment: TreatmentSpec;
    };

export interface RiskModelOutput {
  /** Upper triangle, float64 little endian, row by row. */
  readonly covariance: OutputBytes;
  readonly assetIds: readonly string[];
  readonly diagnostics: RiskDiagnosticsPayload;
  readonly excluded: Readonly<Record<string, string>>;
  readonly observedStart: string;
  readonly observedEnd: string;
  readonly contentHash: string;
  readonly precision: 'float64' | 'float32';
}

/** A packed matrix that lies in a file. */
export interface StoredMatrix {
  readonly path: string;
  readonly order: number;
}

/** A worker's side of one running task. */
export interface TaskControl {
  /**
   * Reports progress and stops the task when it was cancelled: call it in every loop that can last.
   * @param fraction done, 0 to 1; a smaller one than before is ignored.
   * @param message what is being done now; kept to 200 characters.
   * @throws CancelledError
   */
  report(fraction: number, message?: string): void;
}

export type Task<N extends TaskName> = (
  input: TaskInput<N>,
  control: TaskControl,
) => TaskOutput<N> | Promise<TaskOutput<N>>;

/** Shared memory between the engine and one running task. Every view lies on one SharedArrayBuffer. */
export interface ControlCells {
  /** Int32[1]: 1 once the task is to stop. */
  readonly cancelled: Int32Array<SharedArrayBuffer>;
  /** Int32[1]: thread that runs the task, 0 while none does. */
  readonly thread: Int32Array<SharedArrayBuffer>;
  /** Float64[1]: fraction done. */
  readonly fraction: Float64Array<SharedArrayBuffer>;
  /** Int32[2]: version of the message (odd while it is written) and its length in bytes. */
  readonly messageState: Int32Array<SharedArrayBuffer>;
  /** UTF-8 of the message. */
  readonly message: Uint8Array<SharedArrayBuffer>;
}

/** What the pool gives each of its threads when it starts. */
export interface ThreadData {
  /** Engine of the kernels: `#kernels/engines/open-engine.js`. */
  readonly numerics: string;
  /** Threads of the lane. */
  readonly threads: number;
  /** [tasks of the lane that run now], shared with the pool. */
  readonly running: Int32Array;
}

/** What the pool sends a worker. */
export interface TaskMessage {
  readonly task: string;
  readonly input: unknown;
  readonly cells: ControlCells;
}

/**
 * What a worker answers. What a task threw travels as data: an error loses its code between threads, and a rejection
 * of the pool means the end of the thread and nothing else.
 */
export type TaskOutcome =
  | { readonly kind: 'output'; readonly output: unknown }
  | { readonly kind: 'refused'; readonly error: ErrorDetail }
  | { readonly kind: 'cancelled' }
  /** A defect of the task, with its stack. */
  | { readonly kind: 'threw'; readonly stack: string };

/** Bytes that leave a worker by transfer, for whoever asked and not to be stored. */
export interface AnswerBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Bytes that leave a worker by transfer to be stored, with their hash computed there. */
export interface OutputBytes extends AnswerBytes {
  /** SHA-256, hex. */
  readonly sha256: string;
}

export interface RepairMarketInput {
  readonly market: MarketHandle;
  readonly repairs: readonly Repair[];
  /** Folder to write to, and the store it is for. */
  readonly folder: string;
  readonly storeId: string;
  /** Codes of the calendars that stored indices are on. */
  readonly calendars: readonly string[];
}

export interface RepairMarketOutput {
  readonly handle: MarketHandle;
  readonly summary: ContentSummary;
}

export interface RefreshMarketInput {
  readonly held: MarketHandle;
  readonly fresh: MarketHandle;
  readonly options: RefreshOptions;
  /** Codes of the calendars that stored indices are on. */
  readonly calendars: readonly string[];
}

export interface RefreshMarketOutput {
  readonly handle: MarketHandle;
  /** Whether identifiers and tables are those held. */
  readonly isSameTables: boolean;
  readonly report: RefreshReport;
  readonly identifiers: number;
  /** Doubts about the new version. */
  readonly warnings: readonly Finding[];
}

/** One name's bars, and how a client wants them. */
export interface PricesInput {
  readonly identifier: string;
  readonly bars: NameBars;
  readonly request: SeriesRequest;
  readonly format: 'json' | 'arrow';
}

export interface BacktestInput {
  readonly market: MarketHandle;
  readonly plan: BacktestPlan;
  readonly engineVersion: string;
  /** The stored run to extend where that gives the same, or why there is none. */
  readonly stored?: ResumableRun | FullRunReason | null;
}

/** A stored run as a task extends it: paths of its files, and the hash of the one that says what the others have to be. Its snapshots are not read. */
export interface ResumableRun {
  readonly columns: string;
  readonly checkpoint: HashedFile;
  readonly result: string;
  /** Names that the earlier files of its columns, and at last the newest, will have beside those of the new run. */
  readonly fileNames: readonly string[];
}

export interface HashedFile {
  readonly path: string;
  readonly sha256: string;
}

export interface BacktestOutput {
  /** What it takes to extend the run; null where that is not known. */
  readonly checkpoint: OutputBytes | null;
  /** Last date of the stored run that was extended, YYYY-MM-DD. Null for a run made whole. */
  readonly extendedFrom: string | null;
  /** How many of the files of the stored run, in the order of their names, hold segments of the columns. */
  readonly earlierFiles: number;
  /** Why a stored run was not extended; null when it was, or there was none. */
  readonly fullRunReason: FullRunReason | null;
  /** BacktestRunResult as JSON, without the snapshots that are stored by themselves. */
  readonly result: OutputBytes;
  readonly snapshots: InsetSnapshots;
  /** OverviewView as JSON. */
  readonly overview: OutputBytes;
  /** Columns that the views and the record are read from: see `#domain/backtest/run-file/read.js`. */
  readonly columns: OutputBytes;
  /** Capture time of the run, ISO-8601 UTC with offset. */
  readonly runAt: string;
  /** First and last date of the run, YYYY-MM-DD. */
  readonly start: string;
  readonly end: string;
  /** SHA-256 over engine version, plan and store content. */
  readonly runHash: string;
  readonly storeContentHash: string;
}

/** Snapshots that belong into the result, megabytes that an extended run shares with the stored one. */
export interface InsetSnapshots {
  /** Position in the result that they come before. */
  readonly at: number;
  /** Null where they are those of the stored run. */
  readonly text: OutputBytes | null;
}

/** A file that a task wrote. */
export interface WrittenFile {
  readonly bytes: number;
  readonly sha256: string;
}

export interface RunRecordInput {
  /** Path of the columns. */
  readonly columns: string;
  /** The files they are in with the hashes recorded when they were written. */
  readonly files: readonly HashedFile[];
  /** The record as JSON, of runs of 0.1.0, whose columns have none. */
  readonly stored?: HashedFile;
  /** What stands beside the numbers of the run. */
  readonly stamp: RunProvenance & { readonly runAt: string };
}

/** What a run was made from, and how. */
export interface RunProvenance {
  readonly runHash: string;
  readonly storeContentHash: string;
  readonly engineVersion: string;
  readonly extendedFrom: string | null;
  readonly fullRunReason: StoredFullRunReason | null;
}

export interface ReplayInput {
  readonly market: MarketHandle;
  /** What the stored run was made from. */
  readonly plan: BacktestPlan;
  readonly engineVersion: string;
  readonly definitionChanged: boolean;
  /** What stands beside the numbers of the stored run. */
  readonly stored: RunProvenance & { readonly runAt: string | null };
  /** Files of the stored run. */
  readonly paths: Readonly<Record<'result' | 'overview' | 'columns', string>> & {
    /** Snapshots that belong into the result, and where. */
    readonly snapshots: { readonly path: string; readonly at: number } | null;
  };
}

export interface SweepPartInput {
  readonly market: MarketHandle;
  readonly base: SweepBase;
  /** Documents that variants reach, besides themselves. */
  readonly documents: BacktestPlan['documents'];
  readonly patches: readonly Patch[];
}

export interface SweepPartOutput {
  readonly outcomes: readonly VariantOutcome[];
  /** SHA-256 of the plan of each. */
  readonly plans: readonly string[];
}

export interface SumSweepInput {
  readonly market: MarketHandle;
  readonly sweepId: string;
  readonly indexId: string;
  readonly rankBy: RankingName;
  readonly partitions: number;
  /** By variant, as the outcomes are. */
  readonly patches: readonly Patch[];
  readonly outcomes: readonly VariantOutcome[];
  readonly plans: readonly string[];
  readonly engineVersion: string;
}

/** What is to be shown of stored runs; `columns` are paths of column files. Dates are YYYY-MM-DD, null when not asked for. */
export type RunViewInput =
  | {
      readonly view: 'attribution';
      readonly columns: string;
      readonly start: string | null;
      readonly end: string | null;
    }
  | { readonly view: 'asset'; readonly columns: string; readonly identifier: string }
  | { readonly view: 'summary'; readonly columns: string }
  | {
      readonly view: 'performance';
      readonly columns: string;
      readonly start: string | null;
      readonly end: string | null;
    }
  | { readonly view: 'rebalances'; readonly columns: string }
  | { readonly view: 'rebalance'; readonly columns: string; readonly date: string }
  | ExposuresViewInput
  | CompareViewInput
  | {
      readonly view: 'levels';
      readonly columns: string;
      readonly variant: ReturnVariant | null;
      readonly start: string | null;
      readonly end: string | null;
    }
  | WeightsViewInput
  | FactorRiskInput
  | GroupsViewInput
  | ReconcileInput;

/** Files that threads hash between them: each is hashed by whoever takes it first. */
export interface SharedHashes {
  readonly paths: readonly string[];
  readonly cells: HashCells;
}

/** Shared memory between threads that hash files, by file. */
export interface HashCells {
  /** Int32[files]: 0 while nobody has taken a file, see `workers/hash-files.ts`. */
  readonly states: Int32Array<SharedArrayBuffer>;
  /** SHA-256 of each, 32 bytes. */
  readonly digests: Uint8Array<SharedArrayBuffer>;
}

export interface ReconcileInput {
  readonly view: 'reconcile';
  readonly columns: string;
  /** Stored files of the run with the hashes recorded when they were written. */
  readonly files: readonly { readonly name: string; readonly path: string; readonly sha256: string }[];
  /** Where the hashes of the files as they are now come together, in their order. */
  readonly cells: HashCells;
  /** The served market and the index the run was compared with, null when there is none: what risk is told from. */
  readonly market: MarketHandle | null;
  readonly benchmark: WeightsViewInput['benchmark'];
}

export interface ExposuresViewInput {
  readonly view: 'exposures';
  readonly columns: string;
  readonly start: string | null;
  readonly end: string | null;
  /** Reference column, or IDENTIFIER. */
  readonly by: string;
  readonly groups: number;
  readonly interval: 'native' | 'weekly' | 'monthly';
  /** Reports the groups of names; null where they are groups themselves. */
  readonly market: MarketHandle | null;
}

export interface CompareViewInput {
  readonly view: 'compare';
  readonly columns: readonly string[];
  /** State of each run. */
  readonly stale: readonly (StaleState | null)[];
  /** About the runs together, passed through. */
  readonly findings: readonly Finding[];
}

export interface RollingRiskInput {
  readonly columns: string;
  readonly runId: string;
  readonly memory: RiskMemory;
  /** The served market, in which one of the run's names is to have a price; null when there is none. */
  readonly market: MarketHandle | null;
}

export interface GroupsViewInput {
  readonly view: 'groups';
  readonly columns: string;
  readonly start: string | null;
  readonly end: string | null;
  /** Reference column. */
  readonly by: string;
  readonly benchmark: WeightsViewInput['benchmark'];
  readonly market: MarketHandle;
}

/** An index that a run is compared with, and every document it reaches; without its own document an identifier: a name of the market or a series. */
export interface ComparedWith {
  readonly indexId: string;
  readonly documents: BacktestPlan['documents'];
}

export interface WeightsViewInput {
  readonly view: 'weights';
  readonly columns: string;
  readonly asOf: string | null;
  readonly risk: boolean;
  readonly benchmark: ComparedWith | null;
  /** The served market, null when there is none. */
  readonly market: MarketHandle | null;
}

export interface FactorRiskInput {
  readonly view: 'factor-risk';
  readonly columns: string;
  readonly asOf: string | null;
  readonly benchmark: NonNullable<WeightsViewInput['benchmark']>;
  readonly market: MarketHandle;
  readonly model: FactorModelName;
  readonly factors: number;
}

/** The files of a run, opened by the process: they can be read to their ends, whoever removes them meanwhile. */
export interface OpenRunFiles {
  /** Descriptor of the columns. */
  readonly columns: number;
  /** Descriptors of the earlier files that they continue, by name. */
  readonly earlier: Readonly<Record<string, number>>;
}

export interface ExportPartInput {
  /** Of the export that the part is of: a thread goes on with what it has of it. */
  readonly exportId: string;
  readonly files: OpenRunFiles;
  readonly table: ExportTableName;
  readonly format: ExportFormat;
  /** YYYY-MM-DD. */
  readonly start: string | null;
  readonly end: string | null;
  readonly from: ExportPosition;
  /** The served market, where the table reads it and it is that of the run. */
  readonly market: MarketHandle | null;
  /** Memory that the part is written to. */
  readonly room: SharedArrayBuffer;
}

export interface ExportPart {
  /** Bytes of the room that were written. */
  readonly length: number;
  /** Bytes behind them that had no room, as a rule none. */
  readonly rest: Uint8Array<ArrayBuffer>;
  /** Where the next part begins; null after the last. */
  readonly next: ExportPosition | null;
}

/** Levels in index points by day. */
export interface RunLevels {
  /** MIC of the index calendar. */
  readonly calendar: string;
  readonly days: Int32Array;
  readonly levels: Float64Array;
}

export interface RenderInput {
  readonly template: ReportTemplateDocument;
  /** The runs that its blocks are bound to; `overview` and `columns` are paths of files. */
  readonly runs: readonly RenderedRun[];
  /** Wall-clock time of the rendering, ISO-8601 UTC with offset. */
  readonly renderedAt: string;
  /** The served market, which risk is estimated from; null when there is none or no block asks for it. */
  readonly market: MarketHandle | null;
}

export interface RenderedRun {
  readonly indexId: string;
  readonly overview: string;
  readonly columns: string;
  readonly terms: RunTerms;
  readonly stale: StaleState | null;
  /** Whether the market is of another store than the run: it says nothing about its risk then. */
  readonly isOtherStore: boolean;
}

export interface RenderOutput {
  readonly pdf: OutputBytes;
  readonly pages: number;
}
