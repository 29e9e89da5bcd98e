import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { RiskModelPart } from '#domain/risk/risk-model-part.js';
import type { ExportRiskModelInput, ImportRiskModelInput, ImportRiskModelOutput } from './tasks/risk-models.js';
import type { SimulationPlan } from '#domain/simulation/simulation.js';
import type { MarketAudit } from '#market/audit/audit-market.js';
import type { ArtifactRef } from '#store/port.js';
import type { AnswerBytes, HashedBytes, SharedHashes, WithOutputNames, WrittenFile } from './tasks/files.js';
import type {
  EstimateRiskModelInput,
  IndexQuestion,
  OptimisationQuestion,
  OptimiseInput,
  RebalancePackQuestion,
  RiskModelOutput,
  StoredMatrix,
  ValidateRiskModelInput,
  WhatIfQuestion,
  CheckedPlugin,
  DatapointQuestion,
  EvaluatedDatapoint,
  LevelSketch,
  LevelSketchQuestion,
  PluginQuestion,
} from './tasks/indices.js';
import type {
  PricesInput,
  RefreshMarketInput,
  RefreshMarketOutput,
  RepairMarketInput,
  RepairMarketOutput,
  MarketTableInput,
} from './tasks/markets.js';
import type { ExportPart, ExportPartInput, RenderInput, RenderOutput } from './tasks/outputs.js';
import type {
  BacktestInput,
  BacktestOutput,
  PublicationBundleInput,
  PublicationBundleOutput,
  PlanSimulationInput,
  ReplayInput,
  RunLevels,
  RunTextInput,
  SimulationStart,
  SumSimulationInput,
  SumSweepInput,
  SweepPartInput,
  SweepPartOutput,
  SweepSum,
} from './tasks/runs.js';
import type {
  ContentChangeInput,
  ContentChangeOutput,
  CopiedMarketInput,
  DataDifferenceInput,
  EarlierMarketInput,
} from './tasks/data-versions.js';
import type { CompareLevelsInput, CompareLevelsOutput, TotalReturnInput } from './tasks/run-differences.js';
import type { RunViewInput } from './tasks/views.js';
import type {
  BacktestOrder,
  EstimateRiskModelOrder,
  OptimiseOrder,
  PlanSimulationOrder,
  RenderOrder,
  ReplayOrder,
  SweepPartOrder,
  ValidateRiskModelOrder,
  SumSweepOrder,
} from './tasks/references.js';
import type { TaskControl } from './thread-messages.js';

/** A view that a task wrote, as an artifact. */
interface WrittenView {
  readonly view: ArtifactRef;
}

/**
 * Every task a worker can run: the one list that services, the pool and `workers/` agree on. `input` is what a thread
 * works on, in memory and files of its process. Tasks with an `order` are portable: the caller gives the order, which a
 * node resolves to an input.
 */
