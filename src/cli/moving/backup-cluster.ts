import { randomBytes } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { assertFree, finishBackup } from '#store/home/backup-home.js';
import type { BackupFile, BackupManifest } from '#store/home/backup-manifest.js';
import { HOME_FORMAT, listHomeFolders, type HomeFolders } from '#store/home/home.js';
import { digestFile } from '#store/files/file-digest.js';
import { makeFolder } from '#store/files/make-folder.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { openSnapshot } from '#store/postgres/snapshot.js';
import { assertMigrated } from '#store/postgres/migrate.js';
import { runWithClient } from '#store/postgres/open-documents.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { Settings } from '../settings.js';
import { copyDocuments } from './copy-documents.js';
import { createFileMove, type FileLocation } from './move-files.js';
import { openArtifacts } from './open-location.js';

export interface ClusterBackupOptions {
  readonly settings: Settings;
  /** Path of an absent or empty folder. */
  readonly target: string;
  readonly engineVersion: string;
  readonly onProgress: (message: string) => void;
}

export interface ClusterBackup {
  readonly manifest: BackupManifest;
  /** Artifacts that documents refer to and that are missing or damaged, and documents that are unreadable. */
  readonly damaged: readonly string[];
}

/** Maximum number of attempts if artifacts disappear during the copy. Each attempt reads the documents again. */
const ROUNDS_MAX = 5;

/**
 * Copies a snapshot of the documents of a database, and all artifacts that they refer to. Services may run at the same
 * time. The backup has the same form as the backup of a home. It can be restored to a home or to another database.
 * @throws StartRefusal without a database, or if the target is not usable
 */
export async function backUpCluster(options: ClusterBackupOptions): Promise<ClusterBackup> {
  const { settings, target } = options;
  await assertFree(target);
  await runWithClient(settings.database!, assertMigrated);
  const sharedFiles = await openArtifacts(settings);
  const draftFolder = join(dirname(target), `.${basename(target)}.partial-${randomBytes(6).toString('hex')}`);
  try {
    for (let round = 1; ; round++) {
      await rm(draftFolder, { recursive: true, force: true });
      const createdAt = formatTimestamp(Date.now());
      const { documents, damaged } = await copyRound(options, listHomeFolders(draftFolder), sharedFiles.files);
      if (damaged.length > 0 && round < ROUNDS_MAX) continue;
      const files = await listFilesBelow(draftFolder);
      const manifest = { home_format: HOME_FORMAT, engine_version: options.engineVersion, created_at: createdAt };
      return {
        manifest: await finishBackup({ draft: draftFolder, target }, { ...manifest, documents, files }),
        damaged,
      };
    }
  } finally {
    await rm(draftFolder, { recursive: true, force: true });
    await sharedFiles.close();
  }
}

async function copyRound({ settings, onProgress }: ClusterBackupOptions, folders: HomeFolders, from: FileLocation) {
  await makeFolder(folders.path, 0o700);
  const clock = { ms: 0 };
  const source = await openSnapshot(settings.database!);
  try {
    const target = await openDocumentStore({ folder: folders.documents, now: () => clock.ms });
    try {
      const files = await createFileMove(from, { kind: 'home', folders });
      const copiedKinds = await copyDocuments({ source, target, clock, files, onKind: onProgress });
      const unreadableDocuments = copiedKinds.flatMap(({ kind, unreadable: ids }) => ids.map((id) => `${kind} ${id}`));
      return {
        documents: copiedKinds.reduce((sum, { copied: count }) => sum + count, 0),
        damaged: [...files.damaged, ...unreadableDocuments],
      };
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Lists the files of an unfinished backup with their hashes. The lock of its documents is left out. */
async function listFilesBelow(draft: string): Promise<BackupFile[]> {
  const lockFile = join(draft, 'documents', 'lock.mdb');
  await rename(lockFile, `${draft}.lock`).catch(() => {});
  await rm(`${draft}.lock`, { force: true });
  const entries = await readdir(draft, { recursive: true, withFileTypes: true });
  const files: BackupFile[] = [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.push({ path: path.slice(draft.length + 1), ...(await digestFile(path)) });
  }
  return files;
}
