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
import { assertPlace, claimPlace } from '#store/place/claim-place.js';
import { clear, isMarked, mark, unmark } from '#store/postgres/move-mark.js';
import { assertMigrated } from '#store/postgres/migrate.js';
import { openDatabaseDocuments, withClient } from '#store/postgres/open-documents.js';
import { openSnapshot } from '#store/postgres/snapshot.js';
import { artifactsOf } from '../places.js';
import type { Settings } from '../settings.js';
import { assertEmpty, type DocumentTarget } from './copy-documents.js';
import type { FilePlace } from './move-files.js';

/** One side of a copy, held by this process alone. */
export interface OpenPlace {
  readonly documents: DocumentTarget;
  /** Undefined where they are not to go along. */
  readonly files: FilePlace | undefined;
  /**
   * Says that it is incomplete, until `finish` does otherwise: nobody serves it meanwhile, also when this process is
   * killed. Documents of an earlier move that was cut short go.
   * @returns whether there was one: files of it may be there
   * @throws StartRefusal 78 when it holds documents of its own
   */
  begin(): Promise<boolean>;
  finish(): Promise<void>;
  /** @param isMoved whether the documents of a home are moved aside, because they are in a database now */
  close(isMoved: boolean): Promise<void>;
}

/** Time of what is written. */
export interface CopyClock {
  ms: number;
}

const engineOptions = (clock: CopyClock) => ({
  now: () => clock.ms,
  onFailure(cause: unknown) {
    throw cause;
  },
});

/**
 * @param isTarget whether its tables are made or upgraded first
 * @throws StartRefusal 75 while a service works on it, 78 when its place for artifacts is another one
 */
export async function openDatabasePlace(settings: Settings, clock: CopyClock, isTarget: boolean): Promise<OpenPlace> {
  const place = { url: settings.database!, migrate: isTarget, moves: isTarget ? ('into' as const) : ('from' as const) };
  const documents = await openDatabaseDocuments({ ...engineOptions(clock), place });
  try {
    clock.ms = Date.now();
    const artifacts = artifactsOf(settings);
    const shared = artifacts && (await openFiles(settings, await claimPlace(documents, artifacts)));
    return {
      documents,
      files: shared?.files,
      async begin() {
        const isAgain = await isMarked(documents);
        if (isAgain) await clear(documents);
        await assertEmpty(documents);
        await mark({ documents });
        return isAgain;
      },
      async finish() {
        await unmark({ documents });
      },
      async close() {
        await documents.close();
        await shared?.close();
      },
    };
  } catch (thrown) {
    await documents.close();
    throw thrown;
  }
}

/**
 * The artifacts of the settings, which are those of the database.
 * @throws StartRefusal 75 when they cannot be reached, 78 when the place is another one
 */
export async function openArtifactsOf(settings: Settings): Promise<OpenFiles> {
  return openFiles(settings, await recordedPlace(settings));
}

/** @returns the id of the store of the settings, if the database names one; throws as `assertPlace` */
export async function recordedPlace(settings: Settings): Promise<string | undefined> {
  await withClient(settings.database!, assertMigrated);
  const snapshot = await openSnapshot(settings.database!);
  try {
    return await assertPlace(snapshot, artifactsOf(settings)!);
  } finally {
    await snapshot.close();
  }
}

interface OpenFiles {
  readonly files: Extract<FilePlace, { readonly kind: 'shared' }>;
  close(): Promise<void>;
}

/** Objects are copied to a folder that goes afterwards. */
export async function openFiles(settings: Settings, storeId: string | undefined): Promise<OpenFiles> {
  const cache = await mkdtemp(join(tmpdir(), 'divisor-copy-'));
  const close = () => rm(cache, { recursive: true, force: true });
  try {
    const artifacts = await openSharedArtifacts(artifactsOf({ ...settings, cache })!, storeId, { folder: cache });
    return { files: { kind: 'shared', artifacts }, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** @throws StartRefusal 75 while a service runs on it */
export async function openHomePlace(path: string, clock: CopyClock, isTarget: boolean): Promise<OpenPlace> {
  const home = await (isTarget ? openTargetHome(path) : openHome(path));
  try {
    const documents = await openDocumentStore({
      ...engineOptions(clock),
      folder: home.documents,
      backups: home.backups,
    });
    return {
      documents,
      files: { kind: 'home', folders: home },
      async begin() {
        await assertEmpty(documents);
        const isAgain = (await readFormat(home)) === RESTORING;
        await writeFormat(home, RESTORING);
        return isAgain;
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

/** A home with documents of its own is not served with those of a database. */
async function moveAside({ path, documents }: HomeFolders): Promise<void> {
  const aside = `${path}/documents-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}`;
  await rename(documents, aside);
}
