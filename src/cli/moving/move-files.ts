import { mkdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DatasetDocument } from '#domain/documents/dataset-document.js';
import { createManagedFolders } from '#market/content/managed-folder.js';
import { createSharedStoreFiles } from '#services/datasets/store-files.js';
import { openArtifactWriter } from '#store/artifact-writer.js';
import { removeFiles } from '#store/files/folder-writer.js';
import { copyFlushed, digestFile, type FileDigest } from '#store/files/file-digest.js';
import type { HomeFolders } from '#store/home/home.js';
import { listArtifacts } from '#store/lmdb/stored-entries.js';
import type { ArtifactRef, ArtifactStore, DocumentKind, StoredDocument } from '#store/port.js';

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
  /** Copies artifacts. */
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
      await copy(listArtifacts(body));
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
    const files = createSharedStoreFiles({ ...to, folders: createManagedFolders(root), root });
    return { ...store, ...(await files.keep(join(root, basename(store.location)))) };
  }
  if (from.kind !== 'shared' || to.kind !== 'home') return body;
  const { stores: root } = to.folders;
  const files = createSharedStoreFiles({ ...from, folders: createManagedFolders(root), root });
  const { kept: _kept, ...movedStore } = await files.here(store);
  return movedStore;
}