export interface Tasks {
  /** A backtest: writes the files of the run, and answers the little that listings need. */
  backtest: { order: BacktestOrder; input: BacktestInput; output: BacktestOutput };
  /** A stored run computed again and compared with what is stored: a ReplayView as JSON. */
  replay: { order: ReplayOrder; input: ReplayInput; output: WrittenView };
  /** Some variants of a sweep. */
  'sweep-part': { order: SweepPartOrder; input: SweepPartInput; output: SweepPartOutput };
  /** All variants of a sweep ranked: a SweepView as JSON. */
  'sum-sweep': { order: SumSweepOrder; input: SumSweepInput; output: SweepSum };
  /** A view of stored runs as JSON. */
  'view-run': { input: RunViewInput; output: HashedBytes };
  /** The record of a stored run, a BacktestResultSummary, or its result, a BacktestRunResult, as JSON. */
  'run-text': { input: RunTextInput; output: AnswerBytes };
  /** Writes such a text as a file. */
  'write-run-text': { input: RunTextInput & { readonly path: string }; output: WrittenFile };
  /** A part of an export of a stored run. */
  'export-part': { input: ExportPartInput; output: ExportPart };
  /** Index levels of a stored run. */
  'run-levels': { input: { readonly columns: string }; output: RunLevels };
  /** The inputs of a published run, from which its closes were recomputed. */
  'publication-bundle': { input: PublicationBundleInput; output: PublicationBundleOutput };
  /** The composition of an index on a day: a PreviewResponse as JSON. */
  preview: { input: IndexQuestion & { readonly asOf: string | null }; output: AnswerBytes };
  /** Reads a plug-in without calling it. */
  'check-plugin': { input: PluginQuestion; output: CheckedPlugin };
  /** Values of an expression for a few securities, on the store's last day when none is given. */
  'evaluate-datapoint': { input: DatapointQuestion; output: EvaluatedDatapoint };
  /** The level of an index that is not stored, on a few of its sessions. */
  'sketch-level': { input: LevelSketchQuestion; output: LevelSketch };
  /** The weights that an optimisation comes to: a PreviewResponse as JSON. */
  'preview-optimisation': { input: OptimisationQuestion; output: AnswerBytes };
  /** The chain behind one weight, on the store's last day when none is given: an IndexExplanation as JSON. */
  explain: {
    input: IndexQuestion & { readonly identifier: string; readonly asOf: string | null };
    output: AnswerBytes;
  };
  /**
   * What a change of a definition would change, on the store's last day when none is given: a WhatIfResponse as JSON.
   */
  whatIf: { input: WhatIfQuestion; output: AnswerBytes };
  /** Trades that bring accounts to an index: a RebalancePack as JSON. */
  rebalancePack: { input: RebalancePackQuestion; output: AnswerBytes };
  /** A report as a PDF. */
  render: { order: RenderOrder; input: RenderInput; output: RenderOutput };
  /** Prices of one name as the bytes of an answer. */
  prices: { input: PricesInput; output: AnswerBytes };
  /** Names with a price through time: a CoverageHistoryResponse as JSON. */
  /** Writes a table of a market as a Parquet file. */
  'market-table': { input: MarketTableInput; output: { readonly bytes: number } };
  coverage: { input: { readonly market: MarketHandle }; output: AnswerBytes };
  /** The next version of a store from the one held and what its source has now. */
  'refresh-market': { input: RefreshMarketInput; output: RefreshMarketOutput };
  /** The levels of two stored runs beside each other. */
  'compare-levels': { input: CompareLevelsInput; output: CompareLevelsOutput };
  /** The total return of a run that is not stored. */
  'total-return': { input: TotalReturnInput; output: { readonly totalReturn: number } };
  /** How a content is made from the one that came after it, as bytes to keep. */
  'content-change': { input: ContentChangeInput; output: ContentChangeOutput };
  /** Adds a piece of a whole content to a file, from a number on. @returns that of the next piece */
  'content-copy': {
    input: { readonly market: MarketHandle; readonly from: number; readonly path: string };
    output: { readonly next: number | null };
  };
  /** The content of such bytes and of changes from it. */
  'copied-market': { input: CopiedMarketInput; output: { readonly handle: MarketHandle } };
  /** An earlier content of a data store. */
  'earlier-market': { input: EarlierMarketInput; output: { readonly handle: MarketHandle } };
  /** Values that two contents of a data store have otherwise: a DataDifference as JSON. */
  'data-difference': { input: DataDifferenceInput; output: AnswerBytes };
  /** What is probably wrong in a market. */
  'audit-market': { input: { readonly market: MarketHandle }; output: MarketAudit };
  /** A market with repairs applied, written as a store of its own. */
  'repair-market': { input: RepairMarketInput; output: RepairMarketOutput };
  /** The common inputs of all parts of a simulation. */
  'plan-simulation': { order: PlanSimulationOrder; input: PlanSimulationInput; output: SimulationStart };
  /** One part of the paths, drawn into shared memory. */
  'simulate-paths': {
    input: { readonly plan: SimulationPlan; readonly part: number; readonly memory: SharedArrayBuffer };
    output: { readonly precision: 'float64' | 'float32' };
  };
  /** A SimulationView as JSON. */
  'sum-simulation': { input: SumSimulationInput; output: WrittenView };
  /** A covariance model: its matrix to store, and its diagnostics. */
  'estimate-risk-model': { order: EstimateRiskModelOrder; input: EstimateRiskModelInput; output: RiskModelOutput };
  /** How well the settings of a model forecast over history: a RiskValidationView as JSON, and a sentence. */
  'validate-risk-model': {
    order: ValidateRiskModelOrder;
    input: ValidateRiskModelInput;
    output: WrittenView & { readonly message: string };
  };
  /** Weights near an index under constraints: an OptimisationRunResult as JSON, and one sentence that sums it up. */
  optimise: {
    order: OptimiseOrder;
    input: OptimiseInput;
    output: { readonly result: ArtifactRef; readonly message: string };
  };
  /** A risk model from outside as numbers to store, or what is wrong with it. */
  'import-risk-model': { input: ImportRiskModelInput; output: ImportRiskModelOutput };
  /** A stored model of one date as a member of an import. */
  'export-risk-model': { input: ExportRiskModelInput; output: AnswerBytes };
  /** A part of a stored model's JSON. */
  'risk-model-part': { input: StoredMatrix & { readonly part: RiskModelPart }; output: AnswerBytes };
  /** A share of the hashes that a reconciliation needs: of the files that no thread has taken yet. */
  'hash-files': { input: SharedHashes; output: null };
  /** Nothing but to be ready: code of tasks, the market and a run there when they are given. */
  'warm-up': { input: WarmUpInput; output: null };
  /** Gives memory of an idle thread back to the system. */
  rest: { input: null; output: null };
  /** A stored model as an Arrow stream. */
  'risk-model-arrow': {
    input: StoredMatrix & { readonly assetIds: readonly string[]; readonly body: Readonly<Record<string, unknown>> };
    output: AnswerBytes;
  };
}

export type TaskName = keyof Tasks;

/** Tasks whose order names artifacts and markets, so that any process that has them may run it. */
export type PortableTaskName = {
  [N in TaskName]: Tasks[N] extends { readonly order: unknown } ? N : never;
}[TaskName];

/** What is given to have a task run. */
export type TaskInput<N extends TaskName> = Tasks[N] extends { readonly order: infer Order }
  ? Order
  : WithOutputNames<Tasks[N]['input']>;

/** Code of tasks to be loaded, a market to be opened, the plan of a run there to be made and thrown away. */
export interface WarmUpInput {
  readonly names: readonly TaskName[];
  readonly market: MarketHandle | null;
  readonly plan: BacktestPlan | null;
}

/** What a thread works on. */
export type ThreadInput<N extends TaskName> = Tasks[N]['input'];

export type TaskOutput<N extends TaskName> = Tasks[N]['output'];

export type Task<N extends TaskName> = (
  input: ThreadInput<N>,
  control: TaskControl,
) => TaskOutput<N> | Promise<TaskOutput<N>>;
