import { mkdir, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readManifest, type BackupFile, type BackupManifest } from './backup-manifest.js';
import { copyFlushed, digestFile } from '../files/file-digest.js';
import { flushFolder } from '../files/flush-folder.js';
import { makeFolder } from '../files/make-folder.js';
import { HOME_FORMAT, listHomeFolders, readFormat, RESTORING, writeFormat, type HomeFolders } from './home.js';
import { lockHome } from './home-lock.js';
import { probeDocuments } from '../lmdb/probe-documents.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';

export interface RestoreOptions {
  readonly backup: string;
  /** Target home folder. It must be absent or contain no documents, unless `replace` is set. */
  readonly home: string;
  /** True to move the present contents of the home to another folder. They are never deleted. */
  readonly replace: boolean;
  readonly now?: () => number;
  readonly onProgress?: (fraction: number, message: string) => void;
}

export interface RestoreResult {
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
  await flushFolder(home.path);
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
  for (const folder of folders) await flushFolder(folder);
  await flushFolder(home.path);
}

const LISTED_FILES_MAX = 5;

/** Formats the first names of a list. */
function listNames(names: readonly string[]): string {
  const remainingCount = names.length - LISTED_FILES_MAX;
  return names.slice(0, LISTED_FILES_MAX).join(', ') + (remainingCount > 0 ? ` and ${remainingCount} more` : '');
}
