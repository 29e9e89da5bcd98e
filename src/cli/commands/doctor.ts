import { access, constants, readdir, readFile, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { callOnce } from '#base/once.js';
import { isLoopbackName } from '#base/addresses.js';
import { computeMemoryBudget } from '#jobs/node-limits.js';
import { describeChoice, openNumericEngine } from '#kernels/engines/open-engine.js';
import { openDuckDb } from '#market/formats/duckdb.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { summarisePartialDates } from '#services/stores/audits.js';
import { watchFreeSpace } from '#store/artifacts/free-space.js';
import { findHolder, HOME_FORMAT, type HomeFolders, listHomeFolders, readFormat } from '#store/home/home.js';
import { probeStore } from '#store/ownership/ownership.js';
import { assertGranted, assertMigrated, SCHEMA } from '#store/postgres/migrate.js';
import { runWithClient } from '#store/postgres/open-documents.js';
import { measureSharedSizes, type SharedSizes } from '#store/postgres/shared-sizes.js';
import { formatSettingsHelp, readArtifactLocation, readSettings, type Settings } from '../settings/settings.js';
import { readEngineVersion } from '../version.js';
import { createHomeReport } from './home-command.js';
import { findRecordedLocation } from './storage-copy.js';
import { type CheckedDocument, readCheckedDocuments } from './stored-ids.js';

export const DOCTOR_HELP = `divisor doctor [settings of the service] [--json]

Checks if a service can run on this machine and home with these settings, and prints one sentence for each check: versions,
home and its lock, database, documents, data, disk, memory, shared memory, address, keys, numerics, readers, calendars and
folders of data.

Settings. A flag has priority over the environment variable, and both have priority over the default:

${formatSettingsHelp()}
Exit statuses: 0 the service can run, possibly with warnings; 1 a fault must be corrected first.
`;

type State = 'ok' | 'warning' | 'fault';

interface Finding {
  readonly state: State;
  readonly subject: string;
  /** Result of the check, in whole sentences. */
  readonly says: string;
}

/** Reader of the stored documents. It reads them once and returns undefined if there are none. */
type Documents = () => Promise<readonly CheckedDocument[] | undefined>;

type Inspection = (settings: Settings, home: HomeFolders, documents: Documents) => Promise<Omit<Finding, 'subject'>>;

const createOk = (says: string) => ({ state: 'ok' as const, says });
const createWarning = (says: string) => ({ state: 'warning' as const, says });
const createFault = (says: string) => ({ state: 'fault' as const, says });

const EXIT_FAULT = 1;
const MIB = 2 ** 20;
const NODE_VERSION_MIN = [20, 19] as const;
/** First release line that still receives fixes. */
const NODE_SUPPORTED = 22;
/**
 * Recommended shared memory in bytes. About this much is needed to transfer a market of 5,000 securities and 20 years.
 */
const RECOMMENDED_SHARED_BYTES = 2 ** 30;
/** Recommended limit of open files. A service under full load needs it for its connections, files and threads. */
const RECOMMENDED_OPEN_FILES = 4096;
const RECOMMENDED_MEMORY_BYTES = 2 ** 30;

/** Runs `divisor doctor`: prints one sentence about each dependency of the service. */
export async function runDoctor(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const json = argv.includes('--json');
  const { settings } = readSettings(
    argv.filter((word) => word !== '--json'),
    environment,
  );
  const home = listHomeFolders(settings.home);
  const readDocuments = callOnce(() => readCheckedDocuments(home, settings.database));
  const findings: Finding[] = [];
  for (const [subject, look] of Object.entries(INSPECTIONS)) {
    const result = await look(settings, home, readDocuments).catch((failure: unknown) =>
      createFault(formatSentence(failure)),
    );
    findings.push({ subject, ...result });
  }
  createHomeReport<Finding>(json).print(findings, ['', 'subject', 'finding'], ({ state, subject, says }) => [
    state,
    subject,
    says,
  ]);
  return findings.some(({ state }) => state === 'fault') ? EXIT_FAULT : 0;
}

function formatSentence(failure: unknown): string {
  const message = failure instanceof Error ? failure.message : String(failure);
  return message.endsWith('.') ? message : `${message}.`;
}

const INSPECTIONS: Readonly<Record<string, Inspection>> = {
  versions: async () => {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
    const sentence = `Divisor ${readEngineVersion()} on Node ${process.versions.node}, ${process.platform} ${process.arch}.`;
    if (major < NODE_VERSION_MIN[0] || (major === NODE_VERSION_MIN[0] && minor < NODE_VERSION_MIN[1]))
      return createFault(`${sentence} It needs Node ${NODE_VERSION_MIN.join('.')} or newer.`);
    return major < NODE_SUPPORTED
      ? createWarning(`${sentence} This release line of Node is no longer maintained; use 24.`)
      : createOk(sentence);
  },
  home: async (_settings, home) => {
    const result = await stat(home.path).catch(() => undefined);
    if (result === undefined)
      return canWrite(dirname(home.path)).then((isWritable) =>
        isWritable
          ? createOk(`${home.path} will be created at the first start.`)
          : createFault(`${home.path} is absent and cannot be created here.`),
      );
    if (!result.isDirectory()) return createFault(`${home.path} is not a folder.`);
    if (!(await canWrite(home.path))) return createFault(`${home.path} cannot be written by this user.`);
    const format = await readFormat(home);
    if (format === undefined) return createOk(`${home.path} is empty or new.`);
    if (format === 'restoring') return createFault(`A restore or copy into ${home.path} is incomplete; run it again.`);
    if (format > HOME_FORMAT)
      return createFault(`${home.path} has format ${format}; this engine reads formats up to ${HOME_FORMAT}.`);
    const sentence = `${home.path} has format ${format}${format < HOME_FORMAT ? ` and will be migrated to ${HOME_FORMAT} at the next start` : ''}.`;
    return (result.mode & 0o077) === 0
      ? createOk(sentence)
      : createWarning(`${sentence} Other users may read it; run chmod 700.`);
  },
  lock: async (_settings, home) => {
    const holder = await findHolder(home.path);
    if (holder === undefined) return createOk('No process serves the home.');
    if (holder.isRunning === true) return createOk(`Process ${holder.pid} serves the home.`);
    if (holder.isRunning === false)
      return createOk(`Process ${holder.pid} served the home and is gone; the next start takes over.`);
    return createWarning(
      `A process of another container or machine (${holder.pid} there) uses the home or left its lock; the next start waits until this is certain.`,
    );
  },
  database: async ({ database }) => {
    if (database === undefined) return createOk('Documents are in the home.');
    await runWithClient(database, async (client) => {
      await assertMigrated(client);
      await assertGranted(client);
    });
    const sizes = await readSizes(database);
    const sentence = 'The database answers, has the tables of this version, and its role has the rights to serve.';
    return createOk(
      sizes === undefined ? sentence : `${sentence} It occupies ${formatMebibytes(sizes.databaseBytes)} MiB.`,
    );
  },
  documents: async (_settings, _home, documents) => {
    const entries = await documents();
    if (entries === undefined) return createOk('There are no documents yet.');
    const count = entries.length;
    const damagedCount = entries.filter(({ isReadable }) => !isReadable).length;
    return damagedCount === 0
      ? createOk(`${count} documents, every checksum is correct.`)
      : createWarning(`${damagedCount} of ${count} documents cannot be read; \`divisor verify\` lists them.`);
  },
  data: async (_settings, _home, documents) => {
    const servedStore = (await documents().catch(() => []))?.find(({ dataset }) => dataset?.active)?.dataset;
    if (servedStore == null) return createOk('No data store is served.');
    const { total, latest } = summarisePartialDates(servedStore);
    const sentence = `The store ${servedStore.store_id} is served, up to ${servedStore.end ?? 'no date yet'}.`;
    if (total === 0) return createOk(`${sentence} No date lacks bars of some securities.`);
    return createWarning(
      `${sentence} ${formatCount(total, 'date has', 'dates have')} bars of only some securities, the latest ${latest.join(', ')}; \`divisor audit ${servedStore.store_id}\` lists them.`,
    );
  },
  artifacts: async (settings) => {
    if (settings.artifacts === undefined) return createOk('Results are in the home.');
    const sentence = `Results can be written, read and removed; the test took ${await probeArtifacts(settings)} ms.`;
    const sizes = settings.database === undefined ? undefined : await readSizes(settings.database);
    if (sizes === undefined) return createOk(sentence);
    const { results, resultBytes } = sizes;
    return createOk(
      `${sentence} Documents refer to ${formatCount(results, 'result', 'results')} of ${formatMebibytes(resultBytes)} MiB.`,
    );
  },
  backups: async ({ database, artifacts }, home) => {
    if (artifacts !== undefined)
      return createOk('`divisor backup FOLDER` copies database and results, even while services run.');
    if (database !== undefined) return createOk('The database server backs up the documents.');
    const newestBackup = (await readdir(home.backups).catch(() => []))
      .filter((name) => !name.startsWith('.'))
      .sort()
      .at(-1);
    return createOk(
      newestBackup === undefined
        ? 'There is no backup in the home; `divisor backup FOLDER` creates one, preferably on another disk.'
        : `The newest backup in the home is ${newestBackup}.`,
    );
  },
  disk: async (_settings, home) => {
    const folder = (await stat(home.path).catch(() => undefined)) === undefined ? dirname(home.path) : home.path;
    const { freeBytes, markBytes } = await watchFreeSpace(folder).measure();
    const sentence = `${formatMebibytes(freeBytes)} MiB are free; below ${formatMebibytes(markBytes)} MiB writes are refused.`;
    if (freeBytes < markBytes) return createFault(sentence);
    return freeBytes < 4 * markBytes ? createWarning(sentence) : createOk(sentence);
  },
  memory: async () => {
    const budget = computeMemoryBudget();
    const sentence = `Running jobs may use ${formatMebibytes(budget)} MiB in total.`;
    return budget < RECOMMENDED_MEMORY_BYTES
      ? createWarning(`${sentence} Markets of thousands of securities need more.`)
      : createOk(sentence);
  },
  'shared memory': async () => {
    const result = await statfs('/dev/shm').catch(() => undefined);
    if (result === undefined) return createOk('There is no /dev/shm; markets are shared through temporary files.');
    const freeBytes = result.bavail * result.bsize;
    const sentence = `${formatMebibytes(freeBytes)} MiB are free in /dev/shm, where markets are shared with threads.`;
    return freeBytes < RECOMMENDED_SHARED_BYTES
      ? createWarning(
          `${sentence} Larger markets use temporary files, which are slower; run the container with --shm-size=1g.`,
        )
      : createOk(sentence);
  },
  processors: async ({ workers }) => {
    const cores = availableParallelism();
    return workers > cores
      ? createWarning(`${workers} workers on ${cores} cores: more threads than cores do not increase the speed.`)
      : createOk(`${workers} workers on ${cores} cores.`);
  },
  'open files': async () => {
    const limitsText = await readFile('/proc/self/limits', 'utf8').catch(() => '');
    const softLimit = Number(/^Max open files\s+(\d+)/m.exec(limitsText)?.[1] ?? Number.NaN);
    if (Number.isNaN(softLimit)) return createOk('The limit of open files is unknown on this system.');
    return softLimit < RECOMMENDED_OPEN_FILES
      ? createWarning(
          `At most ${softLimit} files may be open; 2,000 connections and their files need ${RECOMMENDED_OPEN_FILES}.`,
        )
      : createOk(`Up to ${softLimit} files may be open.`);
  },
  address: async ({ host, port }) => {
    const code = await findListenError(host, port);
    if (code === undefined) return createOk(port === 0 ? `${host} has a free port.` : `${host} port ${port} is free.`);
    if (code !== 'EADDRINUSE') return createFault(`The service cannot listen on ${host} port ${port}: ${code}.`);
    const version = await readVersionAt(host, port);
    return version === undefined
      ? createFault(`Another process listens on ${host} port ${port}.`)
      : createOk(`Divisor ${version} listens on ${host} port ${port}.`);
  },
  keys: async ({ host, apiKeys }, _home, documents) => {
    // The check of the documents reports their errors.
    const entries = (await documents().catch(() => [])) ?? [];
    const storedKeys = entries.filter(({ kind }) => kind === 'key').length;
    const count = storedKeys + apiKeys.length;
    if (count === 0 && !isLoopbackName(host))
      return createFault(
        `Without a key the service does not listen on ${host}: create one with \`divisor keys create\`.`,
      );
    return createOk(
      count === 0
        ? 'There is no key: the service accepts requests only from this machine.'
        : `${storedKeys} keys in the home, ${apiKeys.length} in the environment.`,
    );
  },
  numerics: async ({ numerics }) => {
    const choice = await openNumericEngine(numerics);
    return choice.asAsked ? createOk(describeChoice(choice)) : createWarning(describeChoice(choice));
  },
  readers: async () => {
    const database = await openDuckDb({ files: [] });
    await database.connection.run('SELECT 1');
    database.close();
    return createOk('The reader of Parquet and CSV works.');
  },
  calendars: async () => createOk(`${openCalendars().list().length} exchange calendars.`),
  'data roots': async ({ dataRoots, home }) => {
    const absentTools: string[] = [];
    // A home that does not exist is created at the first start. It has its own line in the report.
    for (const root of dataRoots) if (root !== home && !(await canRead(root))) absentTools.push(root);
    const sentence = `Folder stores and file databases must be below ${dataRoots.join(', ')}; --data-roots or DIVISOR_DATA_ROOTS sets other folders.`;
    return absentTools.length === 0
      ? createOk(sentence)
      : createWarning(`${sentence} Unreadable folders: ${absentTools.join(', ')}.`);
  },
};

const formatCount = (count: number, singular: string, plural: string): string =>
  `${count} ${count === 1 ? singular : plural}`;

/** Reads the sizes of the shared storage. Returns undefined if they are unavailable, which is not a fault. */
const readSizes = (database: string): Promise<SharedSizes | undefined> =>
  runWithClient(database, (client) =>
    measureSharedSizes(async (text) => (await client.query(text)).rows, `"${SCHEMA}"`),
  ).catch(() => undefined);

/** Writes, reads and removes a test object in the results location. @returns duration in ms */
async function probeArtifacts(settings: Settings): Promise<number> {
  const location = readArtifactLocation(settings)!; // The caller has checked that the settings name a results location.
  await findRecordedLocation(settings);
  const start = performance.now();
  await probeStore(location);
  return Math.ceil(performance.now() - start);
}

const formatMebibytes = (bytes: number): string => Math.floor(bytes / MIB).toLocaleString('en-US');
const canWrite = (path: string) =>
  access(path, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
const canRead = (path: string) =>
  access(path, constants.R_OK | constants.X_OK).then(
    () => true,
    () => false,
  );

/** Tries to listen on an address and returns the error code. Returns undefined if it succeeds. */
function findListenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (failure: NodeJS.ErrnoException) => resolve(failure.code ?? failure.message));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

/** Returns the version of the service at an address. */
async function readVersionAt(host: string, port: number): Promise<string | undefined> {
  const name = host.includes(':') ? `[${host}]` : host;
  const response = await fetch(`http://${name}:${port}/health/live`, { signal: AbortSignal.timeout(2000) }).catch(
    () => undefined,
  );
  await response?.body?.cancel();
  return response?.headers.get('x-engine-version') ?? undefined;
}
