import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatasetDocument } from '#domain/definition/datasets.js';
import { createJobRow } from '#jobs/distributed/job-documents.js';
import { advanceSequence } from '#jobs/distributed/job-rows.js';
import { readJobRecord } from '#jobs/port/life-cycle.js';
import { createManagedFolders } from '#market/content/managed-folder.js';
import { createSharedStoreFiles } from '#services/shared/store-documents.js';
import { openArtifactWriter } from '#store/artifact-writer.js';
import { copyFlushed, digestFile, type FileDigest, removeFiles, syncFolder } from '#store/artifacts/durable-files.js';
import {
  type ArtifactRef,
  type ArtifactStore,
  DOCUMENT_KINDS,
  type DocumentEngine,
  type DocumentKind,
  type StoredDocument,
} from '#store/port.js';
import {
  HOME_FORMAT,
  type HomeFolders,
  openHome,
  openTargetHome,
  readFormat,
  RESTORING,
  writeFormat,
} from '#store/home/home.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { listArtifactRefs } from '#store/lmdb/documents-reader.js';
import { openSharedArtifacts } from '#store/open-store.js';
import { assertStore, claimStore } from '#store/ownership/ownership.js';
import { assertMigrated, clear, isMarked, markMove, unmarkMove } from '#store/postgres/migrate.js';
import {
  type DatabaseDocuments,
  openDatabaseDocuments,
  openSnapshot,
  runWithClient,
} from '#store/postgres/open-documents.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { readArtifactLocation, type Settings } from '../settings/settings.js';

/** Location of results and managed stores. */
export type FileLocation =
  | { readonly kind: 'home'; readonly folders: Pick<HomeFolders, 'artifacts' | 'stores'> }
  | { readonly kind: 'shared'; readonly artifacts: ArtifactStore };

/** Service that copies the files of documents and verifies each hash. */
export interface FileMove {
  /**
   * Copies the files of a document. @returns body of the document for the target, with the new locations of its files
   */
  take(kind: DocumentKind, document: StoredDocument): Promise<unknown>;
  copy(refs: readonly ArtifactRef[]): Promise<void>;
  /** Names of artifacts that are missing or damaged at their source. */
  readonly damaged: readonly string[];
  readonly count: number;
  readonly bytes: number;
}

/**
 * Creates the service that copies files from one location to another.
 * @param isContinued true if an interrupted move may have left files in `to`
 */
export async function createFileMove(from: FileLocation, to: FileLocation, isContinued = false): Promise<FileMove> {
  const movedNames = new Set<string>();
  const damagedFiles: string[] = [];
  let bytes = 0;
  const putFile = await getWriter(to);

  async function copyArtifact(ref: ArtifactRef): Promise<void> {
    if (movedNames.has(ref.name)) return;
    movedNames.add(ref.name);
    const path = await readPath(from, ref.name).catch(() => undefined);
    const result = path === undefined ? undefined : await digestFile(path).catch(() => undefined);
    if (result === undefined || result.sha256 !== ref.sha256) return void damagedFiles.push(ref.name);
    if (isContinued) await removeFrom(to, ref.name);
    const fileDigest = await putFile(ref.name, path!); // the path exists, because its digest was computed above
    if (fileDigest.sha256 !== ref.sha256) throw new Error(`the copy of ${ref.name} differs from its source`);
    bytes += fileDigest.bytes;
  }

  async function copy(refs: readonly ArtifactRef[]): Promise<void> {
    for (const ref of refs) await copyArtifact(ref);
  }

  return {
    async take(kind, { body }) {
      if (kind === 'store') return moveStore(body, from, to); // The artifacts of a store are copied with the store.
      await copy(listArtifactRefs(body));
      return body;
    },
    copy,
    damaged: damagedFiles,
    get count() {
      return movedNames.size;
    },
    get bytes() {
      return bytes;
    },
  };
}

const readPath = async (location: FileLocation, name: string): Promise<string> =>
  location.kind === 'home' ? join(location.folders.artifacts, name) : location.artifacts.file({ name });

async function removeFrom(location: FileLocation, name: string): Promise<void> {
  if (location.kind === 'shared') return location.artifacts.remove([name]);
  await removeFiles(location.folders.artifacts, [name]);
}

type PutFile = (name: string, path: string) => Promise<FileDigest>;

async function getWriter(location: FileLocation): Promise<PutFile> {
  if (location.kind === 'home') {
    const { artifacts, stores } = location.folders;
    for (const folder of [artifacts, stores]) await mkdir(folder, { recursive: true, mode: 0o700 });
    return (name, path) => copyFlushed(path, join(artifacts, name));
  }
  const writer = openArtifactWriter(location.artifacts.destination);
  return async (name, path) => (await writer.write([{ name, bytes: await readFile(path) }]))[0]!; // one digest per file
}

/** Moves a managed store. Its files are in a folder of a home, or they are artifacts. */
async function moveStore(body: unknown, from: FileLocation, to: FileLocation): Promise<unknown> {
  const { data: store } = DatasetDocument.safeParse(body);
  if (store === undefined || !store.managed || store.location === null || from.kind === to.kind) return body;
  if (from.kind === 'home' && to.kind === 'shared') {
    const { stores: root } = from.folders;
    const files = createSharedStoreFiles(to.artifacts, createManagedFolders(root), root);
    return { ...store, ...(await files.keep(join(root, basename(store.location)))) };
  }
  if (from.kind !== 'shared' || to.kind !== 'home') return body;
  const { stores: root } = to.folders;
  const files = createSharedStoreFiles(from.artifacts, createManagedFolders(root), root);
  const { kept: _kept, ...movedStore } = await files.here(store);
  return movedStore;
}

