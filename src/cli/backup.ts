import { join, resolve } from 'node:path';
import { backUpHome } from '#store/home/backup-home.js';
import { listHomeFolders } from '#store/home/home.js';
import { createHomeReport } from './home-report.js';
import { assertTogether, readHomeCommand } from './home-command.js';
import { backUpCluster } from './moving/backup-cluster.js';
import { readEngineVersion } from './version.js';

export const BACKUP_HELP = `divisor backup [FOLDER] [--home HOME] [--database URL --artifacts STORAGE] [--json]

Copies a home into a new folder, also while a service runs on it. The backup contains a snapshot of the documents, every
result and managed store to which they refer, and a manifest with the hash of each file. The folder appears only when the
backup is complete.

  FOLDER   Target folder. Default: backups/TIME in the home, or TIME in DIVISOR_BACKUPS. Keep backups on another disk.
  --home   Folder of the service. Default: DIVISOR_HOME or ./var.
  --database, --artifacts
           Documents and results that several machines share. Default: DATABASE_URL and DIVISOR_ARTIFACTS.
           The backup can be restored to a home or to a database.
  --json   One JSON object, the default on a pipe.

Exit statuses: 0 done; 1 done, but the home lacks files to which documents refer; 75 no space left; 78 the home is missing or damaged.
`;

interface BackupSummary {
  readonly folder: string;
  readonly documents: number;
  readonly files: number;
  readonly bytes: number;
  readonly damaged: readonly string[];
}

const EXIT_DAMAGED = 1;

/** Runs `divisor backup`: writes a consistent copy of a home. */
export async function backUp(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { home, settings, words, values } = readHomeCommand(argv, environment, { words: [0, 1], help: BACKUP_HELP });
  assertTogether(settings, 'copy it by pg_dump first, then the folders artifacts and stores of the home');
  const folders = listHomeFolders(home);
  const target =
    words[0] === undefined ? join(settings.backups ?? folders.backups, formatBackupName()) : resolve(words[0]);
  const report = createHomeReport<BackupSummary>(values.json);
  const sharedOptions = { target, engineVersion: readEngineVersion() };
  const onProgress = (fraction: number, file: string) =>
    report.progress(`${(fraction * 100).toFixed(0).padStart(3)}%  ${file}`);
  const { manifest, damaged } =
    settings.database === undefined
      ? await backUpHome({ ...sharedOptions, home: folders, onProgress })
      : await backUpCluster({ ...sharedOptions, settings, onProgress: report.progress });
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  const summary: BackupSummary = {
    folder: target,
    documents: manifest.documents,
    files: manifest.files.length,
    bytes,
    damaged,
  };
  report.print([summary], ['backup', 'documents', 'files', 'MiB', 'damaged'], (row) => [
    row.folder,
    String(row.documents),
    String(row.files),
    (row.bytes / 2 ** 20).toFixed(1),
    row.damaged.join(', ') || 'none',
  ]);
  return damaged.length === 0 ? 0 : EXIT_DAMAGED;
}

/** Returns the name of a new backup from the current time. Sorted by name, the newest backup is last. */
const formatBackupName = () => new Date().toISOString().slice(0, 19).replaceAll(':', '');
