import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import type { IndexCloses } from '#domain/definition/publication.js';
import type { FullRunReason } from '#domain/definition/runs.js';
import type { MarketHandle, MarketIdentity } from '#domain/market/market-data.js';
import type { CitedResult, TextNumber, VerifiedNumber } from '#domain/outputs/receipts.js';
import type { RiskModelPart } from '#domain/risk/risk-models.js';
import type { MarketAudit } from '#market/judge/audit.js';
import type { ArtifactDestination, ArtifactHealth, ArtifactRef } from '#store/port.js';
import type {
  CheckedPlugin,
  DatapointQuestion,
  EstimateRiskModelInput,
  EvaluatedDatapoint,
  ExportRiskModelInput,
  FactorFile,
  ImportRiskModelInput,
  ImportRiskModelOutput,
  IndexQuestion,
  LevelSketch,
  LevelSketchQuestion,
  ModelFile,
  ModelFiles,
  OptimisationQuestion,
  OptimiseInput,
  OptimiseOutput,
  PluginQuestion,
  RebalancePackQuestion,
  RiskModelOutput,
  RiskModelPartsInput,
  RiskModelPartsOutput,
  RiskModelSource,
  RiskUniverse,
  StoredMatrix,
  SumRiskModelInput,
  ValidateRiskModelInput,
  WhatIfInput,
} from './indices.js';
import type {
  ContentChangeInput,
  ContentChangeOutput,
  CopiedMarketInput,
  DataDifferenceInput,
  EarlierMarketInput,
  MarketTableInput,
  PricesInput,
  RefreshMarketInput,
  RefreshMarketOutput,
  RepairMarketInput,
  RepairMarketOutput,
} from './markets.js';
import type {
  BodyCheck,
  BodyToCheck,
  CheckedFiles,
  EarlierContentFiles,
  HashedBytes,
  HashedFile,
  OutputNames,
  ResponseBytes,
  SharedHashes,
  TaskControl,
  TaskOutputs,
  WithOutputNames,
  WrittenFile,
} from './messages.js';
import type {
  AccountBacktestInput,
  BacktestInput,
  BacktestOutput,
  BatchPartInput,
  BatchPartOutput,
  BatchSum,
  ComparedDifference,
  CompareLevelsInput,
  CompareLevelsOutput,
  ExportPart,
  ExportPartInput,
  PublicationBundleInput,
  PublicationBundleOutput,
  RenderedRun,
  RenderInput,
  RenderOutput,
  ReplayInput,
  ResultInBlocks,
  ResumableRun,
  RunLevels,
  RunTextInput,
  SimulatePartInput,
  SumBatchInput,
  SumRowsInput,
  SumSimulationInput,
  SumSweepInput,
  SweepPartInput,
  SweepPartOutput,
  DifferencesInput,
  TotalReturnInput,
} from './runs.js';
import type { RunViewInput } from './views.js';

/**
 * Inputs of job tasks as a node receives them. They are plain JSON that names artifacts and markets but does not
 * contain them. `resolveTask` replaces the names by resources of the node.
 */

/**
 * Order of a task with input `I`. Six fields name a market or files, `outputs` contains names, and all other fields are
 * those of the input. An input with other files needs a separate order type. `REFERENCES` declares the kind of each
 * reference.
 */
export type OrderOf<I> = { readonly [K in keyof I]: NamedField<K, I[K]> };

type NamedField<K, V> =
  V extends TaskOutputs<infer F> ? OutputNames<F> : K extends keyof NamedFields<V> ? NamedFields<V>[K] : V;

interface NamedFields<V> {
  readonly market: V extends null ? null : MarketIdentity;
  readonly columns: ArtifactReference;
  /** Stored risk models. */
  readonly models: ModelReferences;
  /** Earlier contents, so that decisions use the data that was known at their time. */
  readonly known: EarlierContentReferences;
  /** Securities of a risk model. */
  readonly universe: V extends RiskUniverse ? OrderOf<V> : V;
  /** Outputs of the parts of a job. */
  readonly files: V extends readonly (infer F)[] ? readonly (Omit<F, 'path'> & ArtifactReference)[] : V;
}

