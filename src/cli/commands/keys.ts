import { parseArgs } from 'node:util';
import { type Scope, SCOPES } from '#contract/route.js';
import { PREFIX_PATTERN, PREFIXES_MAX } from '#domain/definition/reach.js';
import { createKeys, isAddressRange, issueKey, type NewKey } from '#services/keys/keys.js';
import { formatTimestamp } from '#store/port.js';
import { listHomeFolders, openHome } from '#store/home/home.js';
import { openDocumentsAlone } from '#store/open-store.js';
import { executeKeyCommand, type KeyCommand, type KeyResponse, requestFromService } from '../compose/key-socket.js';
import { readDatabaseSettings, readSettings, type Settings } from '../settings/settings.js';
import { formatTable } from '../terminal.js';
import { readFirstSentence, UsageError } from '../usage.js';
import { assertSingleLocation, formatLocationFlags } from './home-command.js';

/** Lifetime of an administrator's key in days. A key must be replaced every quarter. */
const ADMIN_DAYS = 90;
const DAY_MS = 86_400_000;

export const KEYS_HELP = `divisor keys create --name NAME [--scopes read,write,...] [--expires YYYY-MM-DD|never] [--prefixes a-,b-]
                    [--from ADDRESS,...] [--stateless] [STORAGE]
divisor keys list [STORAGE]
divisor keys rotate KEYID [--overlap 24h] [STORAGE]
divisor keys revoke KEYID [STORAGE]

Creates, lists, replaces and revokes the API keys of a home, also while a service runs on it. Changes take effect within a
second, and on the port of a worker within three seconds.
A key is printed once, when it is created. After the first key of a home, every request needs a key.

  --name       Purpose or owner of the key, at most 64 characters.
  --scopes     Scopes of the key: ${SCOPES.join(', ')}. Default: read. admin includes all other scopes.
  --expires    First day, in UTC, on which the key is no longer accepted, or never. Default: never; with the scope admin, in ${ADMIN_DAYS} days.
  --prefixes   Prefixes of the ids that the key can read, write and run, separated by commas. Default: all ids.
  --from       Addresses and ranges that can use the key, separated by commas. Default: all addresses.
  --overlap    Time for which the old key is accepted in addition to its successor: a number followed by m, h or d. Default: 24h.
  --stateless  Store nothing: print the key and its entry for DIVISOR_API_KEYS.
  --home       Folder of the service. Default: DIVISOR_HOME or ./var.
  --database   Database with the documents. Default: DATABASE_URL, otherwise the home.
  --artifacts  Results storage. Default: DIVISOR_ARTIFACTS, otherwise the home.

STORAGE is --home, or --database and --artifacts for several services.
`;

const OPTIONS = {
  name: { type: 'string' },
  scopes: { type: 'string' },
  expires: { type: 'string' },
  prefixes: { type: 'string' },
  from: { type: 'string' },
  overlap: { type: 'string' },
  stateless: { type: 'boolean' },
  home: { type: 'string' },
  database: { type: 'string' },
  artifacts: { type: 'string' },
} as const;

const EXIT_REFUSED = 1;

/** Runs `divisor keys`: creates, lists and revokes the keys of a home. */
export async function runKeys(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = parseArguments(argv);
  const [verb, ...words] = positionals;
  assertSingleLocation(values, environment);
  const { settings } = readSettings(formatLocationFlags(values), environment);
  if (verb === 'create' && words.length === 0) {
    const key = parseNewKey(values);
    if (values.stateless === true) return printStateless(key);
    return print(await executeCommand(settings, { verb, key }));
  }
  if (verb === 'list' && words.length === 0) return print(await executeCommand(settings, { verb }));
  const [id] = words;
  if (verb === 'rotate' && id !== undefined && words.length === 1)
    return print(await executeCommand(settings, { verb, id, overlapMs: parseDurationMs(values.overlap ?? '24h') }));
  if (verb === 'revoke' && id !== undefined && words.length === 1)
    return print(await executeCommand(settings, { verb, id }));
  throw new UsageError(`The key commands are\n\n${KEYS_HELP}`);
}

function parseArguments(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: true });
  } catch (failure) {
    throw new UsageError(readFirstSentence(failure, Object.keys(OPTIONS)), { cause: failure });
  }
}

interface NewKeyFlags {
  readonly name?: string;
  readonly scopes?: string;
  readonly expires?: string;
  readonly prefixes?: string;
  readonly from?: string;
  readonly stateless?: boolean;
}

