import type { DataStore } from '#contract/stores/store.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import { refuseWhileResuming } from '#domain/market/dataset-loading.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentReader, DocumentStore } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import { convertFailure } from './refused-data.js';
import {
  readDataset,
  requireDataset,
  refuseMissingDataset,
  toDataStore,
  type Activity,
  type StoredStore,
} from '../stored/dataset-documents.js';

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
  /** Runs work on a store as a load. No other load runs at the same time. */
  asReader<T>(datasetId: string, work: () => Promise<T>): Promise<T>;
}

export interface DatasetActivityDependencies {
  readonly documents: DocumentStore;
  readonly jobs: Pick<Jobs, 'ids' | 'isLive'>;
  readonly markets: Pick<Markets, 'served'>;
}

export function createDatasetActivity({ documents, jobs, markets }: DatasetActivityDependencies): DatasetActivity {
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
    const document = readStored(storedDocument, readDataset);
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

/** Returns the stores that jobs are loading. */
async function listLiveLoads(jobs: DatasetActivityDependencies['jobs']): Promise<string[]> {
  const liveIds: string[] = [];
  for (const jobId of await jobs.ids('load')) if (await jobs.isLive(jobId)) liveIds.push(jobId.slice('load:'.length));
  return liveIds;
}
