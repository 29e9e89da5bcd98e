import type { MarketHandle, MarketIdentity } from '#domain/market/handle.js';
import type { ArtifactHealth } from '#store/access/artifact-health.js';
import type { ArtifactDestination } from '#store/port.js';
import { newCheckedFiles } from './checked-files.js';
import { TaskStopped, WorkerLost, type ComputePool, type TaskRun, type ThreadPool } from './compute-pool.js';
import type { PortableTaskName, TaskInput, TaskName, TaskOutput, ThreadInput } from './tasks.js';
import type { CheckedFiles, HashedFile, KnownFiles } from './tasks/files.js';
import type {
  ArtifactReference,
  HashedReference,
  KnownReferences,
  ModelReference,
  RenderedRunOrder,
  RiskUniverseOrder,
  StoredRunReferences,
  WithKnown,
  WithModels,
} from './tasks/references.js';
import type { ModelFile, ModelFiles, RiskUniverse } from './tasks/indices.js';
import type { OverviewFile, ResumableRun } from './tasks/runs.js';

/** Resources of a node that orders refer to by name. */
export interface TaskResources {
  /** Returns the path of an artifact's file, with the artifacts that it refers to in the same folder. */
  file(reference: ArtifactReference): Promise<string>;
  /** Place where its threads write artifacts. */
  readonly destination: ArtifactDestination;
  /** @throws Refusal NO_DATA_SOURCE if the node does not have the market */
  market(identity: MarketIdentity): Promise<MarketHandle>;
  /** Files that its process wrote or hashed. */
  readonly checkedFiles?: CheckedFiles | undefined;
  /** Explains the failure of a task on files that may be unavailable. */
  readonly health?: ArtifactHealth | undefined;
}

/** Resolvers of task inputs, without outputs, which are the same for all tasks. */
type Resolvers = {
  readonly [N in PortableTaskName]: (
    order: Omit<TaskInput<N>, 'outputs'>,
    resources: TaskResources,
  ) => Promise<Omit<ThreadInput<N>, 'outputs'>>;
};

/** Maximum number of files of one task that are fetched at once. */
const FETCHED_AT_ONCE = 16;

/** Resolves each portable task to the files and memory of a node. */
const RESOLVERS: Resolvers = {
  backtest: async ({ stored, ...order }, resources) => ({
    ...(await onModels(order, resources)),
    ...(stored === undefined ? {} : { stored: isReferred(stored) ? await storedRun(stored, resources) : stored }),
    checkedFiles: resources.checkedFiles,
  }),
  replay: async ({ columns, ...order }, resources) => ({
    ...(await onModels(order, resources)),
    columns: await resources.file(columns),
  }),
  'sweep-part': onModels,
  'sum-sweep': async ({ files, ...order }, resources) => ({
    ...(await onMarket(order, resources)),
    files: await partFiles(files, resources),
  }),
  'account-backtest': onModels,
  'batch-part': onModels,
  'sum-batch': async ({ files, ...order }, resources) => ({
    ...(await onModels(order, resources)),
    files: await partFiles(files, resources),
  }),
  'sum-rows': async ({ files, ...order }, resources) => ({ ...order, files: await partFiles(files, resources) }),
  optimise: onModels,
  'simulate-part': onRun,
  'sum-simulation': async ({ files, ...order }, resources) => ({
    ...(await onRun(order, resources)),
    files: await partFiles(files, resources),
  }),
  'estimate-risk-model': onUniverse,
  'risk-model-size': onUniverse,
  'risk-model-rows': onUniverse,
  'sum-risk-model': async ({ files, ...order }, resources) => ({
    ...(await onUniverse(order, resources)),
    files: await partFiles(files, resources),
  }),
  'validate-risk-model': async ({ run, ...order }, resources) => ({
    ...(await onMarket(order, resources)),
    run: run && { ...run, columns: await resources.file(run.columns) },
  }),
  render: async (order, resources) => ({
    ...order,
    runs: await Promise.all(
      order.runs.map(async (run) => ({
        ...run,
        market: run.market && (await resources.market(run.market)),
        overview: await overviewFile(run.overview, resources),
        columns: await resources.file(run.columns),
      })),
    ),
  }),
};

async function onMarket<I extends { readonly market: MarketIdentity }>(
  order: I,
  resources: TaskResources,
): Promise<Omit<I, 'market'> & { readonly market: MarketHandle }> {
  return { ...order, market: await resources.market(order.market) };
}

/** Resolves an input that reads the columns of a run, and perhaps a market. */
async function onRun<I extends { readonly market: MarketIdentity | null; readonly columns: ArtifactReference }>(
  order: I,
  resources: TaskResources,
): Promise<Omit<I, 'market' | 'columns'> & { readonly market: MarketHandle | null; readonly columns: string }> {
  return {
    ...order,
    columns: await resources.file(order.columns),
    market: order.market && (await resources.market(order.market)),
  };
}

/** Fetches the outputs of parts in groups, because there may be thousands. */
async function partFiles<F extends ArtifactReference>(
  files: readonly F[],
  { file }: Pick<TaskResources, 'file'>,
): Promise<(Omit<F, 'artifact'> & { readonly path: string })[]> {
  const located: (Omit<F, 'artifact'> & { readonly path: string })[] = [];
  for (let from = 0; from < files.length; from += FETCHED_AT_ONCE)
    located.push(
      ...(await Promise.all(
        files
          .slice(from, from + FETCHED_AT_ONCE)
          .map(async ({ artifact, ...output }) => ({ ...output, path: await file({ artifact }) })),
      )),
    );
  return located;
}

