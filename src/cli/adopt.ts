import { parseArgs } from 'node:util';
import { createHomeReport } from './home-report.js';
import { moveToNewLocation, adoptResults, type Adoption } from './moving/adopt-cluster.js';
import { readFirstSentence } from './flag-words.js';
import { readSettings } from './settings.js';
import { alignRight } from './terminal.js';
import { UsageError } from './usage-error.js';

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
