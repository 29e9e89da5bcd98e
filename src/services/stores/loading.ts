import type { DataStore } from '#contract/stores.js';
import type { Finding } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { type Day, formatDay } from '#domain/base/time.js';
import { type DatasetDocument, isManaged, refuseWhileResuming, TABLE_KINDS } from '#domain/definition/datasets.js';
import type { MarketHandle } from '#domain/market/market-data.js';
import type { Jobs } from '#jobs/port/job-kind.js';
import { digestFiles, type SourceDigest } from '#market/formats/source-file.js';
import { readsStatedActions } from '#market/mapping/columns.js';
import type { MarketInterpretation } from '#market/mapping/mapped-content.js';
import {
  findVersionFileByBytes,
  listFolderFiles,
  selectUnreadFiles,
  type TableFiles,
  toVersionFiles,
  type VersionFile,
} from '#market/read/folder.js';
import { type MarketTaskOptions, type MarketTaskResult, runMarketTask } from '#market/serve/market-process.js';
import type { ContentSummary, MarketTasks } from '#market/serve/market-tasks.js';
import { prepareServedMarket, type ServedMarket } from '#market/serve/served-markets.js';
import { createProblems, type Problems } from '#market/tables/problems.js';
import type { TableKind } from '#market/tables/table-kinds.js';
import { type DocumentReader, type DocumentStore, readStoredBody } from '#store/port.js';
import {
  type Activity,
  readDataset,
  refuseMissingDataset,
  requireDataset,
  type SourceContext,
  type StoredStore,
  toDataStore,
} from '../shared/store-documents.js';

export const refuseData = (findings: readonly Finding[]): Refusal => refuseWithFindings('data', findings);

/** Returns findings about the whole source with the path of a request field. */
export function placeFindings(field: string, findings: readonly Finding[]): Finding[] {
  return findings.map((finding) =>
    finding.path === '' && finding.code !== 'MORE_FINDINGS' ? { ...finding, path: field } : finding,
  );
}

/**
 * Runs work and converts a failure of the reader process to a finding. For responses that are not a job.
 * @param field field of the request or of the store that contains the location of the data
 */
export async function convertFailure<T>(field: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (failure) {
    if (failure instanceof Refusal && failure.code === 'STORE_READ_FAILED')
      throw refuseData([{ severity: 'error', code: 'UNREADABLE_FILE', message: failure.message, path: field }]);
    if (failure instanceof Refusal && failure.code === 'STORE_WRITE_FAILED')
      throw new Refusal('STORE_UNAVAILABLE', failure.message, null, { cause: failure });
    throw failure;
  }
}