/** Artifact by its name. */
export interface ArtifactReference {
  readonly artifact: string;
  /** Names of artifacts that the file refers to; the node keeps them in the same folder. */
  readonly beside?: readonly string[];
}

/** Artifact by its name and its required hash. */
export type HashedReference = ArtifactReference & { readonly sha256: string };

/** Stored risk models by the names of their files. */
export type ModelReferences = Readonly<Record<string, ModelReference>>;

export type ModelReference = Omit<ModelFile, 'paths' | 'factors'> & {
  readonly artifacts: readonly string[];
  readonly factors?: Omit<FactorFile, 'path'> & ArtifactReference;
};

/** Changes that restore earlier contents, by the names of their files. */
export interface EarlierContentReferences extends Omit<EarlierContentFiles, 'earlier'> {
  readonly earlier: readonly (Omit<EarlierContentFiles['earlier'][number], 'path'> & ArtifactReference)[];
}

type BacktestOrder = OrderOf<Omit<BacktestInput, 'stored' | 'checkedFiles'>> & {
  /** Stored run that is extended if the result is the same, or the reason why no run can be extended. */
  readonly stored?: StoredRunReferences | FullRunReason | null;
};

/** Files of a stored run that can be extended; see `ResumableRun`. */
export interface StoredRunReferences {
  readonly columns: ArtifactReference;
  readonly checkpoint: HashedReference;
  readonly checked: readonly HashedReference[];
  readonly fileNames: readonly string[];
}

export type RiskUniverseOrder = OrderOf<RiskUniverse>;

type ValidateRiskModelOrder = OrderOf<Omit<ValidateRiskModelInput, 'run'>> & {
  readonly run: OrderOf<NonNullable<ValidateRiskModelInput['run']>> | null;
};

export type RenderedRunOrder = OrderOf<Omit<RenderedRun, 'overview'>> & {
  readonly overview: { readonly plan: HashedReference } | { readonly stored: HashedReference };
};

export type RenderOrder = OrderOf<Omit<RenderInput, 'runs'>> & { readonly runs: readonly RenderedRunOrder[] };

/** View that a task wrote as an artifact. */
interface WrittenView {
  readonly view: ArtifactRef;
}

/** Task that jobs run. The type of its order follows from the type of its input. */
interface Portable<I, O> {
  order: OrderOf<I>;
  input: I;
  output: O;
}

/**
 * All tasks that a worker can run. Services, the pool and `workers/` share this one list. `input` is the input of a
 * thread, with memory and files of its process. A task with an `order` can run on any node: the caller gives the order,
 * and the node converts it to an input.
 */
