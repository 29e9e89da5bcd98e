import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '#domain/refusals/refusal.js';
import type { ArtifactPlace } from './place/artifact-place.js';
import type { ArtifactStore, DocumentEngine, DocumentStore } from './port.js';
import { openArtifacts } from './files/artifact-store.js';
import type { HashApart } from './files/passing-hash.js';
import { gaugeBy, watchFreeSpace, type FreeSpace } from './files/free-space.js';
import type { LowWaterMark } from './access/low-water-mark.js';
import {
  adoptDocuments,
  createVersionedStore,
  versionedTransaction,
  type VersionLimits,
} from './history/versioned-store.js';
import { eraseSupersededSecrets } from './history/superseded-secrets.js';
import type { Home, HomeFolders } from './home/home.js';
import type { DatabaseDocuments, DatabaseEngineOptions, DatabasePlace } from './postgres/open-documents.js';
import { openDocumentStore } from './lmdb/document-store.js';
import type { DatabaseIdentity } from './access/store-id.js';
import { assertPlace, claimPlace, type PlaceClaim } from './place/claim-place.js';
import { callsTo } from './access/folder-calls.js';
import { watchPlace } from './place/watch-place.js';
import { ownedArtifacts } from './place/owned-artifacts.js';
import { noOwnership, openOwnership } from './place/ownership.js';
import { watchedArtifacts } from './place/watched-artifacts.js';
import { EXIT_CONFIGURATION, StartRefusal } from './start-refusal.js';

/** Everything the service remembers, wired together: documents own artifacts, both stop at the same low-water mark. */
export interface Store {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly freeSpace: FreeSpace;
  /** Time of records, ms since 1970: that of the database, where the documents are in one. */
  readonly now: () => number;
  /** The documents again, where they are in a database, with what a queue there needs. */
  readonly shared: DatabaseDocuments | undefined;
  close(): Promise<void>;
}

/** Who hears of the place of the artifacts. */
interface PlaceListeners {
  /** Receives that the database has taken its place for artifacts, which no other one may be afterwards. */
  readonly onClaim?: (claim: PlaceClaim) => void;
  /** Receives why the place of the artifacts cannot be had, and undefined once it can again. */
  readonly onPlace?: (fault: string | undefined) => void;
  /** Receives what will keep it from being had before long, and undefined once nothing will. */
  readonly onPlaceWarning?: (warning: string | undefined) => void;
  /** Receives that another database owns the place now: the process has to end. Default: `onFailure`. */
  readonly onPlaceLost?: (refusal: StartRefusal) => void;
}

export interface StoreOptions extends PlaceListeners {
  readonly home: Home;
  /** Where the documents are, unless in the home. */
  readonly database?: DatabasePlace | undefined;
  /** Where the artifacts are, unless in the home. */
  readonly artifacts?: ArtifactPlace | undefined;
  /** Whether a shared place is served without taking part in its ownership, and without changing a document. */
  readonly isReadOnly?: boolean;
  readonly lowWaterMark?: LowWaterMark;
  /** Bounds of what versions of documents take. */
  readonly versionLimits?: VersionLimits;
  /** Hashes large artifacts that are streamed. */
  readonly hashApart?: HashApart;
  /** How long results that no document names any more stay in the trash of a shared place. */
  readonly trashMs?: number;
  /** A commit failed: the process should stop and start again. */
  readonly onFailure: (cause: unknown) => void;
}

/**
 * Time between the loss of an artifact's last document and its removal: a request that has just read the document opens
 * the file.
 */
const REMOVAL_DELAY_MS = 60_000;

/** Artifacts of several machines that nobody refers to go when they are so old: no attempt is under way for so long. */
const GARBAGE_AGE_MS = 24 * 3_600_000;
const GARBAGE_LOOK_MS = 3_600_000;
/** A day, in which a database can be set back to an earlier time. */
const TRASH_MS = 24 * 3_600_000;

/**
 * Opens documents and artifacts of a home and removes what the last process left behind.
 * @throws StartRefusal 78 when the documents are damaged or the place of the artifacts is not that of the database, 75
 *   when it cannot be reached
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
  const shared = database && (await openShared({ ...options, place: { ...database, isShared: place !== undefined } }));
  const documents: DocumentEngine =
    shared ?? (await openDocumentStore({ ...options, folder: home.documents, backups: home.backups, freeSpace }));
  let artifacts: ArtifactStore;
  let openedPlace: SharedPlace | undefined;
  try {
    if (place === undefined) artifacts = await openArtifacts(home.artifacts, freeSpace, { hashApart });
    else {
      // Results of several machines are in a database alone.
      const { identity } = shared!;
      const volume = { folder: home.path, freeSpace, lowWaterMark, hashApart };
      openedPlace = await openPlace(documents, place, {
        isReadOnly,
        identity,
        volume,
        onPlaceLost: onFailure,
        ...listeners,
      });
      artifacts = openedPlace.artifacts;
    }
    if (place === undefined) await artifacts.sweep(() => documents.referencedArtifacts());
    if (!isReadOnly) await upgradeDocuments(documents);
  } catch (thrown) {
    openedPlace?.close();
    await documents.close();
    throw thrown;
  }

  const collecting = setInterval(() => {
    const options = { olderThanMs: GARBAGE_AGE_MS, trashMs };
    // Whoever cannot look now leaves it to the next time, or to another process.
    artifacts.sweep(() => documents.referencedArtifacts(), options).catch(() => {});
  }, GARBAGE_LOOK_MS).unref();
  if (place === undefined) clearInterval(collecting);

  const versioned = createVersionedStore(documents, timeOf(shared), versionLimits);
  return {
    now: timeOf(shared),
    documents: isReadOnly ? readOnlyDocuments(versioned) : versioned,
    artifacts,
    freeSpace,
    shared: shared && withVersions(shared, versionLimits),
    async close() {
      clearInterval(collecting);
      openedPlace?.close();
      await documents.close();
      removals.forEach((_, timer) => clearTimeout(timer));
      for (const names of removals.values()) await artifacts.discard(names);
    },
  };
}

/**
 * The documents alone, for a command that needs no artifacts: it neither makes nor claims a place for them.
 * @throws StartRefusal as `openStore`, but for that place
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

/** Brings documents of earlier releases to what this one keeps. */
async function upgradeDocuments(documents: DocumentEngine): Promise<void> {
  await adoptDocuments(documents);
  await eraseSupersededSecrets(documents);
}