/** Current activity of each store. Other operations are refused while a store is busy. */
export interface DatasetActivity {
  /** Returns the current activity of a store; undefined if the store is idle. */
  of(datasetId: string): Promise<Activity | undefined>;
  /** Ids of stores that are being read outside a job: during a registration, an import or the start of the service. */
  readonly reading: Set<string>;
  /** Marks the store that was served before the restart as loading until `over` resolves. */
  resumes(datasetId: string, over: Promise<void>): void;
  isServed(datasetId: string): boolean;
  /** Returns true if the process that generated a store stopped before the store was complete. */
  isAbandoned(document: DatasetDocument): Promise<boolean>;
  /** Returns the present state of a store for the API. */
  view(document: DatasetDocument): Promise<DataStore>;
  /** Returns a stored store. @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE */
  requireKnown(datasetId: string): Promise<StoredStore>;
  /** Ensures that no work on a store is in progress. @throws Refusal STORE_LOADING, STORE_REFRESHING */
  assertIdle(datasetId: string): Promise<void>;
  /**
   * Checks that no store is loading. Only one load may run, because its result is served. @throws Refusal STORE_LOADING
   */
  assertNoneLoads(): Promise<void>;
  /**
   * Runs `begin` if no work on a store is in progress. No other work on it, and no deletion, can begin between the check
   * and the start. @param options `isLoad` is true if the store will be served: then no other load may run
   * @throws Refusal STORE_LOADING, STORE_REFRESHING
   */
  admit<T>(datasetId: string, begin: () => Promise<T>, options?: { readonly isLoad: boolean }): Promise<T>;
  /** Deletes an idle store. Until the deletion has ended, all work on it is refused. @throws as `admit` */
  removing<T>(datasetId: string, remove: () => Promise<T>): Promise<T>;
  /**
   * Marks a store as being read outside a job. `isLoad` is true if the store will be served afterwards.
   * @throws Refusal STORE_LOADING
   */
  beginReading(datasetId: string, options: { readonly isLoad: boolean }): Promise<void>;
  /**
   * Checks that no store has this id.
   * @param reader transaction that writes the store; default: the stored documents
   * @throws Refusal STORE_EXISTS
   */
  assertFree(datasetId: string, reader?: Pick<DocumentReader, 'get'>): Promise<void>;
  /** Runs work with a free id that consists of the stem and a number. The id is reserved while the work runs. */
  withFreeId<T>(idStem: string, work: (datasetId: string) => Promise<T>): Promise<T>;
  /** Runs work on a store, which counts as being read until the work has ended. `beginReading` admits it before. */
  asReader<T>(datasetId: string, work: () => Promise<T>): Promise<T>;
}

export function createDatasetActivity({ documents, jobs, markets }: SourceContext): DatasetActivity {
  const readingIds = new Set<string>();
  const removedIds = new Set<string>();
  /** Id of the store that was served before the restart; set while the store is read again. */
  let resumedId: string | undefined;
  const runInTurn = createTurns();

  async function readActivity(datasetId: string): Promise<Activity | undefined> {
    if (readingIds.has(datasetId) || resumedId === datasetId || (await jobs.isLive(`load:${datasetId}`)))
      return 'loading';
    return (await jobs.isLive(`refresh:${datasetId}`)) || (await jobs.isLive(`sync:${datasetId}`))
      ? 'refreshing'
      : undefined;
  }

  const isServed = (datasetId: string) => markets.served()?.handle.datasetId === datasetId;
  const isAbandoned = async ({ store_id, writing }: DatasetDocument) =>
    writing && !(await jobs.isLive(`generate:${store_id}`));
  const readView = async (document: DatasetDocument) =>
    toDataStore(document, { isServed: isServed(document.store_id), activity: await readActivity(document.store_id) });

  async function requireStoredDataset(datasetId: string) {
    const storedDataset = await requireDataset(documents, datasetId);
    if (await isAbandoned(storedDataset.document)) throw refuseMissingDataset(datasetId);
    return storedDataset;
  }

  const refuseBusy = (datasetId: string, reason: string): Refusal =>
    datasetId === resumedId
      ? refuseWhileResuming(datasetId)
      : new Refusal('STORE_LOADING', `The data store ${datasetId} ${reason}.`, { store_id: datasetId });

  async function assertIdle(datasetId: string): Promise<void> {
    if (removedIds.has(datasetId)) throw refuseBusy(datasetId, 'is being deleted');
    const activity = await readActivity(datasetId);
    if (activity === 'loading' || (await jobs.isLive(`generate:${datasetId}`)))
      throw refuseBusy(datasetId, 'is being read or written');
    if (activity === 'refreshing')
      throw new Refusal('STORE_REFRESHING', `The data store ${datasetId} is being refreshed.`, { store_id: datasetId });
  }

  async function assertNoLoading(): Promise<void> {
    const [first] = [...(resumedId === undefined ? [] : [resumedId]), ...readingIds, ...(await listLiveLoads(jobs))];
    if (first !== undefined) throw refuseBusy(first, 'is already loading');
  }

  const admit: DatasetActivity['admit'] = (datasetId, begin, options) =>
    runInTurn(async () => {
      await assertIdle(datasetId);
      if (options?.isLoad === true) await assertNoLoading();
      return begin();
    });

  async function runRemoval<T>(datasetId: string, remove: () => Promise<T>): Promise<T> {
    await admit(datasetId, async () => removedIds.add(datasetId));
    try {
      return await remove();
    } finally {
      removedIds.delete(datasetId);
    }
  }

  const beginReading = (datasetId: string, { isLoad }: { readonly isLoad: boolean }): Promise<void> =>
    runInTurn(async () => {
      if (removedIds.has(datasetId)) throw refuseBusy(datasetId, 'is being deleted');
      if (readingIds.has(datasetId) || resumedId === datasetId) throw refuseBusy(datasetId, 'is being read or written');
      if (isLoad) await assertNoLoading();
      readingIds.add(datasetId);
    });

  async function assertFree(datasetId: string, reader: Pick<DocumentReader, 'get'> = documents): Promise<void> {
    const storedDocument = await reader.get('store', datasetId);
    const document = readStoredBody(storedDocument, readDataset);
    if (storedDocument === undefined || (document !== undefined && (await isAbandoned(document)))) return;
    throw new Refusal(
      'STORE_EXISTS',
      `A data store is already registered under the id ${datasetId}; store_id (--id of the command) gives another.`,
      { store_id: datasetId },
    );
  }

  async function runAsReader<T>(datasetId: string, work: () => Promise<T>): Promise<T> {
    readingIds.add(datasetId);
    try {
      return await convertFailure('location', work());
    } finally {
      readingIds.delete(datasetId);
    }
  }

  return {
    of: readActivity,
    reading: readingIds,
    resumes(datasetId, completion) {
      resumedId = datasetId;
      void completion.then(() => (resumedId = undefined));
    },
    isServed,
    isAbandoned,
    view: readView,
    requireKnown: requireStoredDataset,
    assertIdle,
    assertNoneLoads: assertNoLoading,
    admit,
    removing: runRemoval,
    beginReading,
    assertFree,
    withFreeId: createIdReservation(documents),
    asReader: runAsReader,
  };
}