function parseNewKey({ name, scopes = 'read', expires, prefixes, from, stateless }: NewKeyFlags): NewKey {
  if (name === undefined || !/^[^\p{C}:,]{1,64}$/u.test(name)) {
    throw new UsageError('--name is required: 1 to 64 characters without colons, commas and control characters.');
  }
  const requestedScopes = scopes.split(',').map((scope) => scope.trim());
  const isScope = (scope: string): scope is Scope => (SCOPES as readonly string[]).includes(scope);
  const unknownScopes = requestedScopes.filter((scope) => !isScope(scope));
  if (unknownScopes.length > 0)
    throw new UsageError(`Unknown scope ${unknownScopes.join(', ')}; the scopes are ${SCOPES.join(', ')}.`);
  return {
    name,
    scopes: [...new Set(requestedScopes.filter(isScope))],
    expires: parseExpiry(expires, requestedScopes.includes('admin') && stateless !== true),
    ...(prefixes === undefined ? {} : { prefixes: parsePrefixes(prefixes) }),
    ...(from === undefined ? {} : { sources: parseSources(from) }),
  };
}

function parseExpiry(expires: string | undefined, isAdmin: boolean): string | null {
  if (expires === 'never' || (expires === undefined && !isAdmin)) return null;
  return expires === undefined ? formatTimestamp(Date.now() + ADMIN_DAYS * DAY_MS) : parseStartDay(expires);
}

const splitList = (text: string): string[] => text.split(',').flatMap((word) => word.trim() || []);

function parsePrefixes(text: string): string[] {
  const prefixes = splitList(text);
  if (prefixes.length > 0 && prefixes.length <= PREFIXES_MAX && prefixes.every((word) => PREFIX_PATTERN.test(word)))
    return prefixes;
  throw new UsageError(`--prefixes takes 1 to ${PREFIXES_MAX} prefixes of ids: letters, digits, dashes, underscores.`);
}

function parseSources(text: string): string[] {
  const sources = splitList(text);
  if (sources.length > 0 && sources.every(isAddressRange)) return sources;
  throw new UsageError('--from takes addresses and ranges such as 10.0.0.0/8, separated by commas.');
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: DAY_MS };

function parseDurationMs(text: string): number {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (count === undefined)
    throw new UsageError(`--overlap must be a number and m, h or d, for example 24h, not ${text}.`);
  return Number(count) * UNITS_MS[unit]!;
}

function parseStartDay(day: string): string {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(ms)) throw new UsageError(`--expires must be a day, YYYY-MM-DD, or never, not ${day}.`);
  return formatTimestamp(ms);
}

/** Sends a command to the running service. If no service runs, executes it on the home. */
async function executeCommand(settings: Settings, command: KeyCommand): Promise<KeyResponse> {
  const response = await requestFromService(settings.home, command);
  if (response !== undefined) return response;
  const database = readDatabaseSettings(settings);
  const home = database === undefined ? await openHome(settings.home) : undefined;
  try {
    const { documents, close } = await openDocumentsAlone({
      home: listHomeFolders(settings.home),
      database: database && { ...database, isShared: settings.artifacts !== undefined },
      onFailure(cause) {
        throw cause;
      },
    });
    try {
      return await executeKeyCommand(await createKeys(documents, [], Date.now), command);
    } finally {
      await close();
    }
  } finally {
    await home?.close();
  }
}

function print({ issued, records, refused }: KeyResponse): number {
  if (refused !== undefined) {
    process.stderr.write(`divisor: ${refused}\n`);
    return EXIT_REFUSED;
  }
  if (issued !== undefined) {
    process.stderr.write(
      `Key ${issued.record.id} (${issued.record.name}; ${issued.record.scopes.join(', ')}) is shown only once:\n`,
    );
    process.stdout.write(`${issued.key}\n`);
  }
  if (records !== undefined) process.stdout.write(formatTable([HEADINGS, ...records.map(listCells)], 0));
  return 0;
}

const HEADINGS = ['key', 'name', 'scopes', 'prefixes', 'from', 'created', 'expires', 'revoked', 'last used'];

type Row = NonNullable<KeyResponse['records']>[number];
const listCells = ({ id, name, scopes, created, expires, revoked, prefixes, sources, last_used }: Row) => [
  id,
  name,
  scopes.join(','),
  prefixes?.join(',') ?? '-',
  sources?.join(',') ?? '-',
  ...[created, expires, revoked, last_used].map((time) => time?.slice(0, 19).replace('T', ' ') ?? '-'),
];

function printStateless(key: NewKey): number {
  if (key.expires !== null)
    throw new UsageError('A key of the environment does not expire: --expires and --stateless exclude each other.');
  if (key.sources !== undefined) throw new UsageError('A key of the environment is accepted from every address.');
  const { record, key: text } = issueKey(key, Date.now());
  process.stdout.write(
    `${text}\nDIVISOR_API_KEYS=${record.name}:${record.id}:${record.sha256}:${record.scopes.join('+')}${record.prefixes === undefined ? '' : `:${record.prefixes.join('+')}`}\n`,
  );
  return 0;
}
