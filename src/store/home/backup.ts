import { hasProcess } from './process-identity.js';
import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { copyFlushed, digestFile, syncFolder, makeFolder } from '../artifacts/durable-files.js';
import { formatTimestamp } from '../port.js';
import { findManagedStore, listArtifactRefs, openDocumentsReader } from '../lmdb/documents-reader.js';
import { probeDocuments } from '../lmdb/probe-documents.js';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import {
  HOME_FORMAT,
  type HomeFolders,
  listHomeFolders,
  lockHome,
  readFormat,
  requireFormat,
  RESTORING,
  writeFormat,
} from './home.js';

/** Manifest of a copy of a home, with the hash of each file. */
export interface BackupManifest {
  readonly format: typeof MANIFEST_FORMAT;
  /** Version of the layout of the home. */
  readonly home_format: number;
  readonly engine_version: string;
  /** Time of the copy of the documents, ISO-8601 UTC. */
  readonly created_at: string;
  readonly documents: number;
  readonly files: readonly BackupFile[];
}

export interface BackupFile {
  /** Path relative to the folder of the backup, with slashes. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

const MANIFEST_FORMAT = 1;
const MANIFEST_NAME = 'manifest.json';

/**
 * Pattern of the files of a backup. They are one or two levels deep in these folders; a restore writes no other paths.
 */
const FILE_PATH = /^(?:documents|artifacts|stores)(?:\/[A-Za-z0-9_.-]{1,255}){1,2}$/;

/**
 * Reads the manifest of a backup. @throws StartRefusal 78 if the folder is not a backup, or its format is not supported
 */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const text = await readFile(join(folder, MANIFEST_NAME), 'utf8').catch(() => undefined);
  if (text === undefined)
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `${folder} is not a backup: it has no ${MANIFEST_NAME}, which is written last.`,
    );
  const manifest = parseManifest(text);
  if (manifest?.format !== MANIFEST_FORMAT)
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `The backup ${folder} has the format ${String(manifest?.format)}; this engine reads ${MANIFEST_FORMAT}.`,
    );
  const isSound =
    Number.isInteger(manifest.home_format) && Array.isArray(manifest.files) && manifest.files.every(isFile);
  if (!isSound) throw new StartRefusal(EXIT_CONFIGURATION, `The manifest of the backup ${folder} is damaged.`);
  return manifest;
}

function parseManifest(text: string): BackupManifest | undefined {
  try {
    return JSON.parse(text) as BackupManifest;
  } catch {
    return undefined;
  }
}

function isFile({ path, bytes, sha256 }: BackupFile): boolean {
  return (
    typeof path === 'string' &&
    FILE_PATH.test(path) &&
    !path.split('/').some((part) => part === '.' || part === '..') &&
    Number.isInteger(bytes) &&
    /^[0-9a-f]{64}$/.test(sha256)
  );
}

/**
 * Returns the age in seconds of the newest complete backup in a folder. Returns undefined if there is none. A backup is
 * complete if it has a manifest, which is written last.
 */
export async function findBackupAge(folder: string, now: () => number = Date.now): Promise<number | undefined> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => !name.startsWith('.'));
  const writtenMs = await Promise.all(
    names.map((name) =>
      stat(join(folder, name, MANIFEST_NAME)).then(
        ({ mtimeMs }) => mtimeMs,
        () => -Infinity,
      ),
    ),
  );
  const newestMs = Math.max(-Infinity, ...writtenMs);
  return newestMs === -Infinity ? undefined : Math.max(0, (now() - newestMs) / 1000);
}

interface BackupOptions {
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
  const format = await requireFormat(home);
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
  await syncFolder(draft);
  await rm(target, { recursive: true, force: true }); // an empty folder, see `assertFree`
  await rename(draft, target);
  await syncFolder(dirname(target));
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
      const hashes = new Map(listArtifactRefs(entry.body).map(({ name, sha256 }) => [name, sha256]));
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
  for (const folder of [...folders, join(draft, 'documents')]) await syncFolder(folder);
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
    if (Number.isInteger(pid) && !hasProcess(pid)) await rm(join(path, name), { recursive: true, force: true });
  }
}

interface RestoreOptions {
  readonly backup: string;
  /** Target home folder. It must be absent or contain no documents, unless `replace` is set. */
  readonly home: string;
  /** True to move the present contents of the home to another folder. They are never deleted. */
  readonly replace: boolean;
  readonly now?: () => number;
  readonly onProgress?: (fraction: number, message: string) => void;
}

interface RestoreResult {
  readonly manifest: BackupManifest;
  /** Folder with the previous content of the home. It is undefined if the home was empty. */
  readonly aside: string | undefined;
}

const HOME_PARTS = ['documents', 'artifacts', 'stores'] as const;

