import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '#domain/base/refusals.js';
import type { ArtifactLocation } from './ownership/artifact-location.js';
import type { ArtifactStore, DocumentEngine, DocumentStore, LowWaterMark } from './port.js';
import { type BackgroundHash, openArtifacts } from './artifacts/folder-store.js';
import { createGauge, type FreeSpace, watchFreeSpace } from './artifacts/free-space.js';
import { createVersionedStore, createVersionedTransaction, type VersionLimits } from './history/history.js';
import type { Home, HomeFolders } from './home/home.js';
import type { DatabaseDocuments, DatabaseEngineOptions, DatabaseTarget } from './postgres/open-documents.js';
import { openDocumentStore } from './lmdb/document-store.js';
import { createFolderCalls, type DatabaseIdentity } from './artifacts/durable-files.js';
import {
  assertStore,
  claimStore,
  type StoreClaim,
  createOwnedArtifacts,
  mayRemoveOrphans,
  noOwnership,
  openOwnership,
  watchArtifacts,
  watchStore,
} from './ownership/ownership.js';
import { EXIT_CONFIGURATION, StartRefusal } from './start-refusal.js';
import { assertCurrentForms, convertDocuments } from './stored-forms.js';

/**
 * All stored data of the service. Artifacts belong to documents. Writes of both stop at the same minimum free space.
 */
export interface Store {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly freeSpace: FreeSpace;
  /**
   * Returns the current time for records, ms since 1970. If a database contains the documents, the time is that of the
   * database.
   */
  readonly now: () => number;
  /**
   * Documents in the database, with the parts that the job queue needs. It is undefined if the documents are in files.
   */
  readonly shared: DatabaseDocuments | undefined;
  /** Returns true if this process removes the orphaned results of the artifact store. */
  removesOrphans(): boolean;
  close(): Promise<void>;
}

/** Listeners for events of a shared artifact store. */
interface StoreListeners {
  /** Called when the database has claimed its artifact store. The claim cannot be changed afterwards. */
  readonly onClaim?: (claim: StoreClaim) => void;
  /**
   * Called with the reason when the artifact store becomes unavailable. Called with undefined when it is available
   * again.
   */
  readonly onPlace?: (fault: string | undefined) => void;
  /** Called with a warning before a failure that is expected. Called with undefined when the warning is resolved. */
  readonly onPlaceWarning?: (warning: string | undefined) => void;
  /** Called when another database owns the artifact store. The process must then end. Default: `onFailure`. */
  readonly onPlaceLost?: (refusal: StartRefusal) => void;
}

interface StoreOptions extends StoreListeners {
  readonly home: Home;
  /** Location of the documents. Default: the home. */
  readonly database?: DatabaseTarget | undefined;
  /** Location of the artifacts. Default: the home. */
  readonly artifacts?: ArtifactLocation | undefined;
  /** Serves a shared artifact store without taking part in its ownership. Changes no document. */
  readonly isReadOnly?: boolean;
  readonly lowWaterMark?: LowWaterMark;
  readonly versionLimits?: VersionLimits;
  /** Hashes large streamed artifacts on another thread. */
  readonly hashApart?: BackgroundHash;
  /** Time for which unreferenced results stay in the trash of a shared artifact store. */
  readonly trashMs?: number;
  /** Called after a failed commit. The process should restart. */
  readonly onFailure: (cause: unknown) => void;
}

/**
 * Time between the loss of the last reference to an artifact and its deletion. A request may have read the document and
 * be about to open the file.
 */
const REMOVAL_DELAY_MS = 60_000;

/** Age at which unreferenced artifacts of a shared store go to its trash. No attempt runs that long. */
const GARBAGE_AGE_MS = 24 * 3_600_000;
const GARBAGE_LOOK_MS = 3_600_000;
/**
 * Pause after each page of names. With it, a sweep of millions of files takes hours, and 2 or 3% of a core of the
 * database.
 */
const GARBAGE_PAUSE_MS = 3000;
/** Time in the trash. It is a day, within which the database may be restored to an earlier time. */
const TRASH_MS = 24 * 3_600_000;

/**
 * Opens documents and artifacts of a home. Removes files of the previous process that no document refers to.
 * @throws StartRefusal 78 if the documents are damaged or have earlier forms, or the artifact store belongs to another
 * database; 75 if the artifact store is unavailable
 */
