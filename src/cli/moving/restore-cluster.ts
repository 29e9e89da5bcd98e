import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readManifest, type BackupManifest } from '#store/home/backup-manifest.js';
import { listHomeFolders } from '#store/home/home.js';
import { assertIntact } from '#store/home/restore-home.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { probeDocuments } from '#store/lmdb/probe-documents.js';
import type { Settings } from '../settings.js';
import { copyDocuments } from './copy-documents.js';
import { createFileMove } from './move-files.js';
import { openDatabaseLocation, type CopyClock } from './open-location.js';

export interface ClusterRestoreOptions {
  readonly backup: string;
  /** Settings of a database without documents, and of an artifact location. */
  readonly settings: Settings;
  readonly onProgress: (message: string) => void;
}

/**
 * Restores a backup into an empty database and its artifact location. Every file is verified before anything is
 * written.
 * @throws StartRefusal 75 if services run on the database, 78 if the backup is damaged or the database has documents
 */
export async function restoreCluster({ backup, settings, onProgress }: ClusterRestoreOptions): Promise<BackupManifest> {
  const manifest = await readManifest(backup);
  await assertIntact(backup, manifest, (_fraction, file) => onProgress(file));
  const clock: CopyClock = { ms: 0 };
  const folder = await mkdtemp(join(tmpdir(), 'divisor-restore-'));
  try {
    // The engine writes files next to the documents that it reads. It opens a copy, so that the backup does not change.
    await cp(join(backup, 'documents'), folder, { recursive: true });
    await probeDocuments(folder);
    const source = await openDocumentStore({ folder });
    try {
      const target = await openDatabaseLocation(settings, clock, true);
      try {
        const isContinued = await target.begin();
        const files = await createFileMove(
          { kind: 'home', folders: listHomeFolders(backup) },
          target.files!,
          isContinued,
        );
        await copyDocuments({ source, target: target.documents, clock, files, onKind: onProgress });
        await target.finish();
      } finally {
        await target.close(false);
      }
    } finally {
      await source.close();
    }
    return manifest;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
