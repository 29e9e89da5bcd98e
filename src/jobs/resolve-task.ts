import type { MarketHandle, MarketIdentity } from '#domain/market/market-handle.js';
import type { ArtifactDestination, ArtifactHealth } from '#store/port.js';
import { type ComputePool, type TaskRun, TaskStopped, type ThreadPool, WorkerLost } from './port/compute-pool.js';
import type {
  ArtifactReference,
  EarlierContentReferences,
  HashedReference,
  ModelReference,
  ModelReferences,
  OrderOf,
  PortableTaskName,
  RenderedRunOrder,
  RiskUniverseOrder,
  StoredRunReferences,
  TaskInput,
  TaskName,
  TaskOutput,
  ThreadInput,
  WarmUpInput,
} from './tasks/catalogue.js';
import type { ModelFile, ModelFiles, RiskUniverse } from './tasks/indices.js';
import type { CheckedFiles, EarlierContentFiles, HashedFile } from './tasks/messages.js';
import type { OverviewFile, ResumableRun } from './tasks/runs.js';

/**
 * Size in bytes of a process's record of files. It has 32,768 entries of 16 bytes: three entries for each of 10,000
 * runs.
 */
export const CHECKED_FILES_BYTES = 512 * 1024;

/**
 * Creates an empty record of the files that a process writes or hashes. Returns undefined if other machines write to
 * the same location: their changes to a file may become visible late.
 */
export function createCheckedFiles(destination: ArtifactDestination): CheckedFiles | undefined {
  if (destination.kind !== 'folder' || destination.storeId !== undefined) return undefined;
  return new BigUint64Array(new SharedArrayBuffer(CHECKED_FILES_BYTES));
}

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

/** Fields for which the order of a task has another type than `OrderOf` states. */
type SpecialField<N extends PortableTaskName> = {
  [K in keyof ThreadInput<N>]-?: K extends keyof TaskInput<N>
    ? TaskInput<N>[K] extends OrderOf<ThreadInput<N>>[K]
      ? never
      : K
    : K;
}[keyof ThreadInput<N>];

/** Functions that resolve special fields. Compilation fails for a task that has special fields but no such function. */
type Resolvers = {
  readonly [N in PortableTaskName as SpecialField<N> extends never ? never : N]: (
    order: TaskInput<N>,
    resources: TaskResources,
  ) => Promise<Pick<ThreadInput<N>, SpecialField<N>>>;
};

/** Maximum number of files of one task that are fetched at once. */
const FETCH_CONCURRENCY = 16;

const RESOLVERS: Resolvers & {
  readonly 'warm-up': (order: object, resources: TaskResources) => Promise<Partial<WarmUpInput>>;
} = {
  'warm-up': async (_order, { checkedFiles, destination }) => ({ checkedFiles, destination }),
  backtest: async ({ stored }, resources) => ({
    ...(stored === undefined ? {} : { stored: isReferred(stored) ? await fetchStoredRun(stored, resources) : stored }),
    checkedFiles: resources.checkedFiles,
  }),
  'validate-risk-model': async ({ run }, { file }) => ({ run: run && { ...run, columns: await file(run.columns) } }),
  render: async ({ runs }, resources) => ({
    runs: await Promise.all(
      runs.map(async (run) => ({
        ...run,
        market: run.market && (await resources.market(run.market)),
        overview: await fetchOverviewFile(run.overview, resources),
        columns: await resources.file(run.columns),
      })),
    ),
  }),
};

/**
 * Functions that resolve the fields with the same name in every order. Fields without a function are values and stay
 * unchanged.
 */
const NAMED_FIELDS: Readonly<Record<string, (value: object, resources: TaskResources) => unknown>> = {
  market: (value, { market }) => (isNamedMarket(value) ? market(value) : value),
  columns: (value, { file }) => (isReference(value) ? file(value) : value),
  universe: (value, resources) => resolveRiskUniverse(value as RiskUniverseOrder | RiskUniverse, resources),
  files: (value, resources) => (areReferences(value) ? fetchPartFiles(value, resources) : value),
  models: (value, resources) => fetchModelFiles(value as ModelReferences | ModelFiles, resources),
  known: (value, resources) => fetchKnownFiles(value as EarlierContentReferences | EarlierContentFiles, resources),
};

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isReference = (value: object): value is ArtifactReference => 'artifact' in value;
const areReferences = (value: object): value is readonly ArtifactReference[] =>
  Array.isArray(value) && value.every((item) => isObject(item) && isReference(item));