/** The artifacts of a place that machines share, for as long as it is that of the database. */
interface SharedPlace {
  readonly artifacts: ArtifactStore;
  close(): void;
}

interface PlaceInput extends PlaceListeners {
  readonly onPlaceLost: (refusal: StartRefusal) => void;
  readonly isReadOnly: boolean;
  readonly identity: DatabaseIdentity;
  readonly volume: VolumeInput;
}

async function openPlace(
  documents: DocumentEngine,
  place: ArtifactPlace,
  { isReadOnly, identity, volume, onClaim, onPlace, onPlaceWarning, onPlaceLost }: PlaceInput,
): Promise<SharedPlace> {
  const storeId = isReadOnly ? await namedPlace(documents, place) : await claimPlace(documents, place, onClaim);
  const artifacts = await openSharedArtifacts(place, storeId, volume);
  const watch = await watchPlace(place, { storeId, onChange: onPlace, onWarning: onPlaceWarning });
  try {
    const ownership = isReadOnly
      ? noOwnership
      : await openOwnership(documents, place, { identity, onLost: onPlaceLost });
    return {
      artifacts: ownedArtifacts(watchedArtifacts(artifacts, watch), ownership),
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

/** @throws StartRefusal 75, 78 as `assertPlace`, and where the database names no place */
async function namedPlace(documents: DocumentEngine, place: ArtifactPlace): Promise<string> {
  const storeId = await assertPlace(documents, place);
  if (storeId !== undefined) return storeId;
  throw new StartRefusal(EXIT_CONFIGURATION, 'The database names no place of results yet: there is nothing to read.');
}

const readOnlyDocuments = (documents: DocumentStore): DocumentStore => ({
  ...documents,
  transaction: () => Promise.reject(new Refusal('READ_ONLY', 'The service runs with --read-only on.')),
});

/** Effects of jobs write versions, as every other transaction does. */
const withVersions = (shared: DatabaseDocuments, { versionsKept }: VersionLimits = {}): DatabaseDocuments => ({
  ...shared,
  jobTransaction: (change, options) =>
    shared.jobTransaction(
      (tx) => change(versionedTransaction(tx, { now: timeOf(shared), options, versionsKept })),
      options,
    ),
});

interface VolumeInput {
  /** On the volume of the copies of objects. */
  readonly folder: string;
  readonly freeSpace?: FreeSpace;
  readonly lowWaterMark?: LowWaterMark | undefined;
  readonly hashApart?: HashApart | undefined;
}

/** The artifacts that machines share. @param storeId of the store that the place is, where its database names one */
export async function openSharedArtifacts(
  place: ArtifactPlace,
  storeId: string | undefined,
  { folder, freeSpace = watchFreeSpace(folder), lowWaterMark, hashApart }: VolumeInput,
): Promise<ArtifactStore> {
  if (place.kind === 'folder') {
    const gauge = gaugeBy(callsTo(place.folder));
    return openArtifacts(place.folder, watchFreeSpace(place.folder, lowWaterMark, gauge), { storeId, hashApart });
  }
  // Loaded by those alone who use it.
  const { openObjectArtifacts } = await import('./s3/object-store.js');
  return openObjectArtifacts({ ...place, freeSpace, hashApart });
}

/** The driver of PostgreSQL is loaded by those alone who use it. */
async function openShared(options: DatabaseEngineOptions): Promise<DatabaseDocuments> {
  const { openDatabaseDocuments } = await import('./postgres/open-documents.js');
  return openDatabaseDocuments(options);
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const timeOf = (shared: DatabaseDocuments | undefined): (() => number) => shared?.clock.now ?? Date.now;

const assertDocuments = (home: Home, database: DatabasePlace | undefined): Promise<void> =>
  database === undefined ? assertDocumentsWhereArtifactsAre(home) : assertNoDocuments(home);

/** The results of a home's own documents are nobody's by those of a database, and would be swept. */
async function assertNoDocuments(home: Home): Promise<void> {
  if (!(await isThere(join(home.documents, 'data.mdb')))) return;
  throw new StartRefusal(
    EXIT_CONFIGURATION,
    `The home ${home.path} holds documents of its own; give the database another home.`,
  );
}

/** An empty store of documents would be made where the file is missing, and every artifact swept as nobody's. */
async function assertDocumentsWhereArtifactsAre(home: HomeFolders): Promise<void> {
  if (await isThere(join(home.documents, 'data.mdb'))) return;
  const orphans = (await readdir(home.artifacts).catch(() => [])).length;
  if (orphans === 0) return;
  throw new StartRefusal(
    EXIT_CONFIGURATION,
    `The home ${home.path} holds ${orphans} results but no documents; restore them, or move its folder artifacts away to start empty.`,
  );
}