/** Returns a function that runs admissions one after another. */
function createTurns(): <T>(admission: () => Promise<T>) => Promise<T> {
  let lastAdmission: Promise<unknown> = Promise.resolve();
  return (admission) => {
    const ownAdmission = lastAdmission.then(admission);
    lastAdmission = ownAdmission.catch(() => undefined);
    return ownAdmission;
  };
}

function createIdReservation(documents: Pick<DocumentStore, 'ids'>): DatasetActivity['withFreeId'] {
  /** Ids that are reserved for stores whose documents do not exist yet. */
  const reservedIds = new Set<string>();
  return async (idStem, work) => {
    const usedIds = new Set([...(await documents.ids('store')), ...reservedIds]);
    let n = 1;
    while (usedIds.has(`${idStem}-${n}`)) n += 1;
    const datasetId = `${idStem}-${n}`;
    reservedIds.add(datasetId);
    try {
      return await work(datasetId);
    } finally {
      reservedIds.delete(datasetId);
    }
  };
}

async function listLiveLoads(jobs: Jobs): Promise<string[]> {
  const liveIds: string[] = [];
  for (const jobId of await jobs.ids('load')) if (await jobs.isLive(jobId)) liveIds.push(jobId.slice('load:'.length));
  return liveIds;
}

/** Members of a store that determine how its source is read. */
export type SourceTerms = Pick<
  DatasetDocument,
  'store_id' | 'kind' | 'location' | 'tables' | 'adjustment' | 'currency' | 'mapping' | 'kept' | 'price_overrides'
> & {
  /** Files that the service wrote; compared with the present ones if the service manages the store. */
  readonly files?: DatasetDocument['files'];
  /** Request from which the data of a synthetic store can be generated again. */
  readonly synthetic?: DatasetDocument['synthetic'];
};