export async function openStore({
  home,
  database,
  artifacts: place,
  isReadOnly = false,
  lowWaterMark,
  hashApart,
  trashMs = TRASH_MS,
  versionLimits,
  onFailure,
  ...listeners
}: StoreOptions): Promise<Store> {
  await assertDocuments(home, database);
  const freeSpace = watchFreeSpace(home.path, lowWaterMark);
  const removals = new Map<NodeJS.Timeout, readonly string[]>();
  const options = {
    onFailure,
    onUnreferenced(names: readonly string[]) {
      const timer = setTimeout(() => {
        removals.delete(timer);
        artifacts.discard(names).catch(onFailure);
      }, REMOVAL_DELAY_MS);
      timer.unref();
      removals.set(timer, names);
    },
  };
  const cluster = database && (await openShared({ ...options, place: { ...database, isShared: place !== undefined } }));
  const documents: DocumentEngine =
    cluster ?? (await openDocumentStore({ ...options, folder: home.documents, backups: home.backups, freeSpace }));
  let artifacts: ArtifactStore;
  let openedPlace: SharedStore | undefined;
  try {
    if (database?.migrate === true && !isReadOnly) await convertDocuments(documents);
    else await assertCurrentForms(documents, isReadOnly);
    if (place === undefined) artifacts = await openArtifacts(home.artifacts, freeSpace, { hashApart });
    else {
      // A shared artifact store always belongs to a database.
      const { identity } = cluster!;
      const volume = { folder: home.path, freeSpace, lowWaterMark, hashApart };
      openedPlace = await openArtifactStore(documents, place, {
        isReadOnly,
        identity,
        volume,
        onPlaceLost: onFailure,
        ...listeners,
      });
      artifacts = openedPlace.artifacts;
    }
    if (place === undefined) await artifacts.sweep((names) => documents.referencedAmong(names));
  } catch (thrown) {
    openedPlace?.close();
    await documents.close();
    throw thrown;
  }

  const collector = place === undefined ? undefined : startCollector(documents, artifacts, trashMs);

  const versionedStore = createVersionedStore(documents, createClock(cluster), versionLimits);
  return {
    now: createClock(cluster),
    documents: isReadOnly ? createReadOnlyDocuments(versionedStore) : versionedStore,
    artifacts,
    freeSpace,
    shared: cluster && addVersions(cluster, versionLimits),
    removesOrphans: () => openedPlace?.removesOrphans() ?? true,
    async close() {
      collector?.stop();
      openedPlace?.close();
      await documents.close();
      removals.forEach((_, timer) => clearTimeout(timer));
      for (const names of removals.values()) await artifacts.discard(names);
    },
  };
}

/** Removes unreferenced files of a shared artifact store every hour. If this takes longer, the next time is delayed. */
function startCollector(documents: DocumentEngine, artifacts: ArtifactStore, trashMs: number) {
  let pendingSweep: Promise<unknown> | undefined;
  let isStopped = false;
  const pages = { pauseMs: GARBAGE_PAUSE_MS, isWanted: () => !isStopped };
  const timer = setInterval(() => {
    // A failed sweep is repeated at the next interval, or by another process.
    pendingSweep ??= artifacts
      .sweep((names) => documents.referencedAmong(names), { olderThanMs: GARBAGE_AGE_MS, trashMs, ...pages })
      .catch(() => {})
      .finally(() => (pendingSweep = undefined));
  }, GARBAGE_LOOK_MS).unref();
  return {
    stop(): void {
      isStopped = true;
      clearInterval(timer);
    },
  };
}

/**
 * Opens only the documents, for a command that needs no artifacts. It neither creates nor claims an artifact store.
 * @throws StartRefusal like `openStore`, without the errors of the artifact store
 */
export async function openDocumentsAlone({
  home,
  database,
  onFailure,
}: Pick<StoreOptions, 'database' | 'onFailure'> & { readonly home: HomeFolders }): Promise<
  Pick<Store, 'documents' | 'close'>
> {
  if (database === undefined) await assertDocumentsWhereArtifactsAre(home);
  const documents =
    database === undefined
      ? await openDocumentStore({ onFailure, folder: home.documents, backups: home.backups })
      : await openShared({ onFailure, place: database });
  return { documents: createVersionedStore(documents), close: () => documents.close() };
}

/** Shared artifact store, as long as it belongs to the database. */
interface SharedStore {
  readonly artifacts: ArtifactStore;
  removesOrphans(): boolean;
  close(): void;
}

interface StoreInput extends StoreListeners {
  readonly onPlaceLost: (refusal: StartRefusal) => void;
  readonly isReadOnly: boolean;
  readonly identity: DatabaseIdentity;
  readonly volume: VolumeInput;
}

