import { Buffer } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import { readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ArtifactStoreFault, createArtifactName, ignoreAbsentFile } from '../artifacts/artifact.js';
import { syncFolder, makeFolder, writeFlushed } from '../artifacts/durable-files.js';
import { createFolderCalls, formatMarker, MARKER, parseMark, type StoreMark } from '../artifacts/folder-calls.js';
import { removeFiles } from '../artifacts/folder-writer.js';
import type { DocumentReader, DocumentTransaction } from '../port.js';
import type { S3RetryLimits } from '../s3/client.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';
import type { ArtifactLocation } from './artifact-location.js';

/** Marker of an artifact store, with the basic operations that a start needs. */
export interface StoreMarker {
  /** Returns the id and the owner of the store; undefined without a marker. */
  read(): Promise<StoreMark | undefined>;
  /** Replaces the marker. @returns true if the folder did not exist and was created */
  write(mark: StoreMark): Promise<boolean>;
  /** Returns true if an artifact exists. */
  has(name: string): Promise<boolean>;
  /** Writes, reads and removes a test object. */
  probe(): Promise<void>;
  /** Returns a warning before a failure of the artifact store that is expected. Returns undefined if there is none. */
  warning(): string | undefined;
}

/** Opens the marker. @param patience maximum wait for an object store */
export async function openMarker(place: ArtifactLocation, patience: S3RetryLimits): Promise<StoreMarker> {
  if (place.kind === 'folder') return createFolderMarker(place.folder);
  const { createS3Client } = await import('../s3/client.js'); // loaded on demand
  const client = createS3Client(place.access, patience);
  const put = (name: string, content: string) =>
    client.put(name, Buffer.from(content), createHash('sha256').update(content).digest('hex'));
  const read = (name: string): Promise<string | undefined> => client.get(name, ({ body }) => text(body));
  return {
    async read() {
      const result = await read(MARKER);
      return result === undefined ? undefined : parseMark(result);
    },
    async write(mark) {
      await put(MARKER, formatMarker(mark));
      return false;
    },
    has: async (name) => (await client.get(name, async () => true)) === true,
    probe: () => probeAccess({ put, read, remove: client.remove }),
    warning: client.renewalFault,
  };
}

function createFolderMarker(folder: string): StoreMarker {
  const getPath = (name: string): string => join(folder, name);
  const call = createFolderCalls(folder);
  const read = (name: string): Promise<string | undefined> =>
    call(() => readFile(getPath(name), 'utf8')).catch(ignoreAbsentFile);
  return {
    async read() {
      const text = await read(MARKER);
      return text === undefined ? undefined : parseMark(text);
    },
    async write(mark) {
      const isNew = await call(() => makeFolder(folder));
      const draftPath = getPath(`${MARKER}.${randomBytes(8).toString('hex')}`);
      await writeFlushed(draftPath, Buffer.from(formatMarker(mark)), call);
      await call(() => rename(draftPath, getPath(MARKER)));
      await syncFolder(folder, call);
      return isNew;
    },
    has: async (name) => (await call(() => stat(getPath(name))).catch(ignoreAbsentFile)) !== undefined,
    probe: () =>
      probeAccess({
        put: (name, text) => writeFlushed(getPath(name), Buffer.from(text), call),
        read,
        remove: (name) => removeFiles(folder, [name], call),
      }),
    warning: () => undefined,
  };
}

interface ProbedStore {
  put(name: string, text: string): Promise<void>;
  read(name: string): Promise<string | undefined>;
  remove(name: string): Promise<void>;
}

async function probeAccess({ put, read, remove }: ProbedStore): Promise<void> {
  const name = createArtifactName(); // garbage collection removes a remaining test object
  const text = randomBytes(512).toString('hex');
  await put(name, text);
  const result = await read(name);
  await remove(name);
  if (result !== text) throw new ArtifactStoreFault('The results storage returns other bytes than were written.');
}

/** Record of a database about its artifact store. */
export interface RecordedStore {
  readonly store_id: string;
  /** True after the marker file has been written to the artifact store. It is never created again afterwards. */
  readonly is_marked: boolean;
  /** Ownership of the store. It is absent until a process has acquired it, as in databases of version 0.2.0. */
  readonly ownership?: RecordedOwnership | undefined;
}

/**
 * Lease on an artifact store. Its token changes in the store and in this record, so that a copy of the database becomes
 * outdated.
 */
export interface RecordedOwnership {
  /** Token in the marker since the last renewal. */
  readonly token: string | null;
  /** Pending token; null between renewals. */
  readonly next: string | null;
  /** Earlier tokens, newest first. A delayed write may restore one of them. */
  readonly earlier: readonly string[];
  /** Process that renews the lease. */
  readonly holder: string;
}

const DOCUMENT_KIND = 'artifact-store';
const DOCUMENT_ID = 'shared';

/** Returns the record. Returns undefined if there is none. @throws StartRefusal 78 if it is unreadable */
export async function readRecordedStore(documents: Pick<DocumentReader, 'get'>): Promise<RecordedStore | undefined> {
  const storedDocument = await documents.get(DOCUMENT_KIND, DOCUMENT_ID);
  if (storedDocument === undefined) return undefined;
  const { store_id, is_marked, ownership } = (
    'unreadable' in storedDocument ? {} : storedDocument.body
  ) as Partial<RecordedStore>; // written only by `recordStore`
  if (typeof store_id !== 'string' || typeof is_marked !== 'boolean')
    throw createMismatchRefusal('The record of the results storage in the database cannot be read.');
  return { store_id, is_marked, ownership };
}

export async function recordStore(
  tx: Pick<DocumentTransaction, 'put'>,
  { ownership, ...store }: RecordedStore,
): Promise<void> {
  await tx.put(DOCUMENT_KIND, DOCUMENT_ID, { ...store, ...(ownership && { ownership }) });
}

export const createMismatchRefusal = (message: string): StartRefusal => new StartRefusal(EXIT_CONFIGURATION, message);