interface LoadOptions {
  /** True to load the data into shared memory, false to read and check it only. */
  readonly serve: boolean;
  /** True if the store will be active. Default: whether it is. */
  readonly willBeActive?: boolean;
  readonly onProgress?: MarketTaskOptions['onProgress'];
  readonly signal?: AbortSignal;
}

interface ReadRefusal {
  readonly kind: 'refused';
  readonly findings: readonly Finding[];
}

const createTerms = ({ mapping, adjustment, price_overrides: overrides }: SourceTerms): MarketInterpretation => ({
  mapping,
  adjustment,
  ...(overrides && { overrides }),
});

/** Number of hexadecimal digits of a SHA-256 in a message. */
const SHOWN_DIGITS = 12;

/** Ways to replace a damaged file, by the kind of store. */
const REMEDIES: Readonly<Partial<Record<DatasetDocument['kind'], string>>> = {
  synthetic: 'delete the store and generate it again with the same request',
  imported: 'import the data again with on_exists replace',
};

/** Second source of the files of a store. */
export type RepairedFrom = keyof typeof REPAIRS;

const REPAIRS = {
  artifacts: 'fetched the files of the store again from the shared artifacts',
  request: 'generated the files of the store again from its request',
};

/**
 * Returns a finding for each file of a managed store that is not what the service wrote. Only the service changes the
 * files of such a store, so that any other content is damage.
 * @param repair source from which the files were replaced. Default: they were not replaced.
 */
export function findAlteredFiles(
  { store_id: datasetId, kind, location, files = [] }: SourceTerms,
  present: readonly SourceDigest[],
  repair?: RepairedFrom,
): Finding[] {
  const digestByLabel = new Map(present.map((digest) => [digest.label, digest]));
  const labels = new Set(files.map(({ label }) => label));
  const outcome =
    repair === undefined
      ? `Its data is not used. Restore the folder ${location ?? ''} from a backup, or ${REMEDIES[kind] ?? 'create the store again'}.`
      : `The service ${REPAIRS[repair]}, with the content that it wrote before.`;
  const createFinding = (label: string, problem: string): Finding => ({
    severity: repair === undefined ? 'error' : 'warning',
    code: 'DAMAGED_FILE',
    path: label,
    message: `The file ${label} of the data store ${datasetId} ${problem}. ${outcome}`,
  });
  const damage = files.flatMap(({ label, bytes, sha256 }) => {
    const digest = digestByLabel.get(label);
    if (digest === undefined) return [createFinding(label, 'is missing or unreadable')];
    if (digest.sha256 === sha256) return [];
    const [was, is] = [sha256.slice(0, SHOWN_DIGITS), digest.sha256.slice(0, SHOWN_DIGITS)];
    return [
      createFinding(
        label,
        `was changed by another program: ${digest.bytes} bytes with SHA-256 ${is}, where the service wrote ${bytes} bytes with SHA-256 ${was}`,
      ),
    ];
  });
  const strangers = present.filter(({ label }) => files.length > 0 && !labels.has(label));
  return [...damage, ...strangers.map(({ label }) => createFinding(label, 'was added by another program'))];
}

/** Checks that the files of a managed store are those that the service wrote. @throws Refusal NO_DATA_SOURCE */
export async function assertFilesUnchanged(store: SourceTerms, files: TableFiles): Promise<void> {
  const damage = findAlteredFiles(store, await digestReadable(files));
  if (damage.length > 0) throw refuseUnreadableStore(store.store_id, damage);
}

async function digestReadable(files: TableFiles): Promise<readonly SourceDigest[]> {
  const digests: SourceDigest[] = [];
  for (const file of TABLE_KINDS.flatMap((table) => files[table])) await digestFiles([file], digests).catch(() => {}); // an unreadable file has no digest
  return digests;
}

