import { resolve } from 'node:path';
import { restoreHome } from '#store/home/restore-home.js';
import { removeUrlPassword } from '#base/text/url-passwords.js';
import { createHomeReport } from './home-report.js';
import { assertTogether, readHomeCommand } from './home-command.js';
import { restoreCluster } from './moving/restore-cluster.js';

export const RESTORE_HELP = `divisor restore FOLDER [--home HOME] [--replace] [--json]
divisor restore FOLDER --database URL --artifacts STORAGE [--json]

Replaces the files of a home by a backup. No service can run on the home. The command first checks every file of the backup
against the manifest. It moves the previous files of the home into the folder replaced-TIME of the home and deletes nothing.
An interrupted restore is not served: run the command again.

  FOLDER     Folder of a backup of \`divisor backup\`.
  --home     Home that is restored. Default: DIVISOR_HOME or ./var.
  --replace  Restore even if the home already contains documents.
  --database, --artifacts
             Restore to a database without documents and to a results storage. Default: DATABASE_URL and
             DIVISOR_ARTIFACTS.
  --json     One JSON object, the default on a pipe.

Exit statuses: 0 done; 75 services run on the home or the database; 78 the backup is damaged or was written by a newer version, or the home is not empty.
`;

interface RestoreSummary {
  readonly home: string;
  readonly documents: number;
  readonly files: number;
  readonly created_at: string;
  readonly aside: string | null;
}

/** Runs `divisor restore`: replaces a home by a backup. */
export async function restore(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { home, settings, words, values } = readHomeCommand(argv, environment, {
    words: [1, 1],
    help: RESTORE_HELP,
    flags: ['replace'],
  });
  assertTogether(settings, 'restore it by pg_restore, and the folders artifacts and stores of the home');
  const report = createHomeReport<RestoreSummary>(values.json);
  const backupPath = resolve(words[0]!);
  const onProgress = (fraction: number, file: string) =>
    report.progress(`${(fraction * 100).toFixed(0).padStart(3)}%  ${file}`);
  const { manifest, aside = undefined } =
    settings.database === undefined
      ? await restoreHome({ backup: backupPath, home, replace: values.replace === true, onProgress })
      : { manifest: await restoreCluster({ backup: backupPath, settings, onProgress: report.progress }) };
  const summary: RestoreSummary = {
    home: settings.database === undefined ? home : removeUrlPassword(settings.database),
    documents: manifest.documents,
    files: manifest.files.length,
    created_at: manifest.created_at,
    aside: aside ?? null,
  };
  report.print([summary], ['home', 'documents', 'files', 'backup of', 'held before'], (row) => [
    row.home,
    String(row.documents),
    String(row.files),
    row.created_at,
    row.aside ?? 'nothing',
  ]);
  return 0;
}