export interface Tasks {
  /** Runs a backtest: writes the files of the run, and returns the summary that listings need. */
  backtest: { order: BacktestOrder; input: BacktestInput; output: BacktestOutput };
  /** Replays a stored run and compares the results: a ReplayView as JSON. */
  replay: Portable<ReplayInput, WrittenView>;
  /** Runs some of the variants of a sweep. */
  'sweep-part': Portable<SweepPartInput, SweepPartOutput>;
  /** Solves some of the accounts of a batch. */
  'batch-part': Portable<BatchPartInput, BatchPartOutput>;
  /** Summarises a batch and joins its accounts. */
  'sum-batch': Portable<SumBatchInput, BatchSum>;
  /** Runs one account over the history of an index: an AccountBacktestView as JSON. */
  'account-backtest': Portable<AccountBacktestInput, WrittenView>;
  /** Ranks all variants of a sweep: a SweepView as JSON. */
  'sum-sweep': Portable<SumSweepInput, ResultInBlocks>;
  /** Counts and lists the rows of a job that was computed in parts. */
  'sum-rows': Portable<SumRowsInput, ResultInBlocks>;
  /** Computes a view of stored runs as JSON. */
  'view-run': { input: RunViewInput; output: HashedBytes };
  /** Writes the record of a stored run, a BacktestResultSummary, or its result, a BacktestRunResult, as JSON. */
  'run-text': { input: RunTextInput; output: ResponseBytes };
  /** Writes the record or result of a stored run as a file. */
  'write-run-text': { input: RunTextInput & { readonly path: string }; output: WrittenFile };
  /** Writes a part of an export of a stored run. */
  'export-part': { input: ExportPartInput; output: ExportPart };
  /** Reads the index levels of a stored run. */
  'run-levels': { input: { readonly columns: string }; output: RunLevels };
  /** Reads the closes of the index of a stored run, up to a day. */
  'run-closes': { input: { readonly columns: string; readonly through: string | undefined }; output: IndexCloses };
  /** Collects the inputs of a published run and recomputes its closes from them. */
  'publication-bundle': { input: PublicationBundleInput; output: PublicationBundleOutput };
  /** Computes the composition of an index on a day: a PreviewResponse as JSON. */
  preview: { input: IndexQuestion & { readonly asOf: string | null }; output: ResponseBytes };
  /** Reads a plug-in without calling it. */
  'check-plugin': { input: PluginQuestion; output: CheckedPlugin };
  /** Evaluates an expression for a few securities. Default: on the store's last day. */
  'evaluate-datapoint': { input: DatapointQuestion; output: EvaluatedDatapoint };
  /** Computes the level of an index that is not stored, on a few of its sessions. */
  'sketch-level': { input: LevelSketchQuestion; output: LevelSketch };
  /** Computes the weights of an optimisation: a PreviewResponse as JSON. */
  'preview-optimisation': { input: OptimisationQuestion; output: ResponseBytes };
  /** Explains one weight: an IndexExplanation as JSON. Default: on the store's last day. */
  explain: {
    input: IndexQuestion & { readonly identifier: string; readonly asOf: string | null };
    output: ResponseBytes;
  };
  /** Compares a changed definition with the stored one: a WhatIfResponse as JSON. Default: on the store's last day. */
  whatIf: { input: WhatIfInput; output: ResponseBytes };
  /** Computes the trades that align accounts with an index: a RebalancePack as JSON. */
  rebalancePack: { input: RebalancePackQuestion; output: ResponseBytes };
  /** Renders a report as a PDF. */
  render: { order: RenderOrder; input: RenderInput; output: RenderOutput };
  prices: { input: PricesInput; output: ResponseBytes };
  /** Writes a table of a market as a Parquet file. */
  'market-table': { input: MarketTableInput; output: { readonly bytes: number } };
  /** Counts the securities with a price through time: a CoverageHistoryResponse as JSON. */
  coverage: { input: { readonly market: MarketHandle }; output: ResponseBytes };
  /** Builds the next version of a store from the stored version and its source. */
  'refresh-market': { input: RefreshMarketInput; output: RefreshMarketOutput };
  /** Compares the levels of two stored runs. */
  'compare-levels': { input: CompareLevelsInput; output: CompareLevelsOutput };
  /** Explains the differences between a run and levels from outside. */
  differences: { input: DifferencesInput; output: ComparedDifference };
  /** Computes the total return of a run that is not stored. */
  'total-return': { input: TotalReturnInput; output: { readonly totalReturn: number } };
  /**
   * Computes the change from a content to the content before it as bytes to store, and the opposite change if
   * requested.
   */
  'content-change': { input: ContentChangeInput; output: ContentChangeOutput };
  /**
   * Appends a part of the copy of a content to a file, from a given part number. @returns the number of the next part
   */
  'content-copy': {
    input: { readonly market: MarketHandle; readonly from: number; readonly path: string };
    output: { readonly next: number | null };
  };
  /** Restores a content from a stored copy and later changes. */
  'copied-market': { input: CopiedMarketInput; output: { readonly handle: MarketHandle } };
  /** Restores an earlier content of a data store. */
  'earlier-market': { input: EarlierMarketInput; output: { readonly handle: MarketHandle } };
  /** Lists values that differ between two contents of a data store: a DataDifference as JSON. */
  'data-difference': { input: DataDifferenceInput; output: ResponseBytes };
  /** Finds the data warnings of a market. */
  'audit-market': { input: { readonly market: MarketHandle }; output: MarketAudit };
  /** Applies repairs to a market and writes it as a new store. */
  'repair-market': { input: RepairMarketInput; output: RepairMarketOutput };
  /** Draws the paths of some parts of a simulation. */
  'simulate-part': Portable<SimulatePartInput, { readonly tallies: ArtifactRef }>;
  /** Summarises a simulation: a SimulationView as JSON. */
  'sum-simulation': Portable<SumSimulationInput, WrittenView>;
  /** Estimates a covariance model: its matrix to store, and its diagnostics. */
  'estimate-risk-model': Portable<EstimateRiskModelInput, RiskModelOutput & { readonly covariance: ArtifactRef }>;
  /** Counts the securities that can be estimated. */
  'risk-model-size': Portable<RiskModelSource, { readonly securities: number }>;
  /** Computes parts of a model: rows of its matrix, or its eigenvalues. */
  'risk-model-parts': Portable<RiskModelPartsInput, RiskModelPartsOutput>;
  /** Summarises a model in parts. */
  'sum-risk-model': Portable<SumRiskModelInput, RiskModelOutput>;
  /** Validates the forecasts of a model over history: a RiskValidationView as JSON, and a sentence. */
  'validate-risk-model': {
    order: ValidateRiskModelOrder;
    input: ValidateRiskModelInput;
    output: WrittenView & { readonly message: string };
  };
  /** Optimises weights near an index under constraints: an OptimisationRunResult as JSON, and a summary sentence. */
  optimise: Portable<OptimiseInput, OptimiseOutput>;
  /** Parses an external risk model to numbers to store, or findings. */
  'import-risk-model': { input: ImportRiskModelInput; output: ImportRiskModelOutput };
  /** Writes a stored model of one date as a member of an import. */
  'export-risk-model': { input: ExportRiskModelInput; output: ResponseBytes };
  'risk-model-part': { input: StoredMatrix & { readonly part: RiskModelPart }; output: ResponseBytes };
  /** Computes hashes for a reconciliation, for files that no other thread hashes. */
  'hash-files': { input: SharedHashes; output: null };
  /**
   * Warms up a thread. Loads the code of tasks, opens a market, and computes and discards a run of a plan, if they are
   * given.
   */
  /** Parses and checks the body of a request. */
  'check-body': { input: BodyToCheck; output: BodyCheck };
  'warm-up': { input: WarmUpInput; output: null };
  /** Lists the numbers of a text with their sources. `ids` are the ids that a sentence may name, one a line. */
  'read-text': {
    input: { readonly text: string; readonly ids: string; readonly stores: string };
    output: readonly TextNumber[];
  };
  /** Compares numbers of a text with the results that they cite. */
  'verify-numbers': { input: { readonly results: readonly CitedResult[] }; output: readonly VerifiedNumber[] };
  'describe-tools': { input: null; output: { readonly json: string } };
  /**
   * Returns memory of an idle thread to the system. `prepared` is the thread that takes the next task of the lane; it
   * keeps its open markets.
   */
  rest: { input: { readonly prepared: number }; output: null };
  'risk-model-arrow': {
    input: StoredMatrix & { readonly assetIds: readonly string[]; readonly body: Readonly<Record<string, unknown>> };
    output: ResponseBytes;
  };
}