/** An input with the files of stored risk models and of earlier contents, if any. */
interface Located {
  readonly market: MarketHandle;
  readonly models?: ModelFiles;
  readonly known?: KnownFiles;
}

/** Resolves an input with the files of stored risk models and of earlier contents, if any. */
async function onModels<I extends { readonly market: MarketIdentity } & WithModels & WithKnown>(
  { market, models, known, ...order }: I,
  resources: TaskResources,
): Promise<Omit<I, 'market' | 'models' | 'known'> & Located> {
  const located = {
    ...order,
    market: await resources.market(market),
    ...(known === undefined ? {} : { known: await knownFiles(known, resources) }),
  };
  if (models === undefined) return located;
  const files = Object.entries(models).map(async ([id, model]) => [id, await modelFile(model, resources)] as const);
  return { ...located, models: Object.fromEntries(await Promise.all(files)) satisfies ModelFiles };
}

async function modelFile({ artifact, factors, ...model }: ModelReference, { file }: TaskResources): Promise<ModelFile> {
  const [path, factorPath] = await Promise.all([file({ artifact }), factors && file(factors)]);
  return {
    path,
    ...model,
    ...(factors === undefined ? {} : { factors: { path: factorPath!, names: factors.names } }),
  };
}

async function knownFiles({ knownOn, earlier }: KnownReferences, { file }: TaskResources): Promise<KnownFiles> {
  const files = earlier.map(async ({ artifact, ...content }) => ({ ...content, path: await file({ artifact }) }));
  return { knownOn, earlier: await Promise.all(files) };
}

const isReferred = (stored: TaskInput<'backtest'>['stored']): stored is StoredRunReferences =>
  typeof stored === 'object' && stored !== null;

async function storedRun(
  { columns, checkpoint, checked, fileNames }: StoredRunReferences,
  { file }: TaskResources,
): Promise<ResumableRun> {
  return {
    columns: await file(columns),
    checkpoint: await hashedFile(checkpoint, { file }),
    checked: await Promise.all(checked.map((reference) => hashedFile(reference, { file }))),
    fileNames,
  };
}

async function hashedFile(reference: HashedReference, { file }: Pick<TaskResources, 'file'>): Promise<HashedFile> {
  return { path: await file(reference), sha256: reference.sha256 };
}

async function overviewFile(overview: RenderedRunOrder['overview'], resources: TaskResources): Promise<OverviewFile> {
  return 'plan' in overview
    ? { plan: await hashedFile(overview.plan, resources) }
    : { stored: await hashedFile(overview.stored, resources) };
}

/** Resolves an input that reads the securities of a risk model. */
async function onUniverse<I extends { readonly market: MarketIdentity; readonly universe: RiskUniverseOrder }>(
  { market, universe, ...order }: I,
  resources: TaskResources,
): Promise<Omit<I, 'market' | 'universe'> & { readonly market: MarketHandle; readonly universe: RiskUniverse }> {
  const { file } = resources;
  return {
    ...order,
    market: await resources.market(market),
    universe: universe.kind === 'names' ? universe : { ...universe, columns: await file(universe.columns) },
  };
}

/** Resolves the input of a task to the files and memory of a node. */
export async function resolveTask<N extends TaskName>(
  task: N,
  input: TaskInput<N>,
  resources: TaskResources,
): Promise<ThreadInput<N>> {
  // Tasks without a resolver take their input unchanged; the map pairs the others with their orders.
  const resolve = (RESOLVERS as Partial<Record<TaskName, (order: never, resources: TaskResources) => Promise<object>>>)[
    task
  ];
  const resolved = resolve === undefined ? (input as object) : await resolve(input as never, resources);
  return withDestination(resolved, resources.destination) as ThreadInput<N>;
}

/** Adds the destination to an input with outputs. */
function withDestination(input: object, destination: ArtifactDestination): object {
  return 'outputs' in input ? { ...input, outputs: { destination, names: input.outputs } } : input;
}

/** Creates the threads of a node with its resources: orders are resolved before a thread takes them. */
export function createNodePool(pool: ThreadPool, given: TaskResources): ComputePool {
  const resources = { checkedFiles: newCheckedFiles(given.destination), ...given };
  return {
    run({ input, ...order }) {
      let run: TaskRun<TaskOutput<typeof order.task>> | undefined;
      const output = resolveTask(order.task, input, resources)
        .then((resolved) => {
          run = pool.run({ ...order, input: resolved });
          return run.output;
        })
        .catch(async (thrown: unknown) => {
          throw await explainFailure(thrown, resources);
        });
      return {
        output,
        progress: () => run?.progress() ?? { fraction: 0, message: undefined },
        isAlive: () => run?.isAlive() ?? true,
      };
    },
    load: pool.load,
    close: pool.close,
  };
}

/** Adds the health of the files to a failure; a stopped task or a lost thread has not failed on its files. */
async function explainFailure(thrown: unknown, { health }: TaskResources): Promise<unknown> {
  if (health === undefined || thrown instanceof TaskStopped || thrown instanceof WorkerLost) return thrown;
  return health.explain(thrown);
}
