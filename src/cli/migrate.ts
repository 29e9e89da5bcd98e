import { parseArgs } from 'node:util';
import { migrateDatabase } from '#store/postgres/open-documents.js';
import { readFirstSentence } from './flag-words.js';
import { readSettings } from './settings.js';
import { UsageError } from './usage-error.js';

export const MIGRATE_HELP = `divisor migrate [--database URL]

Creates the tables of a database, or migrates them to this version. No data is lost or rewritten. Services of the
previous version continue to run. A database of a newer version is refused.

  --database  postgres://user:password@host:5432/name. Default: DATABASE_URL, which is not visible in the list of processes.

Exit statuses: 0 done; 75 the database cannot be reached; 78 the database is older than PostgreSQL 15, is not UTF-8, or has the tables of a newer version.
`;

/** Runs `divisor migrate`: creates or migrates the tables of a database. */
export async function migrate(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings } = readSettings(readFlags(argv), environment);
  if (settings.database === undefined)
    throw new UsageError(`A database is required: --database, or DATABASE_URL.\n\n${MIGRATE_HELP}`);
  const { from, to } = await migrateDatabase({ url: settings.database });
  const sentence =
    from === to ? `The tables are up to date: version ${to}.` : `The tables were migrated to version ${to}.`;
  process.stdout.write(`${sentence}\n`);
  return 0;
}

function readFlags(argv: readonly string[]): string[] {
  const options = { database: { type: 'string' } } as const;
  try {
    const { values } = parseArgs({ args: [...argv], options, strict: true });
    return values.database === undefined ? [] : ['--database', values.database];
  } catch (failure) {
    throw new UsageError(`${readFirstSentence(failure, Object.keys(options))}\n\n${MIGRATE_HELP}`, { cause: failure });
  }
}