export type TaskName = keyof Tasks;

/** Tasks whose orders name artifacts and markets. Any process with access to them may run such a task. */
export type PortableTaskName = {
  [N in TaskName]: Tasks[N] extends { readonly order: unknown } ? N : never;
}[TaskName];

/** Input that a caller gives to run a task. */
export type TaskInput<N extends TaskName> = Tasks[N] extends { readonly order: infer Order }
  ? Order
  : WithOutputNames<Tasks[N]['input']>;

/**
 * Input of a warm-up: names of the tasks whose code to load, a market to open, and the plan of a run on that market to
 * compute and discard.
 */
export interface WarmUpInput {
  readonly names: readonly TaskName[];
  readonly market: MarketHandle | null;
  readonly plan: BacktestPlan | null;
  /** Stored price files of runs. One of them may contain the prices of the plan. */
  readonly storedPrices?: readonly ArtifactRef[];
  /** Files that the process wrote or hashed, and the location of stored files. The node that runs the task adds it. */
  readonly checkedFiles?: CheckedFiles | undefined;
  readonly destination?: ArtifactDestination;
}

export type ThreadInput<N extends TaskName> = Tasks[N]['input'];

export type TaskOutput<N extends TaskName> = Tasks[N]['output'];

export type Task<N extends TaskName> = (
  input: ThreadInput<N>,
  control: TaskControl,
) => TaskOutput<N> | Promise<TaskOutput<N>>;

