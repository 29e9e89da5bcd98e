import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, rename, rm, statfs, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MANIFEST_FORMAT, MANIFEST_NAME, type BackupFile, type BackupManifest } from './backup-manifest.js';
import { copyFlushed } from '../files/file-digest.js';
import { flushFolder } from '../files/flush-folder.js';
import { makeFolder } from '../files/make-folder.js';
import { readFormat, type HomeFolders } from './home.js';
import { probeDocuments } from '../lmdb/probe-documents.js';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import { listArtifacts, findManagedStore, openDocumentsReader } from '../lmdb/stored-entries.js';
import { formatTimestamp } from '../timestamp.js';

export interface BackupOptions {
  readonly home: HomeFolders;
  /** Target folder, which must be absent or empty. The backup gets this name only when it is complete. */
  readonly target: string;
  readonly engineVersion: string;
  /** Wall clock, ms since 1970. */
  readonly now?: () => number;
  readonly onProgress?: (fraction: number, message: string) => void;
}

export interface Backup {
  readonly manifest: BackupManifest;
  /**
   * Files that documents refer to and that are missing or damaged in the home folder. The backup contains damaged files
   * as they are.
   */
  readonly damaged: readonly string[];
}

/**
 * Maximum number of attempts if artifacts disappear during the copy. Each attempt begins with a new snapshot of the
 * documents.
 */
const ROUNDS_MAX = 5;
const PINS_PREFIX = '.backup-';

/**
 * Copies a home folder (all data of one service), even while a service uses it. Copies a snapshot of the documents, and
 * every artifact and store folder that they refer to. No lock is needed: the backup only reads, and hard links in the
 * home folder protect the files that are copied.
 * @throws StartRefusal without a home or space, or if the target is not usable
 */
export async function backUpHome({
  home,
  target,
  engineVersion,
  now = Date.now,
  onProgress = () => {},
}: BackupOptions): Promise<Backup> {
  const format = await readFormat(home);
  if (typeof format !== 'number')
    throw new StartRefusal(EXIT_CONFIGURATION, `The home at ${home.path} is missing or incomplete.`);
  await assertFree(target);
  await probeDocuments(home.documents);
  await removeOldPins(home);
  const suffix = randomBytes(6).toString('hex');
  const draftFolder = join(dirname(target), `.${basename(target)}.partial-${suffix}`);
  const pinsFolder = join(home.path, `${PINS_PREFIX}${process.pid}-${suffix}`);
  try {
    await mkdir(join(draftFolder, 'documents'), { recursive: true, mode: 0o700 });
    const createdAt = formatTimestamp(now());
    const snapshot = await takeSnapshot(home, draftFolder, pinsFolder);
    await assertFreeSpace(dirname(target), snapshot.pinned);
    const { files, damaged } = await copyPinned(draftFolder, pinsFolder, snapshot, onProgress);
    const content = { home_format: format, engine_version: engineVersion, created_at: createdAt };
    const manifest = await finishBackup(
      { draft: draftFolder, target },
      { ...content, documents: snapshot.documents, files },
    );
    return { manifest, damaged: [...snapshot.missing, ...damaged] };
  } finally {
    await rm(draftFolder, { recursive: true, force: true });
    await rm(pinsFolder, { recursive: true, force: true });
  }
}

/** Writes the manifest of a complete draft and renames the draft. */
export async function finishBackup(
  { draft, target }: { readonly draft: string; readonly target: string },
  content: Omit<BackupManifest, 'format'>,
): Promise<BackupManifest> {
  const manifest: BackupManifest = { format: MANIFEST_FORMAT, ...content };
  await writeFile(join(draft, MANIFEST_NAME), `${JSON.stringify(manifest, null, 1)}\n`, { mode: 0o600, flush: true });
  await flushFolder(draft);
  await rm(target, { recursive: true, force: true }); // an empty folder, see `assertFree`
  await rename(draft, target);
  await flushFolder(dirname(target));
  return manifest;
}

interface PinnedFile {
  /** Path relative to the folder of the backup. The same path is used in the folder of hard links. */
  readonly path: string;
  readonly bytes: number;
  /** Hash that the documents contain. It is undefined if they contain none. */
  readonly sha256: string | undefined;
}

interface Snapshot {
  readonly documents: number;
  readonly pinned: readonly PinnedFile[];
  readonly missing: readonly string[];
}

/**
 * Copies the documents and creates hard links to the files that they refer to. Repeats this if a file disappeared in
 * between.
 */
async function takeSnapshot(home: HomeFolders, draft: string, pins: string): Promise<Snapshot> {
  for (let round = 1; ; round++) {
    const copyFolder = join(draft, 'documents');
    await rm(copyFolder, { recursive: true, force: true });
    await mkdir(copyFolder, { mode: 0o700 });
    await rm(pins, { recursive: true, force: true });
    for (const folder of ['artifacts', 'stores']) await mkdir(join(pins, folder), { recursive: true, mode: 0o700 });
    const reader = openDocumentsReader(home.documents);
    try {
      await reader.copyTo(copyFolder);
    } finally {
      await reader.close();
    }
    const snapshot = await pinArtifacts(home, copyFolder, pins);
    if (snapshot.missing.length === 0 || round === ROUNDS_MAX) return snapshot;
  }
}

