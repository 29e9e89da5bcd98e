import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHome, type HomeFolders } from '#store/home/home.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { openSharedArtifacts } from '#store/open-store.js';
import { openDatabaseDocuments } from '#store/postgres/open-documents.js';
import { artifactsOf } from '../places.js';
import type { Settings } from '../settings.js';
import type { DocumentTarget } from './copy-documents.js';
import type { FilePlace } from './move-files.js';

/** One side of a copy, held by this process alone. */
export interface OpenPlace {
  readonly documents: DocumentTarget;
  /** Undefined where they are not to go along. */
  readonly files: FilePlace | undefined;
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

/** @throws StartRefusal 75 while a service works on it */
export async function openDatabasePlace(settings: Settings, clock: CopyClock): Promise<OpenPlace> {
  const shared = await openArtifactsOf(settings);
  try {
    const place = { url: settings.database!, migrate: true };
    const documents = await openDatabaseDocuments({ ...engineOptions(clock), place });
    return {
      documents,
      files: shared.files,
      async close() {
        await documents.close();
        await shared.close();
      },
    };
  } catch (thrown) {
    await shared.close();
    throw thrown;
  }
}

/** The artifacts of the settings; objects are copied to a folder that goes afterwards. */
export async function openArtifactsOf(
  settings: Settings,
): Promise<{ readonly files: FilePlace | undefined; close(): Promise<void> }> {
  if (settings.artifacts === undefined) return { files: undefined, close: async () => {} };
  const cache = await mkdtemp(join(tmpdir(), 'divisor-copy-'));
  const close = () => rm(cache, { recursive: true, force: true });
  try {
    const artifacts = await openSharedArtifacts(artifactsOf({ ...settings, cache })!, cache);
    return { files: { kind: 'shared', artifacts }, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

/** @throws StartRefusal 75 while a service runs on it */
export async function openHomePlace(path: string, clock: CopyClock): Promise<OpenPlace> {
  const home = await openHome(path);
  try {
    const documents = await openDocumentStore({
      ...engineOptions(clock),
      folder: home.documents,
      backups: home.backups,
    });
    return {
      documents,
      files: { kind: 'home', folders: home },
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