/** Resources of a node that task orders refer to by name. A task order is the input of a task in JSON. */
export interface TaskResources {
  /** Returns the path of an artifact's file, in the same folder as the artifacts that it refers to. */
  file(reference: ArtifactReference): Promise<string>;
  /** Location to which the node's threads write artifacts. */
  readonly destination: ArtifactDestination;
  /** Returns the market with an identity. @throws Refusal NO_DATA_SOURCE if the node does not have the market */
  market(identity: MarketIdentity): Promise<MarketHandle>;
  /** Files that the node's process wrote or hashed. */
  readonly checkedFiles?: CheckedFiles | undefined;
  /** Explains the failure of a task on files that may be unavailable. */
  readonly health?: ArtifactHealth | undefined;
}

/** Maximum number of files of one task that are fetched at once. */
const FETCH_CONCURRENCY = 16;

type TestedRunReference = NonNullable<TaskInput<'validate-risk-model'>['run']>;

/** Kinds of references in orders, each with the function that converts a reference to the resource of a node. */
const KINDS = {
  market: async (identity: MarketIdentity, { market }: TaskResources) => market(identity),
  file: async (reference: ArtifactReference, { file }: TaskResources) => file(reference),
  parts: fetchPartFiles,
  models: fetchModelFiles,
  contents: fetchKnownFiles,
  universe: resolveRiskUniverse,
  /** Stored run that can be extended. */
  extended: fetchStoredRun,
  /** Run whose weights are tested. */
  tested: async ({ indexId, columns }: TestedRunReference, { file }: TaskResources) => ({
    indexId,
    columns: await file(columns),
  }),
  /** Runs of a report. */
  rendered: fetchRenderedRuns,
} as const;

/** Fields whose values in an order refer to resources: their type differs from that of the input. */
type ReferringField<N extends PortableTaskName> = {
  [K in keyof TaskInput<N> & keyof ThreadInput<N>]-?: K extends 'outputs'
    ? never
    : TaskInput<N>[K] extends ThreadInput<N>[K]
      ? never
      : K;
}[keyof TaskInput<N> & keyof ThreadInput<N>];

type KindOf<To> = {
  [K in keyof typeof KINDS]: To extends Awaited<ReturnType<(typeof KINDS)[K]>> ? K : never;
}[keyof typeof KINDS];

/**
 * References in the order of each task. Compilation fails for a field without an entry, and for a kind whose resource is
 * not the value that the input has. All other fields are values, which stay unchanged.
 */
const REFERENCES: {
  readonly [N in PortableTaskName]: {
    readonly [K in ReferringField<N>]: KindOf<ThreadInput<N>[K]>;
  };
} = {
  backtest: { market: 'market', models: 'models', known: 'contents', stored: 'extended' },
  replay: { market: 'market', models: 'models', known: 'contents', columns: 'file' },
  'sweep-part': { market: 'market', models: 'models', known: 'contents' },
  'sum-sweep': { market: 'market', files: 'parts' },
  'sum-rows': { files: 'parts' },
  'batch-part': { market: 'market', models: 'models' },
  'sum-batch': { market: 'market', models: 'models', files: 'parts' },
  'account-backtest': { market: 'market', models: 'models' },
  render: { runs: 'rendered' },
  'simulate-part': { market: 'market', columns: 'file' },
  'sum-simulation': { market: 'market', columns: 'file', files: 'parts' },
  'estimate-risk-model': { market: 'market', universe: 'universe' },
  'risk-model-size': { market: 'market', universe: 'universe' },
  'risk-model-parts': { market: 'market', universe: 'universe' },
  'sum-risk-model': { market: 'market', universe: 'universe', files: 'parts' },
  'validate-risk-model': { market: 'market', run: 'tested' },
  optimise: { market: 'market', models: 'models' },
};

/** Resources of the node that an input has in addition to its order. */
const ADDED: Partial<Record<TaskName, readonly ('checkedFiles' | 'destination')[]>> = {
  backtest: ['checkedFiles'],
  'warm-up': ['checkedFiles', 'destination'],
};