export function refuseUnreadableStore(datasetId: string, findings: readonly Finding[]): Refusal {
  const error = { code: 'STORE_READ_FAILED', message: findings[0]?.message ?? '', detail: { findings } };
  return new Refusal('NO_DATA_SOURCE', `The data store ${datasetId} could not be read: ${error.message}`, {
    store_id: datasetId,
    error,
  });
}

/** Creates the service that reads folders. A folder can change while it is read. */
function createFolderReading({ locations, timestamp }: SourceContext) {
  /** Lists the files of each table. If the folder does not exist, returns undefined and adds a problem. */
  async function list({ location, tables, mapping }: SourceTerms, problems: Problems): Promise<TableFiles | undefined> {
    const ownLocations = locations.forRegistered(location ?? '');
    const resolvedPath = await ownLocations.resolve(location ?? '', 'folder');
    if ('path' in resolvedPath) return listFolderFiles(resolvedPath.path, { tables, mapping }, ownLocations, problems);
    problems.error(resolvedPath.problem);
    return undefined;
  }

  async function readFiles(
    source: SourceTerms,
    tableFiles: TableFiles,
    input: MarketTasks['readFiles'],
    options: MarketTaskOptions,
  ): Promise<MarketTaskResult> {
    const result = await runMarketTask('readFiles', { ...input, isOwn: isManaged(source.kind) }, options);
    if (result.kind === 'refused') return result;
    const problems = createProblems();
    const now = await list(source, problems);
    for (const label of listChangedLabels(tableFiles, now))
      problems.error({
        code: 'UNREADABLE_FILE',
        path: label,
        message: 'The file appeared or disappeared while the folder was read.',
      });
    return problems.errors > 0 ? { kind: 'refused', findings: problems.findings() } : result;
  }

  async function read(
    source: SourceTerms,
    options: MarketTaskOptions,
  ): Promise<MarketTaskResult & { readonly known?: readonly VersionFile[] }> {
    const problems = createProblems();
    const listedAt = Date.parse(timestamp());
    const files = await list(source, problems);
    if (files === undefined || problems.errors > 0) return refuseFolder(createTerms(source), files, problems, options);
    const result = await readFiles(source, files, { files, terms: createTerms(source) }, options);
    problems.take(result.kind === 'refused' ? result.findings : result.summary.warnings);
    if (result.kind === 'refused') return { kind: 'refused', findings: problems.findings() };
    return {
      ...result,
      summary: { ...result.summary, warnings: problems.findings() },
      known: toVersionFiles(files, result.summary.files, listedAt),
    };
  }

  return {
    list,
    async digest(source: SourceTerms): Promise<readonly SourceDigest[]> {
      const files = await list(source, createProblems());
      return files === undefined ? [] : digestReadable(files);
    },
    readFiles,
    read,
    /**
     * Returns the files of a folder if they still have the content from which the store was read; otherwise undefined.
     */
    async unchanged({
      files: digests,
      ...source
    }: SourceTerms & Pick<DatasetDocument, 'files'>): Promise<readonly VersionFile[] | undefined> {
      if (source.kind !== 'folder') return undefined;
      const listedAt = Date.parse(timestamp());
      const currentFiles = await list(source, createProblems());
      const files = TABLE_KINDS.flatMap((table) => currentFiles?.[table] ?? []);
      const digestByLabel = new Map(digests.map((digest) => [digest.label, digest]));
      const isSameFile = ({ label, bytes, sha256 }: Partial<SourceDigest>): boolean => {
        const digest = digestByLabel.get(label ?? '');
        return digest?.bytes === bytes && (sha256 === undefined || digest?.sha256 === sha256);
      };
      if (currentFiles === undefined || files.length !== digestByLabel.size || !files.every(isSameFile))
        return undefined;
      const fileDigests: SourceDigest[] = [];
      await digestFiles(files, fileDigests).catch(() => fileDigests.splice(0)); // the reader reports unreadable files
      return fileDigests.length === files.length && fileDigests.every(isSameFile)
        ? toVersionFiles(currentFiles, digests, listedAt)
        : undefined;
    },
  };
}

