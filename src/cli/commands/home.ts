import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { removeUrlPassword } from '#base/addresses.js';
import { listNodes, type NodeEntry } from '#jobs/distributed/nodes.js';
import { digestFile, makeFolder } from '#store/artifacts/durable-files.js';
import {
  assertFree,
  assertIntact,
  type BackupFile,
  backUpHome,
  type BackupManifest,
  findDamagedFiles,
  finishBackup,
  readManifest,
  restoreHome,
} from '#store/home/backup.js';
import { HOME_FORMAT, type HomeFolders, listHomeFolders, openHome, requireFormat } from '#store/home/home.js';
import { openArtifactDigests, type VerifiedPart, verifyHome, type HomeVerifyOptions } from '#store/home/verify.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { listArtifactRefs as artifactsIn } from '#store/lmdb/documents-reader.js';
import { probeDocuments } from '#store/lmdb/probe-documents.js';
import {
  type AdoptOptions,
  assertStore,
  createStoreId,
  markNewStore,
  recordNewStore,
  takeOverStore,
} from '#store/ownership/ownership.js';
import { DOCUMENT_KINDS, formatTimestamp } from '#store/port.js';
import { assertMigrated } from '#store/postgres/migrate.js';
import {
  type DatabaseDocuments,
  openDatabaseDocuments,
  openPostgresReader,
  openSnapshot,
  runWithClient,
} from '#store/postgres/open-documents.js';
import { EXIT_CONFIGURATION, StartRefusal } from '#store/start-refusal.js';
import { convertDocuments } from '#store/stored-forms.js';
import { readArtifactLocation, readSettings, type Settings } from '../settings/settings.js';
import { alignRight, formatTable } from '../terminal.js';
import { readFirstSentence, UsageError } from '../usage.js';
import { readEngineVersion } from '../version.js';
import { assertTogether, createHomeReport, readHomeCommand } from './home-command.js';
import {
  type CopiedKind,
  type CopyClock,
  copyDocuments,
  createFileMove,
  type FileLocation,
  type FileMove,
  findRecordedLocation,
  openRecordedArtifacts,
  openDatabaseLocation,
  openFiles,
  openHomeLocation,
  type OpenLocation,
} from './storage-copy.js';

/** Result of an adoption: the results that documents refer to. */
interface Adoption {
  readonly store_id: string;
  /** Number of results that documents name. */
  readonly named: number;
  /** Names of missing or damaged results. */
  readonly missing: readonly string[];
}

/**
 * Makes a database the owner of the results location in the settings. Used after the database was restored to an
 * earlier time. Results that its documents refer to are restored from the trash.
 * @throws StartRefusal 75 while a service uses the location or the database, 78 if the location belongs to another
 * store
 */
function adoptResults(settings: Settings, options?: Pick<AdoptOptions, 'observeMs'>): Promise<Adoption> {
  return runWithDatabase(settings, async (documents) => {
    const location = readArtifactLocation(settings)!; // the command requires the location together with the database
    const storeId = await takeOverStore(documents, location, { ...options, identity: documents.identity });
    const { files, close } = await openFiles(settings, storeId);
    try {
      const referencedArtifacts = [...(await documents.referencedArtifacts())];
      return {
        store_id: storeId,
        named: referencedArtifacts.length,
        missing: await files.artifacts.restore(referencedArtifacts),
      };
    } finally {
      await close();
    }
  });
}

/**
 * Creates a separate results location for a database. Copies every result that its documents refer to and verifies each
 * hash. The previous location does not change.
 * @param to settings that name the new location
 * @throws StartRefusal 75, 78 if the new location belongs to another store or the previous location not to the database
 */
function moveToNewLocation(settings: Settings, to: Settings): Promise<Adoption> {
  return runWithDatabase(settings, async (documents) => {
    const { identity } = documents;
    const oldId = await assertStore(documents, readArtifactLocation(settings)!);
    if (oldId === undefined)
      throw new StartRefusal(EXIT_CONFIGURATION, 'The database has no results storage yet: start a service on it.');
    const storeId = createStoreId(oldId, identity, to.artifacts!);
    await markNewStore(readArtifactLocation(to)!, storeId);
    const source = await openFiles(settings, oldId);
    const target = await openFiles(to, storeId);
    try {
      const fileMove = await createFileMove(source.files, target.files, true);
      await copyNamedDocuments(documents, fileMove);
      await recordNewStore(documents, storeId);
      return { store_id: storeId, named: fileMove.count, missing: fileMove.damaged };
    } finally {
      await source.close();
      await target.close();
    }
  });
}