/** Fetches the files of parts in groups, because there may be thousands of files. */
async function fetchPartFiles<F extends ArtifactReference>(
  files: readonly F[],
  { file }: Pick<TaskResources, 'file'>,
): Promise<readonly (Omit<F, 'artifact'> & { readonly path: string })[]> {
  const locatedFiles: (Omit<F, 'artifact'> & { readonly path: string })[] = [];
  for (let from = 0; from < files.length; from += FETCH_CONCURRENCY)
    locatedFiles.push(
      ...(await Promise.all(
        files
          .slice(from, from + FETCH_CONCURRENCY)
          .map(async ({ artifact, ...output }) => ({ ...output, path: await file({ artifact }) })),
      )),
    );
  return locatedFiles;
}

async function fetchModelFiles(models: ModelReferences, resources: TaskResources): Promise<ModelFiles> {
  const files = Object.entries(models).map(
    async ([id, model]) => [id, await fetchModelFile(model, resources)] as const,
  );
  return Object.fromEntries(await Promise.all(files));
}

async function fetchModelFile(
  { artifacts, factors, ...model }: ModelReference,
  { file }: TaskResources,
): Promise<ModelFile> {
  const references = artifacts.map((artifact) => ({ artifact }));
  const [files, factorPath] = await Promise.all([fetchPartFiles(references, { file }), factors && file(factors)]);
  return {
    paths: files.map(({ path }) => path),
    ...model,
    ...(factors === undefined ? {} : { factors: { path: factorPath!, names: factors.names } }),
  };
}

async function fetchKnownFiles(
  contents: EarlierContentReferences,
  { file }: TaskResources,
): Promise<EarlierContentFiles> {
  const files = contents.earlier.map(async ({ artifact, ...rest }) => ({ ...rest, path: await file({ artifact }) }));
  return { ...contents, earlier: await Promise.all(files) };
}

async function fetchStoredRun(
  { columns, checkpoint, checked, fileNames }: StoredRunReferences,
  { file }: TaskResources,
): Promise<ResumableRun> {
  return {
    columns: await file(columns),
    checkpoint: await fetchHashedFile(checkpoint, { file }),
    checked: await Promise.all(checked.map((reference) => fetchHashedFile(reference, { file }))),
    fileNames,
  };
}

async function fetchHashedFile(reference: HashedReference, { file }: Pick<TaskResources, 'file'>): Promise<HashedFile> {
  return { path: await file(reference), sha256: reference.sha256 };
}

async function fetchRenderedRuns(
  runs: readonly RenderedRunOrder[],
  resources: TaskResources,
): Promise<readonly RenderedRun[]> {
  return Promise.all(
    runs.map(async ({ overview, ...run }) => ({
      ...run,
      market: run.market && (await resources.market(run.market)),
      overview:
        'plan' in overview
          ? { plan: await fetchHashedFile(overview.plan, resources) }
          : { stored: await fetchHashedFile(overview.stored, resources) },
      columns: await resources.file(run.columns),
    })),
  );
}

async function resolveRiskUniverse(universe: RiskUniverseOrder, { file }: TaskResources): Promise<RiskUniverse> {
  return universe.kind === 'run' ? { ...universe, columns: await file(universe.columns) } : universe;
}

/** Converts the order of a task to its input, with files and memory of this node. */
export async function resolveTask<N extends TaskName>(
  task: N,
  input: TaskInput<N>,
  resources: TaskResources,
): Promise<ThreadInput<N>> {
  const resolved: Record<string, unknown> = { ...(input as object) };
  const references: Readonly<Record<string, keyof typeof KINDS>> =
    task in REFERENCES ? REFERENCES[task as PortableTaskName] : {};
  for (const [field, kind] of Object.entries(references)) {
    const value = resolved[field];
    // The table pairs each field with the kind of its reference.
    const resolve: (reference: never, resources: TaskResources) => Promise<unknown> = KINDS[kind];
    // Null and texts, such as reasons, are values.
    if (typeof value === 'object' && value !== null) resolved[field] = await resolve(value as never, resources);
  }
  for (const name of ADDED[task] ?? []) resolved[name] = resources[name];
  return addDestination(resolved, resources.destination) as ThreadInput<N>;
}

function addDestination(input: object, destination: ArtifactDestination): object {
  return 'outputs' in input ? { ...input, outputs: { destination, names: input.outputs } } : input;
}