/**
 * Replaces a home with a backup. Every file is verified before the first write. The home is marked as incomplete until
 * the last file is on disk, so that no service starts on an interrupted restore.
 * @throws StartRefusal 75 if a service runs on the home, 78 if the backup is damaged or the home must not be replaced
 */
export async function restoreHome({
  backup,
  home: path,
  replace,
  now = Date.now,
  onProgress = () => {},
}: RestoreOptions): Promise<RestoreResult> {
  const manifest = await readManifest(backup);
  await assertIntact(backup, manifest, (fraction, file) => onProgress(fraction / 2, file));
  await probeDocuments(join(backup, 'documents'));

  const home = listHomeFolders(path);
  await makeFolder(home.path, 0o700);
  const lock = await lockHome(home.path);
  try {
    const existingParts = await listExistingParts(home);
    const isCutShort = (await readFormat(home).catch(() => undefined)) === RESTORING;
    if (existingParts.length > 0 && !replace && !isCutShort) {
      throw new StartRefusal(
        EXIT_CONFIGURATION,
        `The home ${home.path} already contains ${existingParts.join(', ')}; --replace moves them aside.`,
      );
    }
    await writeFormat(home, RESTORING);
    const replacedFolder = await moveAside(home, existingParts, now());
    await copyParts(backup, home, manifest.files, (fraction, file) => onProgress(0.5 + fraction / 2, file));
    await writeFormat(home, manifest.home_format);
    return { manifest, aside: replacedFolder };
  } finally {
    await lock.release();
  }
}

/** Checks that a backup can be restored. @throws StartRefusal 78 if it is damaged or from a newer engine */
export async function assertIntact(
  backup: string,
  manifest: BackupManifest,
  onProgress?: (fraction: number, file: string) => void,
): Promise<void> {
  if (manifest.home_format > HOME_FORMAT) {
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `The backup is of a home of format ${manifest.home_format}; this engine reads formats up to ${HOME_FORMAT}.`,
    );
  }
  const damagedFiles = await findDamagedFiles(backup, manifest.files, onProgress);
  if (damagedFiles.length > 0)
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `The backup ${backup} is damaged and was not restored: ${listNames(damagedFiles)}.`,
    );
}

/** Lists the files of a backup that differ from its manifest. */
export async function findDamagedFiles(
  backup: string,
  files: readonly BackupFile[],
  onProgress: (fraction: number, file: string) => void = () => {},
): Promise<string[]> {
  const damagedFiles: string[] = [];
  for (const [i, { path, bytes, sha256 }] of files.entries()) {
    const result = await digestFile(join(backup, path)).catch(() => undefined);
    if (result?.bytes !== bytes || result.sha256 !== sha256) damagedFiles.push(path);
    onProgress((i + 1) / files.length, path);
  }
  return damagedFiles;
}

async function listExistingParts(home: HomeFolders): Promise<readonly string[]> {
  const existingParts: string[] = [];
  for (const part of HOME_PARTS) if ((await readdir(home[part]).catch(() => [])).length > 0) existingParts.push(part);
  return existingParts;
}

async function moveAside(
  home: HomeFolders,
  existingParts: readonly string[],
  nowMs: number,
): Promise<string | undefined> {
  if (existingParts.length === 0) return undefined;
  const replacedFolder = join(home.path, `replaced-${new Date(nowMs).toISOString().replaceAll(/[:.]/g, '')}`);
  await mkdir(replacedFolder, { mode: 0o700 });
  for (const part of existingParts) await rename(join(home.path, part), join(replacedFolder, part));
  await syncFolder(home.path);
  return replacedFolder;
}

async function copyParts(
  backup: string,
  home: HomeFolders,
  files: readonly BackupFile[],
  onProgress: (fraction: number, file: string) => void,
): Promise<void> {
  const folders = new Set<string>(HOME_PARTS.map((part) => home[part]));
  for (const folder of folders) await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const [i, { path, sha256 }] of files.entries()) {
    const folder = join(home.path, dirname(path));
    if (!folders.has(folder)) await mkdir(folder, { recursive: true, mode: 0o700 });
    folders.add(folder);
    const fileDigest = await copyFlushed(join(backup, path), join(home.path, path));
    if (fileDigest.sha256 !== sha256)
      throw new StartRefusal(EXIT_CONFIGURATION, `The file ${path} of the backup changed while it was restored.`);
    onProgress((i + 1) / files.length, path);
  }
  for (const folder of folders) await syncFolder(folder);
  await syncFolder(home.path);
}

const LISTED_FILES_MAX = 5;

function listNames(names: readonly string[]): string {
  const remainingCount = names.length - LISTED_FILES_MAX;
  return names.slice(0, LISTED_FILES_MAX).join(', ') + (remainingCount > 0 ? ` and ${remainingCount} more` : '');
}
