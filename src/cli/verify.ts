import { resolve } from 'node:path';
import { readManifest } from '#store/home/backup-manifest.js';
import { listHomeFolders } from '#store/home/home.js';
import { findDamagedFiles } from '#store/home/restore-home.js';
import { verifyHome, type VerifiedPart, type VerifyOptions } from '#store/home/verify-home.js';
import { openArtifactDigests } from '#store/artifact-digest.js';
import { openPostgresReader } from '#store/postgres/documents-reader.js';
import { assertMigrated } from '#store/postgres/migrate.js';
import { runWithClient } from '#store/postgres/open-documents.js';
import { createHomeReport } from './home-report.js';
import { readHomeCommand } from './home-command.js';
import { findRecordedLocation } from './moving/open-location.js';
import { readArtifactLocation } from './locations.js';
import type { Settings } from './settings.js';
import { alignRight } from './terminal.js';

export const VERIFY_HELP = `divisor verify [--home HOME] [--database URL [--artifacts STORAGE]] [--json]
divisor verify --backup FOLDER [--json]

Reads all documents, results and managed stores of a home, also while a service runs on it, and compares them with the hashes
that were stored when they were written. --backup verifies a backup against its manifest instead.

  --home      Folder of the service. Default: DIVISOR_HOME or ./var.
  --database  Database with the documents. Default: DATABASE_URL, otherwise the home.
  --artifacts Results storage. Default: DIVISOR_ARTIFACTS, otherwise the home.
  --backup    Backup that is verified instead of a home.
  --json      One JSON object per line, the default on a pipe.

Exit statuses: 0 everything is intact; 1 the listed parts are damaged; 78 the home is missing or cannot be opened.
`;

const EXIT_DAMAGED = 1;

/** Runs `divisor verify`: verifies every checksum. */
export async function verify(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { home, settings, values } = readHomeCommand(argv, environment, {
    words: [0, 0],
    help: VERIFY_HELP,
    flags: ['backup'],
  });
  const report = createHomeReport<VerifiedPart>(values.json);
  const parts =
    values.backup === undefined
      ? await verifyHome(listHomeFolders(home), {
          onProgress: (name) => report.progress(name),
          ...(await readRemoteOptions(settings)),
        })
      : [await verifyBackup(resolve(values.backup))];
  report.print(parts, ['part', 'count', 'MiB', 'damaged'], ({ part, count, bytes, damaged }) => [
    part,
    alignRight(String(count)),
    alignRight((bytes / 2 ** 20).toFixed(1)),
    alignRight(String(damaged.length)),
  ]);
  const damageTexts = parts.flatMap(({ part, damaged: damages }) =>
    damages.map(
      ({ name, reason, documents = [] }) =>
        `${part} ${name}${documents.length > 0 ? ` of ${documents.join(', ')}` : ''}: ${reason}`,
    ),
  );
  if (!report.asJson)
    process.stdout.write(damageTexts.length === 0 ? '\nEverything is intact.\n' : `\n${damageTexts.join('\n')}\n`);
  return damageTexts.length === 0 ? 0 : EXIT_DAMAGED;
}

/** Returns the options for parts outside the home. */
async function readRemoteOptions(settings: Settings): Promise<VerifyOptions> {
  const { database } = settings;
  if (database === undefined) return {};
  await runWithClient(database, assertMigrated);
  const location = readArtifactLocation(settings);
  if (location !== undefined) await findRecordedLocation(settings);
  return {
    openDocuments: () => openPostgresReader(database),
    ...(location && { digestArtifact: await openArtifactDigests(location) }),
  };
}

async function verifyBackup(folder: string): Promise<VerifiedPart> {
  const { files } = await readManifest(folder);
  const damagedFiles = await findDamagedFiles(folder, files);
  return {
    part: 'backup',
    count: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    damaged: damagedFiles.map((name) => ({ name, reason: 'the file is missing, or its checksum differs' })),
  };
}