async function copyNamedDocuments(documents: DatabaseDocuments, fileMove: FileMove): Promise<void> {
  for (const kind of DOCUMENT_KINDS)
    for (const id of await documents.ids(kind)) {
      const storedDocument = await documents.get(kind, id);
      if (storedDocument !== undefined && !('unreadable' in storedDocument))
        await fileMove.copy(artifactsIn(storedDocument.body));
    }
}

/**
 * Runs work with the documents of the database in the settings.
 * @throws StartRefusal 75 while a service uses the database
 */
async function runWithDatabase<T>(settings: Settings, work: (documents: DatabaseDocuments) => Promise<T>): Promise<T> {
  const access = { url: settings.database!, migrate: false, moves: 'from' as const };
  const documents = await openDatabaseDocuments({
    place: access,
    onFailure(cause) {
      throw cause;
    },
  });
  try {
    return await work(documents);
  } finally {
    await documents.close();
  }
}

export const ADOPT_HELP = `divisor adopt --take-over [--json]
divisor adopt --new-place STORAGE [--json]

Sets which database owns a results storage. On a copy of a database, a service refuses to start (exit status 78) while it
uses the storage of the original database, because it would remove results of the original.

--new-place creates a separate storage for the copy. It copies every result to which documents of the database refer,
verifies each hash, and does not change the old storage. Then start the services with --artifacts STORAGE.
--take-over makes the database the owner of the storage in --artifacts, and restores results from the trash. Use it after
you have restored the database to an earlier time. Stop every service of the other database first.

No service can use the database during the adoption. You can run an interrupted adoption again.

  --take-over   The other database is no longer in use.
  --new-place   file:///folder or s3://bucket/prefix: an empty folder or prefix.
  --database    postgres://user:password@host:5432/name. Default: DATABASE_URL.
  --artifacts   Results storage of the database. Default: DIVISOR_ARTIFACTS.
  --json        One JSON object per line, the default on a pipe.

Exit statuses: 0 done; 1 done, but the listed results are missing or damaged; 75 a service uses the database or
the storage; 78 the storage belongs to another database.
`;

const EXIT_MISSING = 1;

/** Runs `divisor adopt`: makes a database the owner of a results location. */
export async function adopt(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { flags, newPlace, json } = parseArguments(argv);
  const { settings } = readSettings(flags, environment);
  if (settings.database === undefined || settings.artifacts === undefined)
    throw new UsageError(
      `adopt needs a database and its results storage: --database (DATABASE_URL) and --artifacts (DIVISOR_ARTIFACTS).\n\n${ADOPT_HELP}`,
    );
  const adoption = await (newPlace === undefined
    ? adoptResults(settings)
    : moveToNewLocation(settings, readSettings([...flags, '--artifacts', newPlace], environment).settings));
  createHomeReport<Adoption>(json).print(
    [adoption],
    ['store', 'results', 'missing'],
    ({ store_id: id, named, missing }) => [id, alignRight(String(named)), missing.join(', ') || 'none'],
  );
  return adoption.missing.length > 0 ? EXIT_MISSING : 0;
}

function parseArguments(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = {
    'take-over': { type: 'boolean' },
    'new-place': text,
    database: text,
    artifacts: text,
    json: { type: 'boolean' },
  } as const;
  try {
    const { values } = parseArgs({ args: [...argv], options, strict: true });
    const { 'take-over': isTakeOver = false, 'new-place': newPlace, json } = values;
    if (isTakeOver === (newPlace !== undefined)) throw new Error('Specify either --take-over or --new-place.');
    const flags = (['database', 'artifacts'] as const).flatMap((name) =>
      values[name] === undefined ? [] : [`--${name}`, values[name]],
    );
    return { flags, newPlace, json };
  } catch (failure) {
    throw new UsageError(`${readFirstSentence(failure, Object.keys(options))}\n\n${ADOPT_HELP}`, { cause: failure });
  }
}

interface ClusterBackupOptions {
  readonly settings: Settings;
  /** Path of an absent or empty folder. */
  readonly target: string;
  readonly engineVersion: string;
  readonly onProgress: (message: string) => void;
}

