import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArtifactStore, DocumentEngine, DocumentStore } from './port.js';
import { openArtifacts } from './files/artifact-store.js';
import { watchFreeSpace, type FreeSpace, type LowWaterMark } from './files/free-space.js';
import type { Home } from './home/home.js';
import { openDocumentStore } from './lmdb/document-store.js';
import { EXIT_CONFIGURATION, StartRefusal } from './start-refusal.js';

/** Everything the service remembers, wired together: documents own artifacts, both stop at the same low-water mark. */
export interface Store {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly freeSpace: FreeSpace;
  close(): Promise<void>;
}

export interface StoreOptions {
  readonly home: Home;
  readonly lowWaterMark?: LowWaterMark;
  /** A commit failed: the process should stop and start again. */
  readonly onFailure: (cause: unknown) => void;
}

/**
 * Time between the loss of an artifact's last document and its removal: a request that has just read the document opens
 * the file.
 */
const REMOVAL_DELAY_MS = 60_000;

/**
 * Opens documents and artifacts of a home and removes what the last process left behind.
 * @throws StartRefusal 78 when the documents are damaged
 */
export async function openStore({ home, lowWaterMark, onFailure }: StoreOptions): Promise<Store> {
  await assertDocumentsWhereArtifactsAre(home);
  const freeSpace = watchFreeSpace(home.path, lowWaterMark);
  const artifacts = await openArtifacts(home.artifacts, freeSpace);
  const removals = new Map<NodeJS.Timeout, readonly string[]>();
  const documents: DocumentEngine = await openDocumentStore({
    folder: home.documents,
    backups: home.backups,
    freeSpace,
    onFailure,
    onUnreferenced(names) {
      const timer = setTimeout(() => {
        removals.delete(timer);
        artifacts.remove(names).catch(onFailure);
      }, REMOVAL_DELAY_MS);
      timer.unref();
      removals.set(timer, names);
    },
  });
  await artifacts.sweep(await documents.referencedArtifacts());

  return {
    documents,
    artifacts,
    freeSpace,
    async close() {
      await documents.close();
      for (const [timer, names] of removals) {
        clearTimeout(timer);
        await artifacts.remove(names);
      }
    },
  };
}

/** An empty store of documents would be made where the file is missing, and every artifact swept as nobody's. */
async function assertDocumentsWhereArtifactsAre(home: Home): Promise<void> {
  const isThere = (path: string) =>
    stat(path).then(
      () => true,
      () => false,
    );
  if (await isThere(join(home.documents, 'data.mdb'))) return;
  const orphans = (await readdir(home.artifacts).catch(() => [])).length;
  if (orphans === 0) return;
  throw new StartRefusal(
    EXIT_CONFIGURATION,
    `The home ${home.path} holds ${orphans} results but no documents; restore them, or move its folder artifacts away to start empty.`,
  );
}
