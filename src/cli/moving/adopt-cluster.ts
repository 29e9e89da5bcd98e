import { listArtifacts as artifactsIn } from '#store/lmdb/stored-entries.js';
import {
  markNewStore,
  createStoreId,
  recordNewStore,
  takeOverStore,
  type AdoptOptions,
} from '#store/ownership/take-over-store.js';
import { assertStore } from '#store/ownership/claim-store.js';
import { DOCUMENT_KINDS } from '#store/document-kinds.js';
import { openDatabaseDocuments, type DatabaseDocuments } from '#store/postgres/open-documents.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { readArtifactLocation } from '../locations.js';
import type { Settings } from '../settings.js';
import { createFileMove, type FileMove } from './move-files.js';
import { openFiles } from './open-location.js';

/** Result of an adoption: the results that documents refer to. */
export interface Adoption {
  readonly store_id: string;
  /** Number of results that documents name. */
  readonly named: number;
  /** Names of missing or damaged results. */
  readonly missing: readonly string[];
}

/**
 * Makes a database the owner of the results location in the settings. Used after the database was restored to an
 * earlier time. Results that its documents refer to are restored from the trash.
 * @throws StartRefusal 75 while a service uses the location or the database, 78 if the location belongs to another
 * store
 */
export function adoptResults(settings: Settings, options?: Pick<AdoptOptions, 'observeMs'>): Promise<Adoption> {
  return runWithDatabase(settings, async (documents) => {
    const location = readArtifactLocation(settings)!; // the command requires the location together with the database
    const storeId = await takeOverStore(documents, location, { ...options, identity: documents.identity });
    const { files, close } = await openFiles(settings, storeId);
    try {
      const referencedArtifacts = [...(await documents.referencedArtifacts())];
      return {
        store_id: storeId,
        named: referencedArtifacts.length,
        missing: await files.artifacts.restore(referencedArtifacts),
      };
    } finally {
      await close();
    }
  });
}

/**
 * Creates a separate results location for a database. Copies every result that its documents refer to and verifies each
 * hash. The previous location does not change.
 * @param to settings that name the new location
 * @throws StartRefusal 75, 78 if the new location belongs to another store or the previous location not to the database
 */
export function moveToNewLocation(settings: Settings, to: Settings): Promise<Adoption> {
  return runWithDatabase(settings, async (documents) => {
    const { identity } = documents;
    const oldId = await assertStore(documents, readArtifactLocation(settings)!);
    if (oldId === undefined)
      throw new StartRefusal(EXIT_CONFIGURATION, 'The database has no results storage yet: start a service on it.');
    const storeId = createStoreId(oldId, identity, to.artifacts!);
    await markNewStore(readArtifactLocation(to)!, storeId);
    const source = await openFiles(settings, oldId);
    const target = await openFiles(to, storeId);
    try {
      const fileMove = await createFileMove(source.files, target.files, true);
      await copyNamedDocuments(documents, fileMove);
      await recordNewStore(documents, storeId);
      return { store_id: storeId, named: fileMove.count, missing: fileMove.damaged };
    } finally {
      await source.close();
      await target.close();
    }
  });
}

async function copyNamedDocuments(documents: DatabaseDocuments, fileMove: FileMove): Promise<void> {
  for (const kind of DOCUMENT_KINDS)
    for (const id of await documents.ids(kind)) {
      const storedDocument = await documents.get(kind, id);
      if (storedDocument !== undefined && !('unreadable' in storedDocument))
        await fileMove.copy(artifactsIn(storedDocument.body));
    }
}

/**
 * Runs work with the documents of the database in the settings.
 * @throws StartRefusal 75 while a service uses the database
 */
async function runWithDatabase<T>(settings: Settings, work: (documents: DatabaseDocuments) => Promise<T>): Promise<T> {
  const access = { url: settings.database!, migrate: false, moves: 'from' as const };
  const documents = await openDatabaseDocuments({
    place: access,
    onFailure(cause) {
      throw cause;
    },
  });
  try {
    return await work(documents);
  } finally {
    await documents.close();
  }
}