async function refuseFolder(
  terms: MarketInterpretation,
  files: TableFiles | undefined,
  problems: Problems,
  options: MarketTaskOptions,
): Promise<ReadRefusal> {
  if (files !== undefined && TABLE_KINDS.some((table) => files[table].length > 0)) {
    const marketTaskResult = await runMarketTask('readFiles', { files, terms }, { ...options, load: null });
    if (marketTaskResult.kind === 'refused') problems.take(marketTaskResult.findings);
  }
  return { kind: 'refused', findings: problems.findings() };
}

/**
 * Returns the labels of files that only one of the two listings contains. A folder that can no longer be listed counts
 * as empty.
 */
function listChangedLabels(before: TableFiles, now: TableFiles | undefined): string[] {
  const collectLabels = (files: TableFiles | undefined) =>
    new Set(TABLE_KINDS.flatMap((table) => files?.[table].map(({ label }) => label) ?? []));
  const [old, current] = [collectLabels(before), collectLabels(now)];
  return [...[...old].filter((label) => !current.has(label)), ...[...current].filter((label) => !old.has(label))];
}

type AcceptedRead = Extract<MarketTaskResult, { readonly kind: 'accepted' }>;

interface AdditionOptions extends Omit<LoadOptions, 'serve'> {
  /** Last stored day. If all bars of the new files are later, only the new files are read. */
  readonly lastDay: Day;
  readonly knownFiles: readonly VersionFile[];
}

/** Data of a source that the current version of its store does not have yet. */
export interface AddedContent {
  /** Counts of all files and of the rows that were read. */
  readonly summary: ContentSummary;
  readonly handle: MarketHandle;
  /** True if all bars of the source were read, including those of stored days. */
  readonly isWhole: boolean;
  /** Tables that were not read, because none of their files was added, removed or changed. */
  readonly unchangedTables: readonly TableKind[];
  readonly files: readonly VersionFile[];
}

/** Reads the new files of a folder. If bars of stored days may have changed, reads the whole market. */
async function readFolderAddition(
  {
    folders,
    timestamp,
  }: { readonly folders: ReturnType<typeof createFolderReading>; readonly timestamp: () => string },
  source: SourceTerms,
  { lastDay, knownFiles }: AdditionOptions,
  options: MarketTaskOptions,
): Promise<ReadRefusal | ({ readonly kind: 'added' } & AddedContent)> {
  const problems = createProblems();
  const listedAt = Date.parse(timestamp());
  const files = await folders.list(source, problems);
  if (files === undefined || problems.errors > 0) return refuseFolder(createTerms(source), files, problems, options);
  const unreadFiles = selectUnreadFiles(
    files,
    knownFiles,
    await findVersionFileByBytes(files, knownFiles, listedAt),
    createDerivedTables(source),
  );
  const createAddition = (
    unchangedTables: readonly TableKind[],
    unchangedFiles: readonly VersionFile[],
    { isWhole, read }: { readonly isWhole: boolean; readonly read: AcceptedRead },
  ) => {
    const fileDigests = listInOrder(files, [...unchangedFiles, ...read.summary.files]);
    const bytes = fileDigests.reduce((sum, file) => sum + file.bytes, 0);
    const readWarnings = [...problems.findings(), ...(read.summary.readWarnings ?? [])];
    return {
      kind: 'added' as const,
      summary: { ...read.summary, files: fileDigests, bytes, readWarnings },
      handle: read.handle!, // the read was requested with panels
      isWhole,
      unchangedTables: [...unchangedTables, ...(read.summary.unchangedTables ?? [])],
      files: [...unchangedFiles, ...toVersionFiles(files, read.summary.files, listedAt)],
    };
  };
  const terms = createTerms(source);
  // Joined or derived columns of a mapping require the whole source.
  const isPart =
    source.mapping === null &&
    !unreadFiles.isMarketChanged &&
    unreadFiles.unchanged.some(({ dataset: table }) => table === 'market');
  const part = isPart
    ? await folders.readFiles(
        source,
        files,
        { files: unreadFiles.files, isPart, knownDigests: unreadFiles.digests, terms },
        options,
      )
    : undefined;
  if (part?.kind === 'accepted' && (part.summary.start ?? Infinity) > lastDay)
    return createAddition(unreadFiles.unchangedTables, unreadFiles.unchanged, { isWhole: false, read: part });
  const market =
    part?.kind === 'refused'
      ? part
      : await folders.readFiles(
          source,
          files,
          {
            files: { ...unreadFiles.files, market: files.market },
            knownDigests: unreadFiles.digests,
            terms,
          },
          options,
        );
  if (market.kind === 'accepted')
    return createAddition(
      unreadFiles.unchangedTables,
      unreadFiles.unchanged.filter(({ dataset: table }) => table !== 'market'),
      { isWhole: true, read: market },
    );
  // Errors are reported for the whole folder. One file may have a column that another file lacks, two files may contain
  // the same bar, and a table that was not read may state the exchanges that determine the days of instants.
  const whole = await folders.readFiles(source, files, { files, terms }, options);
  return whole.kind === 'refused' ? whole : createAddition([], [], { isWhole: true, read: whole });
}

