import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { flushFolder } from '#store/files/flush-folder.js';
import {
  HOME_FORMAT,
  openHome,
  openTargetHome,
  readFormat,
  RESTORING,
  writeFormat,
  type HomeFolders,
} from '#store/home/home.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { openSharedArtifacts } from '#store/open-store.js';
import { assertStore, claimStore } from '#store/ownership/claim-store.js';
import { clear, isMarked, markMove, unmarkMove } from '#store/postgres/move-mark.js';
import { assertMigrated } from '#store/postgres/migrate.js';
import { openDatabaseDocuments, runWithClient } from '#store/postgres/open-documents.js';
import { openSnapshot } from '#store/postgres/snapshot.js';
import { readArtifactLocation } from '../locations.js';
import type { Settings } from '../settings.js';
import { assertEmpty, type DocumentTarget } from './copy-documents.js';
import type { FileLocation } from './move-files.js';

/** One side of a copy. No other process can use it at the same time. */
export interface OpenLocation {
  readonly documents: DocumentTarget;
  /** Undefined if files are not copied. */
  readonly files: FileLocation | undefined;
  /**
   * Marks the location as incomplete until `finish`, so that no service uses it, even if this process is killed.
   * Deletes documents that an earlier interrupted move left behind.
   * @returns true if there was such a move; some of its files may then exist
   * @throws StartRefusal 78 if the location contains other documents
   */
  begin(): Promise<boolean>;
  finish(): Promise<void>;
  /** @param isMoved true if the documents of a home are now in a database; they are then moved aside */
  close(isMoved: boolean): Promise<void>;
}

/** Clock that sets the timestamps of written documents. */
export interface CopyClock {
  ms: number;
}

const createEngineOptions = (clock: CopyClock) => ({
  now: () => clock.ms,
  onFailure(cause: unknown) {
    throw cause;
  },
});

/**
 * Opens a database for a copy.
 * @param isTarget true to create or migrate the tables first
 * @throws StartRefusal 75 while a service uses the database, 78 if its artifact location differs
 */
export async function openDatabaseLocation(
  settings: Settings,
  clock: CopyClock,
  isTarget: boolean,
): Promise<OpenLocation> {
  const access = {
    url: settings.database!,
    migrate: isTarget,
    moves: isTarget ? ('into' as const) : ('from' as const),
  };
  const documents = await openDatabaseDocuments({ ...createEngineOptions(clock), place: access });
  try {
    clock.ms = Date.now();
    const artifacts = readArtifactLocation(settings);
    const sharedFiles = artifacts && (await openFiles(settings, await claimStore(documents, artifacts)));
    return {
      documents,
      files: sharedFiles?.files,
      async begin() {
        const isContinued = await isMarked(documents);
        if (isContinued) await clear(documents);
        await assertEmpty(documents);
        await markMove({ documents });
        return isContinued;
      },
      async finish() {
        await unmarkMove({ documents });
      },
      async close() {
        await documents.close();
        await sharedFiles?.close();
      },
    };
  } catch (thrown) {
    await documents.close();
    throw thrown;
  }
}

/**
 * Opens the artifacts of the settings, which must belong to the database.
 * @throws StartRefusal 75 if they are unavailable, 78 if the location belongs to another database
 */
export async function openArtifacts(settings: Settings): Promise<OpenFiles> {
  return openFiles(settings, await findRecordedLocation(settings));
}

/**
 * Returns the store id of the artifact location in the settings. Returns undefined if the database records none.
 * @throws as `assertStore`
 */
export async function findRecordedLocation(settings: Settings): Promise<string | undefined> {
  await runWithClient(settings.database!, assertMigrated);
  const snapshot = await openSnapshot(settings.database!);
  try {
    return await assertStore(snapshot, readArtifactLocation(settings)!);
  } finally {
    await snapshot.close();
  }
}

interface OpenFiles {
  readonly files: Extract<FileLocation, { readonly kind: 'shared' }>;
  close(): Promise<void>;
}

/** Opens an artifact location. Objects of an object store are copied to a temporary folder. */
export async function openFiles(settings: Settings, storeId: string | undefined): Promise<OpenFiles> {
  const cacheFolder = await mkdtemp(join(tmpdir(), 'divisor-copy-'));
  const close = () => rm(cacheFolder, { recursive: true, force: true });
  try {
    const artifacts = await openSharedArtifacts(readArtifactLocation({ ...settings, cache: cacheFolder })!, storeId, {
      folder: cacheFolder,
    });
    return { files: { kind: 'shared', artifacts }, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** Opens a home for a copy. @throws StartRefusal 75 while a service runs on it */
export async function openHomeLocation(path: string, clock: CopyClock, isTarget: boolean): Promise<OpenLocation> {
  const home = await (isTarget ? openTargetHome(path) : openHome(path));
  try {
    const documents = await openDocumentStore({
      ...createEngineOptions(clock),
      folder: home.documents,
      backups: home.backups,
    });
    return {
      documents,
      files: { kind: 'home', folders: home },
      async begin() {
        await assertEmpty(documents);
        const isContinued = (await readFormat(home)) === RESTORING;
        await writeFormat(home, RESTORING);
        return isContinued;
      },
      async finish() {
        for (const folder of [home.artifacts, home.stores]) await flushFolder(folder);
        await writeFormat(home, HOME_FORMAT);
      },
      async close(isMoved) {
        await documents.close();
        if (isMoved) await moveAside(home);
        await home.close();
      },
    };
  } catch (thrown) {
    await home.close();
    throw thrown;
  }
}

/**
 * Moves the documents of a home aside. A home that still had documents could not be served with those of a database.
 */
async function moveAside({ path, documents }: HomeFolders): Promise<void> {
  const backupFolder = `${path}/documents-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}`;
  await rename(documents, backupFolder);
}
