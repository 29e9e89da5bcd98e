import type { MarketHandle, MarketIdentity } from '#domain/market/market-data.js';
import type { ArtifactDestination, ArtifactHealth } from '#store/port.js';
import { type ComputePool, type TaskRun, TaskStopped, type ThreadPool, WorkerLost } from './port/compute-pool.js';
import type {
  ArtifactReference,
  EarlierContentReferences,
  HashedReference,
  ModelReference,
  ModelReferences,
  PortableTaskName,
  RenderedRunOrder,
  RiskUniverseOrder,
  StoredRunReferences,
  TaskInput,
  TaskName,
  TaskOutput,
  ThreadInput,
} from './tasks/catalogue.js';
import type { ModelFile, ModelFiles, RiskUniverse } from './tasks/indices.js';
import type { CheckedFiles, EarlierContentFiles, HashedFile } from './tasks/messages.js';
import type { RenderedRun, ResumableRun } from './tasks/runs.js';

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