/**
 * Returns the tables that are derived from the market. They are as recent as the market, whatever files the folder has.
 */
const createDerivedTables = ({ mapping }: SourceTerms): readonly TableKind[] =>
  mapping !== null && readsStatedActions(mapping) ? ['corporate_actions'] : [];

function listInOrder(
  files: TableFiles,
  fileDigests: readonly { readonly label: string; readonly bytes: number; readonly sha256: string }[],
) {
  const digestByLabel = new Map(fileDigests.map(({ label, bytes, sha256 }) => [label, { label, bytes, sha256 }]));
  return TABLE_KINDS.flatMap((table) => files[table].flatMap(({ label }) => digestByLabel.get(label) ?? []));
}

export type LoadOutcome =
  | { readonly kind: 'loaded'; readonly summary: ContentSummary; readonly served: ServedMarket | undefined }
  | ReadRefusal;

export interface DatasetLoading {
  /**
   * Returns the files of a folder if their content has not changed since the store was read; otherwise undefined.
   * @cost 1 ms per MiB of files with unchanged names and sizes
   */
  unchanged(store: SourceTerms & Pick<DatasetDocument, 'files'>): Promise<readonly VersionFile[] | undefined>;
  /** Reads a store from its source. @throws Refusal STORE_READ_FAILED, NOT_SUPPORTED */
  read(source: SourceTerms, options: LoadOptions): Promise<LoadOutcome>;
  /**
   * Reads what was added to the source of a store: new files, and tables that may have changed. Reads the whole market
   * from a database, and if bars of stored days may have changed.
   * @throws Refusal STORE_READ_FAILED, NOT_SUPPORTED
   */
  readAddition(
    source: SourceTerms,
    options: AdditionOptions,
  ): Promise<ReadRefusal | ({ readonly kind: 'added' } & AddedContent)>;
}