const isNamedMarket = (value: object): value is MarketIdentity => 'contentHash' in value && !('dates' in value);

async function resolveNamed(order: object, resources: TaskResources): Promise<object> {
  const resolvedInput: Record<string, unknown> = { ...order };
  for (const [name, resolve] of Object.entries(NAMED_FIELDS)) {
    const value = resolvedInput[name];
    if (isObject(value)) resolvedInput[name] = await resolve(value, resources);
  }
  return resolvedInput;
}

/** Fetches the files of parts in groups, because there may be thousands of files. */
async function fetchPartFiles<F extends ArtifactReference>(
  files: readonly F[],
  { file }: Pick<TaskResources, 'file'>,
): Promise<(Omit<F, 'artifact'> & { readonly path: string })[]> {
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

async function fetchModelFiles(models: ModelReferences | ModelFiles, resources: TaskResources): Promise<ModelFiles> {
  const files = Object.entries(models).map(
    async ([id, model]) => [id, 'artifacts' in model ? await fetchModelFile(model, resources) : model] as const,
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
  earlierContents: EarlierContentReferences | EarlierContentFiles,
  { file }: TaskResources,
): Promise<EarlierContentFiles> {
  const files = earlierContents.earlier.map(async (content) => {
    if (!('artifact' in content)) return content;
    const { artifact, ...rest } = content;
    return { ...rest, path: await file({ artifact }) };
  });
  return { ...earlierContents, earlier: await Promise.all(files) };
}

const isReferred = (stored: TaskInput<'backtest'>['stored']): stored is StoredRunReferences =>
  typeof stored === 'object' && stored !== null;

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

async function fetchOverviewFile(
  overview: RenderedRunOrder['overview'],
  resources: TaskResources,
): Promise<OverviewFile> {
  return 'plan' in overview
    ? { plan: await fetchHashedFile(overview.plan, resources) }
    : { stored: await fetchHashedFile(overview.stored, resources) };
}

async function resolveRiskUniverse(
  universe: RiskUniverseOrder | RiskUniverse,
  { file }: TaskResources,
): Promise<RiskUniverse> {
  if (universe.kind !== 'run') return universe;
  const { columns } = universe;
  return { ...universe, columns: typeof columns === 'string' ? columns : await file(columns) };
}

/** Converts the order of a task to its input, with files and memory of this node. */
export async function resolveTask<N extends TaskName>(
  task: N,
  input: TaskInput<N>,
  resources: TaskResources,
): Promise<ThreadInput<N>> {
  // The map pairs each task with its order.
  const resolve = (RESOLVERS as Partial<Record<TaskName, (order: never, resources: TaskResources) => Promise<object>>>)[
    task
  ];
  const namedInput = await resolveNamed(input as object, resources);
  const specialFields = await resolve?.(input as never, resources);
  return addDestination({ ...namedInput, ...specialFields }, resources.destination) as ThreadInput<N>;
}

/** Adds the destination to an input with outputs. */
function addDestination(input: object, destination: ArtifactDestination): object {
  return 'outputs' in input ? { ...input, outputs: { destination, names: input.outputs } } : input;
}

/** Creates the threads of a node. An order is resolved with the node's resources before a thread receives it. */
export function createNodePool(pool: ThreadPool, taskResources: TaskResources): ComputePool {
  const resources = { checkedFiles: createCheckedFiles(taskResources.destination), ...taskResources };
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

/**
 * Adds the state of the artifact store to an error. Does not do this for a stopped task or a lost thread, whose cause
 * is not a file.
 */
async function explainFailure(thrown: unknown, { health }: TaskResources): Promise<unknown> {
  if (health === undefined || thrown instanceof TaskStopped || thrown instanceof WorkerLost) return thrown;
  return health.explain(thrown);
}