/** Source of documents: an engine or a snapshot. */
export type DocumentSource = Pick<DocumentEngine, 'ids' | 'get' | 'list'>;

type DocumentTarget = DocumentEngine | DatabaseDocuments;

export interface CopiedKind {
  readonly kind: DocumentKind;
  readonly copied: number;
  /** Ids of unreadable documents. */
  readonly unreadable: readonly string[];
}

export interface CopiedDocuments {
  readonly source: DocumentSource;
  /** Target of the copy. It takes the time of each document from `clock`. */
  readonly target: DocumentTarget;
  readonly clock: { ms: number };
  /** Files to copy too. Default: none. */
  readonly files?: FileMove | undefined;
  readonly onKind?: (kind: DocumentKind) => void;
}

/** Document kinds that are copied. A database records its artifact location before all other documents. */
const COPIED_KINDS = DOCUMENT_KINDS.filter((kind) => kind !== 'artifact-store');

/** Maximum number of pending writes. Their commits are written to disk together. */
const PENDING_WRITES_MAX = 64;

/**
 * Copies every document with its time and with the files that it refers to. Then reads each document again and compares
 * its hash.
 */
export async function copyDocuments(copy: CopiedDocuments): Promise<CopiedKind[]> {
  const copiedKinds: CopiedKind[] = [];
  for (const kind of COPIED_KINDS) {
    copy.onKind?.(kind);
    // Only several processes share a market. A single home reads its active store instead.
    if (kind === 'market' && !('database' in copy.target)) continue;
    copiedKinds.push(await copyKind(kind, copy));
  }
  if ('database' in copy.target) await advanceSequence(copy.target);
  return copiedKinds;
}

/** Checks that the target is empty. @throws StartRefusal 78 if it contains documents */
async function assertEmpty(documents: DocumentSource): Promise<void> {
  for (const kind of COPIED_KINDS) {
    const { length } = await documents.ids(kind);
    if (length > 0)
      throw new StartRefusal(EXIT_CONFIGURATION, `The target already contains documents: ${length} of kind ${kind}.`);
  }
}

async function copyKind(kind: DocumentKind, { source, target, clock, files }: CopiedDocuments): Promise<CopiedKind> {
  const unreadableIds: string[] = [];
  const ids = kind === 'job' ? await listInSubmissionOrder(source) : await source.ids(kind);
  const concurrency = kind === 'job' ? 1 : PENDING_WRITES_MAX; // Jobs are written one after another, because the queue runs them in the order of writing.
  for (let i = 0; i < ids.length; i += concurrency) {
    const result = await Promise.all(ids.slice(i, i + concurrency).map((id) => source.get(kind, id)));
    const storedDocuments: StoredDocument[] = [];
    for (const document of result) {
      if (document === undefined) continue;
      if ('unreadable' in document) unreadableIds.push(document.id);
      else storedDocuments.push(document);
    }
    const writtenDocuments = [];
    for (const document of storedDocuments) {
      const body = files === undefined ? document.body : await files.take(kind, document);
      clock.ms = Date.parse(document.updatedAt); // The store reads the clock when the transaction begins.
      const isSame = body === document.body;
      writtenDocuments.push(
        write(target, kind, { ...document, body }).then((etag) => ({
          id: document.id,
          etag: isSame ? document.etag : etag,
        })),
      );
    }
    for (const { id, etag } of await Promise.all(writtenDocuments)) await assertSame(target, { kind, id, etag });
  }
  return { kind, copied: ids.length - unreadableIds.length, unreadable: unreadableIds };
}

async function listInSubmissionOrder(source: DocumentSource): Promise<readonly string[]> {
  const { documents } = await source.list('job', readJobRecord);
  const sequences = new Map(documents.map(({ job_id: id, sequence }) => [id, sequence]));
  const parseSequence = (id: string): number => sequences.get(id) ?? 0;
  return [...(await source.ids('job'))].sort((a, b) => parseSequence(a) - parseSequence(b));
}

/** Writes a document. In a database, a job also needs a row. */
function write(target: DocumentTarget, kind: DocumentKind, { id, body }: StoredDocument): Promise<string> {
  const record = kind === 'job' ? readJobRecord(body, id) : undefined;
  if (record === undefined || !('jobTransaction' in target)) return target.transaction((tx) => tx.put(kind, id, body));
  // If an attempt was running when its service ended, another node may take it over, as if its lease had expired.
  const lease = record.status === 'running' ? { node: '', ms: 0 } : undefined;
  return target.jobTransaction(async (tx) => {
    tx.putJob(createJobRow(record, lease));
    return tx.put(kind, id, body);
  });
}

async function assertSame(
  target: DocumentEngine,
  { kind, id, etag }: { readonly kind: DocumentKind; readonly id: string; readonly etag: string },
): Promise<void> {
  const storedDocument = await target.get(kind, id);
  if (storedDocument === undefined || 'unreadable' in storedDocument || storedDocument.etag !== etag)
    throw new Error(`the copy of ${kind} ${id} differs from its source`);
}

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
export async function openRecordedArtifacts(settings: Settings): Promise<OpenFiles> {
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
        for (const folder of [home.artifacts, home.stores]) await syncFolder(folder);
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