/** @param regenerate generates the files of a synthetic store again: see `createRegeneration` */
export function createDatasetLoading(
  context: SourceContext,
  regenerate: (source: SourceTerms) => Promise<boolean>,
): DatasetLoading {
  const { databases, files: storeFiles, calendarsInUse, timestamp } = context;
  const folders = createFolderReading(context);

  async function readDatabase(source: SourceTerms, options: MarketTaskOptions): Promise<MarketTaskResult> {
    const { location, tables } = source;
    const resolvedUrl = await databases.resolve(location ?? '', { isRegistered: true });
    if ('problem' in resolvedUrl) return { kind: 'refused', findings: [{ severity: 'error', ...resolvedUrl.problem }] };
    return runMarketTask('readDatabase', { place: resolvedUrl.place, tables, terms: createTerms(source) }, options);
  }

  /** Reads a folder. Damaged files of a managed store are fetched or generated again, if possible, or refused. */
  async function readFolder(source: SourceTerms, options: MarketTaskOptions): ReturnType<typeof folders.read> {
    const result = await folders.read(source, options);
    if (!isManaged(source.kind)) return result;
    const present = result.kind === 'refused' ? await folders.digest(source) : result.summary.files;
    const damage = findAlteredFiles(source, present);
    if (damage.length === 0) return result;
    const fetched = await storeFiles.refetch(source);
    if (fetched === undefined && !(await regenerate(source))) return { kind: 'refused', findings: damage };
    const again = await folders.read(fetched ?? source, options);
    const isIntact = again.kind !== 'refused' && findAlteredFiles(source, again.summary.files).length === 0;
    if (!isIntact) return { kind: 'refused', findings: damage };
    const repairs = findAlteredFiles(source, present, fetched === undefined ? 'request' : 'artifacts');
    return { ...again, summary: { ...again.summary, warnings: [...repairs, ...again.summary.warnings] } };
  }

  const createOptions = async (
    source: SourceTerms,
    serve: boolean,
    { onProgress, signal, willBeActive }: Pick<LoadOptions, 'onProgress' | 'signal' | 'willBeActive'>,
  ): Promise<MarketTaskOptions> => ({
    calendars: await calendarsInUse(source.store_id, willBeActive),
    load: serve ? { datasetId: source.store_id, adjustment: source.adjustment, currency: source.currency } : null,
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(signal === undefined ? {} : { signal }),
  });

  return {
    unchanged: folders.unchanged,
    async read(source, { serve, ...rest }) {
      const options = await createOptions(source, serve, rest);
      const result =
        source.kind === 'database'
          ? { ...(await readDatabase(source, options)), known: [] }
          : await readFolder(await storeFiles.here(source), options);
      if (result.kind === 'refused') return result;
      return {
        kind: 'loaded',
        summary: result.summary,
        served:
          result.handle === null ? undefined : await prepareServedMarket(result.handle, timestamp(), result.known),
      };
    },
    async readAddition(source, addition) {
      const options = await createOptions(source, true, addition);
      if (source.kind !== 'database')
        return readFolderAddition({ folders, timestamp }, await storeFiles.here(source), addition, options);
      const result = await readDatabase(source, options);
      return result.kind === 'refused'
        ? result
        : {
            kind: 'added',
            summary: result.summary,
            handle: result.handle!,
            isWhole: true,
            unchangedTables: [],
            files: [],
          };
    },
  };
}

export function createLoadedFields(summary: ContentSummary, timestamp: string): Partial<DatasetDocument> {
  return {
    last_loaded_at: timestamp,
    identifiers: summary.identifiers,
    start: summary.start === null ? null : formatDay(summary.start),
    end: summary.end === null ? null : formatDay(summary.end),
    size_bytes: summary.files.length === 0 ? null : summary.bytes,
    content_hash: summary.contentHash,
    rows: { ...summary.rows },
    derived_actions: summary.derived ?? null,
    files: summary.files.map((file) => ({ ...file })),
    findings: toStoredFindings(summary.warnings),
    error: null,
  };
}

export const toStoredFindings = (findings: readonly Finding[]): DatasetDocument['findings'] =>
  findings.map((finding) => ({ ...finding, accepted: finding.accepted == null ? null : [...finding.accepted] }));

/** Returns the failure of a job whose data was refused. @param field field of the store that contains its location */
export function recordFailure(findings: readonly Finding[], field: 'location' | 'source'): Refusal {
  return refuseWithFindings('data store', placeFindings(field, findings), 'STORE_READ_FAILED');
}