async function pinArtifacts(home: HomeFolders, copy: string, pins: string): Promise<Snapshot> {
  const reader = openDocumentsReader(copy);
  const pinnedFiles = new Map<string, PinnedFile>();
  const missingFiles: string[] = [];
  let documents = 0;
  const pin = async (path: string, sha256?: string): Promise<void> => {
    if (pinnedFiles.has(path)) return;
    const bytes = await pinFile(join(home.path, path), join(pins, path));
    if (bytes === undefined) missingFiles.push(path);
    else pinnedFiles.set(path, { path, bytes, sha256 });
  };
  try {
    for await (const entry of reader.entries()) {
      documents++;
      const hashes = new Map(listArtifacts(entry.body).map(({ name, sha256 }) => [name, sha256]));
      for (const name of entry.artifactNames) await pin(`artifacts/${name}`, hashes.get(name));
      const store = findManagedStore(entry);
      if (store === undefined) continue;
      await mkdir(join(pins, 'stores', store.folder), { recursive: true, mode: 0o700 });
      const names = await readdir(join(home.stores, store.folder)).catch(() => undefined);
      if (names === undefined) missingFiles.push(`stores/${store.folder}`);
      for (const name of names ?? [])
        await pin(
          `stores/${store.folder}/${name}`,
          store.files.find(({ label }) => label === name || `${label}.parquet` === name)?.sha256,
        );
    }
  } finally {
    await reader.close();
  }
  return { documents, pinned: [...pinnedFiles.values()], missing: missingFiles };
}

/**
 * Creates a hard link to a file. The content then survives a deletion of the file.
 * @returns its size; undefined if the file does not exist
 */
async function pinFile(path: string, pin: string): Promise<number | undefined> {
  try {
    await link(path, pin);
    return (await stat(pin)).size;
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
    throw thrown;
  }
}

async function copyPinned(
  draft: string,
  pins: string,
  { pinned }: Snapshot,
  onProgress: Required<BackupOptions>['onProgress'],
): Promise<{ readonly files: BackupFile[]; readonly damaged: string[] }> {
  const files: BackupFile[] = [];
  const damagedFiles: string[] = [];
  const folders = new Set<string>();
  const total = pinned.reduce((sum, { bytes }) => sum + bytes, 1);
  let copiedFiles = 0;
  for (const { path, bytes, sha256 } of pinned) {
    const folder = join(draft, dirname(path));
    if (!folders.has(folder)) await mkdir(folder, { recursive: true, mode: 0o700 });
    folders.add(folder);
    const digest = await copyFlushed(join(pins, path), join(draft, path));
    files.push({ path, ...digest });
    if (sha256 !== undefined && sha256 !== digest.sha256) damagedFiles.push(path);
    copiedFiles += bytes;
    onProgress(copiedFiles / total, path);
  }
  const data = 'documents/data.mdb';
  const { copied, digest } = await rewriteCopy(draft, data);
  files.push({ path: copied, ...digest });
  await rm(join(draft, 'documents', 'lock.mdb'), { force: true });
  for (const folder of [...folders, join(draft, 'documents')]) await flushFolder(folder);
  return { files, damaged: damagedFiles };
}

/** Writes a file of the document copy again, with a hash and a flush, because the engine did not flush it. */
async function rewriteCopy(
  draft: string,
  path: string,
): Promise<{ readonly copied: string; readonly digest: { readonly bytes: number; readonly sha256: string } }> {
  const rawPath = join(draft, `${path}.raw`);
  await rename(join(draft, path), rawPath);
  const digest = await copyFlushed(rawPath, join(draft, path));
  await rm(rawPath);
  return { copied: path, digest };
}

/** Checks that a backup may be written to the target. @throws StartRefusal 78 */
export async function assertFree(target: string): Promise<void> {
  await makeFolder(dirname(target), 0o700);
  const names = await readdir(target).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return [];
    throw new StartRefusal(EXIT_CONFIGURATION, `The backup cannot be written to ${target}: ${thrown.message}.`);
  });
  if (names.length > 0)
    throw new StartRefusal(EXIT_CONFIGURATION, `The folder ${target} is not empty; a backup requires a new folder.`);
}

/** Checks the free space. A backup that fills the volume of the service would stop its writes. @throws StartRefusal */
async function assertFreeSpace(folder: string, pinned: readonly PinnedFile[]): Promise<void> {
  const neededBytes = pinned.reduce((sum, { bytes }) => sum + bytes, 0);
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  if (neededBytes > freeBytes)
    throw new StartRefusal(
      EXIT_TEMPORARY,
      `The backup needs ${formatMebibytes(neededBytes)} MiB; ${formatMebibytes(freeBytes)} MiB are free at ${folder}.`,
    );
}

const formatMebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);

/** Removes hard links that a backup left behind when it was killed. */
async function removeOldPins({ path }: HomeFolders): Promise<void> {
  for (const name of await readdir(path)) {
    const pid = Number(/^\.backup-(\d+)-/.exec(name)?.[1]);
    if (Number.isInteger(pid) && !isRunning(pid)) await rm(join(path, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
  }
}