interface ClusterBackup {
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
async function backUpCluster(options: ClusterBackupOptions): Promise<ClusterBackup> {
  const { settings, target } = options;
  await assertFree(target);
  await runWithClient(settings.database!, assertMigrated);
  const sharedFiles = await openRecordedArtifacts(settings);
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

export const COPY_HELP = `divisor copy --from HOME --to URL [--artifacts STORAGE] [--json]
divisor copy --from URL --to HOME [--artifacts STORAGE] [--json]

Copies the documents of a home into a database, or from a database into a home: indices, runs, jobs and keys, with their
times. No service can run on either of them during the copy. With --artifacts, the command also copies results and managed
stores, to or from the results storage that machines share. Without it, they remain in the home. The command reads each
copied document and file again and verifies its hash. An interrupted copy is not served: run the command again. After a
copy into a database, the folder documents-TIME of the home contains the previous documents of the home.

  --from, --to  A folder, or postgres://user:password@host:5432/name; DATABASE_URL is the default of the database.
  --artifacts   Results storage of the database: file:///folder or s3://bucket/prefix. Default: DIVISOR_ARTIFACTS.
  --json        One JSON object per line, the default on a pipe.

Exit statuses: 0 done; 1 done, except for the listed documents and files that cannot be read; 75 a service runs on the
home or the database; 78 the target already contains documents.
`;

/** Copied documents of one kind, or copied files. */
type CopiedPart = Omit<CopiedKind, 'kind'> & { readonly kind: CopiedKind['kind'] | 'artifacts' };

const EXIT_UNREADABLE = 1;

/** Runs `divisor copy`: copies documents from a home to a database, or back. */
export async function copy(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { from, to, artifacts, json } = readLocations(argv, environment);
  const report = createHomeReport<CopiedPart>(json);
  const clock: CopyClock = { ms: 0 };
  const openLocation = (location: string, isTarget: boolean): Promise<OpenLocation> => {
    if (!isDatabase(location)) return openHomeLocation(location, clock, isTarget);
    const flags = ['--database', location, ...(artifacts === undefined ? [] : ['--artifacts', artifacts])];
    return openDatabaseLocation(readSettings(flags, environment).settings, clock, isTarget);
  };
  const source = await openLocation(from, false);
  let isMoved = false;
  try {
    const target = await openLocation(to, true);
    let copiedParts: readonly CopiedPart[];
    try {
      const isContinued = await target.begin();
      const files = source.files && target.files && (await createFileMove(source.files, target.files, isContinued));
      const documents = { source: source.documents, target: target.documents, clock, files };
      copiedParts = [...(await copyDocuments({ ...documents, onKind: report.progress })), ...listCopiedFiles(files)];
      await target.finish();
    } finally {
      await target.close(false);
    }
    report.print(copiedParts, ['kind', 'copied', 'unreadable'], ({ kind, copied: count, unreadable }) => [
      kind,
      alignRight(String(count)),
      unreadable.join(', ') || 'none',
    ]);
    isMoved = true;
    return copiedParts.some(({ unreadable }) => unreadable.length > 0) ? EXIT_UNREADABLE : 0;
  } finally {
    await source.close(isMoved);
  }
}

function listCopiedFiles(files: FileMove | undefined): CopiedPart[] {
  if (files === undefined) return [];
  const { count, damaged } = files;
  return [{ kind: 'artifacts', copied: count - damaged.length, unreadable: damaged }];
}

function readLocations(argv: readonly string[], environment: NodeJS.ProcessEnv) {
  const text = { type: 'string' } as const;
  const options = { from: text, to: text, artifacts: text, json: { type: 'boolean' } } as const;
  try {
    const { values } = parseArgs({ args: [...argv], options, strict: true });
    const { from = environment['DATABASE_URL'], to = environment['DATABASE_URL'], artifacts, json } = values;
    if (from !== undefined && to !== undefined && isDatabase(from) !== isDatabase(to))
      return { from, to, artifacts, json };
  } catch (failure) {
    throw new UsageError(`${readFirstSentence(failure, Object.keys(options))}\n\n${COPY_HELP}`, { cause: failure });
  }
  throw new UsageError(`One of --from and --to must be a home, the other a database.\n\n${COPY_HELP}`);
}

const isDatabase = (location: string): boolean => /^postgres(ql)?:/.test(location);

interface ClusterRestoreOptions {
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
async function readRemoteOptions(settings: Settings): Promise<HomeVerifyOptions> {
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

export const MIGRATE_HELP = `divisor migrate [--database URL] [--home PATH]

Creates the tables of a database, or migrates them to this version, and converts the documents of releases before 0.7.0.
Services of release 0.7.0 or later continue to run. Without a database, converts the documents of a home that no service
uses. Nothing is lost: an interrupted migration is continued by the next one. A store of a newer version is refused.

  --database  postgres://user:password@host:5432/name. Default: DATABASE_URL, which is not visible in the list of processes.
  --home      Folder of the home. Default: DIVISOR_HOME.

Exit statuses: 0 done; 75 the database cannot be reached, or a service uses the home; 78 the database is older than PostgreSQL 15, is not UTF-8, there is no home, or the store is of a newer version.
`;

/** Runs `divisor migrate`: migrates the tables of a database, and converts the documents of earlier releases. */
export async function runMigration(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings } = readSettings(readFlags(argv), environment);
  const { database } = settings;
  if (database === undefined) {
    process.stdout.write(describeConversion(await convertHome(settings.home)));
    return 0;
  }
  const { migrateDatabase } = await import('#store/postgres/open-documents.js');
  const { from, to, converted } = await migrateDatabase({ url: database });
  const sentence =
    from === to ? `The tables are up to date: version ${to}.` : `The tables were migrated to version ${to}.`;
  process.stdout.write(`${sentence}\n${converted === 0 ? '' : describeConversion(converted)}`);
  return 0;
}

const describeConversion = (count: number): string =>
  count === 0
    ? 'The documents are up to date.\n'
    : `${count} ${count === 1 ? 'document was' : 'documents were'} converted.\n`;

/** Converts the documents of a home. @returns number of documents of earlier releases */
async function convertHome(path: string): Promise<number> {
  await requireFormat(listHomeFolders(path));
  const home = await openHome(path);
  try {
    const documents = await openDocumentStore({ folder: home.documents, backups: home.backups });
    try {
      return await convertDocuments(documents);
    } finally {
      await documents.close();
    }
  } finally {
    await home.close();
  }
}

function readFlags(argv: readonly string[]): string[] {
  const options = { database: { type: 'string' }, home: { type: 'string' } } as const;
  try {
    const { values } = parseArgs({ args: [...argv], options, strict: true });
    return Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
  } catch (failure) {
    throw new UsageError(`${readFirstSentence(failure, Object.keys(options))}\n\n${MIGRATE_HELP}`, { cause: failure });
  }
}

export const NODES_HELP = `divisor nodes [--database URL] [--json]

Lists the processes that use a database. For each process, it shows the role, the running jobs,
the jobs of other nodes to which it contributes, the time since its last heartbeat, and the
difference of its clock from the clock of the database. A difference of more than 2 s is a fault.
With more than 30 s, a process cannot start. One process removes the orphaned results of the
results storage; the column orphans shows which.

  --database  postgres://user:password@host:5432/name. Default: DATABASE_URL, which is not visible in the list of processes.
  --json      One JSON object per line.

Exit statuses: 0 done; 75 the database cannot be reached; 78 the database has no tables of this version.
`;

const TITLES = [
  'node',
  'role',
  'version',
  'started',
  'silent',
  'heavy',
  'light',
  'memory',
  'market',
  'stale',
  'schema',
  'clock',
  'orphans',
  'lacks',
  'jobs',
  'helps',
];

/** Runs `divisor nodes`: lists the nodes of a database. */
export async function runNodes(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { database, json } = readNodeFlags(argv);
  const { settings } = readSettings(database === undefined ? [] : ['--database', database], environment);
  if (settings.database === undefined)
    throw new UsageError(`A database is required: --database, or DATABASE_URL.\n\n${NODES_HELP}`);
  const list = await listNodes({ url: settings.database });
  const rows = list.map((entry) => [
    entry.node,
    entry.role,
    entry.version,
    entry.started_at.slice(0, 19),
    `${entry.silent_seconds.toFixed(1)} s${entry.is_lost ? ' lost' : ''}`,
    String(entry.places.heavy),
    String(entry.places.light),
    formatMemory(entry),
    entry.market?.slice(0, 12) ?? '-',
    String(entry.stale),
    String(entry.protocol),
    formatClockOffset(entry),
    entry.removes_orphans === true ? 'removes' : '-',
    entry.lacks.join(' ') || '-',
    entry.jobs.join(' ') || '-',
    entry.helps.join(' ') || '-',
  ]);
  process.stdout.write(
    json ? list.map((entry) => `${JSON.stringify(entry)}\n`).join('') : formatTable([TITLES, ...rows], 0),
  );
  return 0;
}

/** Formats the memory that a node has reserved for its jobs, and the total memory. */
function formatMemory({ reserved_bytes: reservedBytes, memory_bytes: memoryBytes }: NodeEntry): string {
  const formatGibibytes = (bytes: number): string => (bytes / 2 ** 30).toFixed(1);
  return memoryBytes === null ? '-' : `${formatGibibytes(reservedBytes)}/${formatGibibytes(memoryBytes)} GiB`;
}

/** Formats how far the clock of a node differs from the clock of the database, in seconds. */
const formatClockOffset = ({ clock_offset_ms: ms }: NodeEntry): string =>
  ms === null ? '-' : `${ms < 0 ? '' : '+'}${(ms / 1000).toFixed(1)} s`;

function readNodeFlags(argv: readonly string[]): { readonly database: string | undefined; readonly json: boolean } {
  const options = { database: { type: 'string' }, json: { type: 'boolean', default: false } } as const;
  try {
    const { values } = parseArgs({ args: [...argv], options, strict: true });
    return { database: values.database, json: values.json };
  } catch (failure) {
    throw new UsageError(`${readFirstSentence(failure, Object.keys(options))}\n\n${NODES_HELP}`, { cause: failure });
  }
}
