import { parseArgs } from 'node:util';
import { listNodes, type NodeEntry } from '#jobs/distributed/nodes.js';
import { listHomeFolders, openHome, requireFormat } from '#store/home/home.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { convertDocuments } from '#store/stored-forms.js';
import { readSettings } from '../settings/settings.js';
import { formatTable } from '../terminal.js';
import { readFirstSentence, UsageError } from '../usage.js';

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