async function openArtifactStore(
  documents: DocumentEngine,
  place: ArtifactLocation,
  { isReadOnly, identity, volume, onClaim, onPlace, onPlaceWarning, onPlaceLost }: StoreInput,
): Promise<SharedStore> {
  const storeId = isReadOnly ? await readStoreByName(documents, place) : await claimStore(documents, place, onClaim);
  const artifacts = await openSharedArtifacts(place, storeId, volume);
  const watch = await watchStore(place, { storeId, onChange: onPlace, onWarning: onPlaceWarning });
  try {
    const ownership = isReadOnly
      ? noOwnership
      : await openOwnership(documents, place, { identity, onLost: onPlaceLost });
    return {
      artifacts: createOwnedArtifacts(watchArtifacts(artifacts, watch), ownership),
      removesOrphans: () => mayRemoveOrphans(ownership),
      close() {
        watch.close();
        ownership.close();
      },
    };
  } catch (thrown) {
    watch.close();
    throw thrown;
  }
}

/**
 * Returns the store id that the database recorded. @throws StartRefusal 75, 78 like `assertStore`, and if the database
 * has no artifact store
 */
async function readStoreByName(documents: DocumentEngine, place: ArtifactLocation): Promise<string> {
  const storeId = await assertStore(documents, place);
  if (storeId !== undefined) return storeId;
  throw new StartRefusal(EXIT_CONFIGURATION, 'The database has no results storage yet: there is nothing to read.');
}

const createReadOnlyDocuments = (documents: DocumentStore): DocumentStore => ({
  ...documents,
  transaction: () => Promise.reject(new Refusal('READ_ONLY', 'The service runs with --read-only on.')),
});

/** Wraps the transactions of jobs. Their writes then also add versions. */
const addVersions = (shared: DatabaseDocuments, { versionsKept }: VersionLimits = {}): DatabaseDocuments => ({
  ...shared,
  jobTransaction: (change, options) =>
    shared.jobTransaction(
      (tx) => change(createVersionedTransaction(tx, { now: createClock(shared), options, versionsKept })),
      options,
    ),
});

interface VolumeInput {
  readonly folder: string;
  readonly freeSpace?: FreeSpace;
  readonly lowWaterMark?: LowWaterMark | undefined;
  readonly hashApart?: BackgroundHash | undefined;
}

/** Opens a shared artifact store. @param storeId id of the store, if the database has recorded one */
export async function openSharedArtifacts(
  place: ArtifactLocation,
  storeId: string | undefined,
  { folder, freeSpace = watchFreeSpace(folder), lowWaterMark, hashApart }: VolumeInput,
): Promise<ArtifactStore> {
  if (place.kind === 'folder') {
    const gauge = createGauge(createFolderCalls(place.folder));
    return openArtifacts(place.folder, watchFreeSpace(place.folder, lowWaterMark, gauge), { storeId, hashApart });
  }
  // loaded on demand
  const { openObjectArtifacts } = await import('./s3/object-store.js');
  return openObjectArtifacts({ ...place, freeSpace, hashApart });
}

/** Opens documents in a database. The PostgreSQL driver is loaded only here, because other services do not need it. */
async function openShared(options: DatabaseEngineOptions): Promise<DatabaseDocuments> {
  const { openDatabaseDocuments } = await import('./postgres/open-documents.js');
  return openDatabaseDocuments(options);
}

const doesFolderExist = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const createClock = (shared: DatabaseDocuments | undefined): (() => number) => shared?.clock.now ?? Date.now;

const assertDocuments = (home: Home, database: DatabaseTarget | undefined): Promise<void> =>
  database === undefined ? assertDocumentsWhereArtifactsAre(home) : assertNoDocuments(home);

/**
 * Rejects a home that contains documents. The documents in the database do not refer to results of the home, which
 * would be deleted as unreferenced.
 */
async function assertNoDocuments(home: Home): Promise<void> {
  if (!(await doesFolderExist(join(home.documents, 'data.mdb')))) return;
  throw new StartRefusal(
    EXIT_CONFIGURATION,
    `The home ${home.path} contains its own documents; use another home with the database.`,
  );
}

/**
 * Rejects a home with results but without documents. Otherwise an empty document store would be created, and every
 * artifact would be deleted as unreferenced.
 */
async function assertDocumentsWhereArtifactsAre(home: HomeFolders): Promise<void> {
  if (await doesFolderExist(join(home.documents, 'data.mdb'))) return;
  const orphanCount = (await readdir(home.artifacts).catch(() => [])).length;
  if (orphanCount === 0) return;
  throw new StartRefusal(
    EXIT_CONFIGURATION,
    `The home ${home.path} contains ${orphanCount} results but no documents; restore the documents, or move the folder artifacts away to start empty.`,
  );
}
