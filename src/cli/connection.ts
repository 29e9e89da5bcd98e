import { createHash, randomBytes } from 'node:crypto';
import {
  createDivisorClient,
  DivisorError,
  LateAnswerError,
  UnreachableError,
  type DivisorClient,
} from '#clients/typescript/divisor.js';
import { patientFetch } from './patient-fetch.js';
import type { Effective, Settings } from './settings.js';
import { takenAtStart } from './taken-at-start.js';
import { UsageError } from './usage-error.js';

/** Exit statuses that scripts branch on; those of sysexits.h where it has one. */
export const EXIT = {
  done: 0,
  /** The job failed or was cancelled. */
  jobFailed: 1,
  /** The service refused the request: findings are printed. */
  refused: 2,
  /** Done, or a refresh rejected, with a finding that `--fail-on` names. */
  found: 3,
  /** Nothing answers at the address. */
  unreachable: 69,
  /** The service took the request and did not answer in time: the work may still go on. */
  late: 74,
  /** The service failed by a defect of its own. */
  defect: 70,
  /**
   * The service is full, draining or without data, at work on the same thing, or the key has asked too much: try again.
   */
  tryAgain: 75,
  /** The key is missing, wrong or lacks the scope. */
  noPermission: 77,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

/** Where a command works: a running service, or a home that it opens itself. */
export interface ConnectionFlags {
  readonly url?: string | undefined;
  readonly home?: string | undefined;
  /** Folders that data of a home opened here may lie below, as the setting has them. */
  readonly dataRoots?: string | undefined;
}

export const CONNECTION_OPTIONS = {
  url: { type: 'string' },
  home: { type: 'string' },
  'data-roots': { type: 'string' },
} as const;

export const CONNECTION_HELP: readonly (readonly [string, string])[] = [
  ['--url URL', 'A running service; DIVISOR_URL otherwise. Its key is read from DIVISOR_API_KEY.'],
  ['--home FOLDER', 'Without a URL: open this home in this process; DIVISOR_HOME otherwise.'],
  [
    '--data-roots FOLDERS',
    'With a home: root folders of data. Default: DIVISOR_DATA_ROOTS, or the home and the working folder.',
  ],
];

const HOW_TO_REACH = 'Start one with `divisor serve`, or leave --url and DIVISOR_URL out to work on a home.';

const HOW_TO_LOOK =
  'The work may still go on: look at `divisor jobs` and `divisor stores`, and at the log of the service, before asking again.';

/** Where a service answers, and the key it expects. */
export interface Address {
  readonly url: string;
  readonly key: string | undefined;
}

/** How a home is opened by the command itself. */
interface HomeOptions {
  /** Its data is served as it was, without what its source has now. */
  readonly keepsServed?: boolean;
}

/**
 * Calls `use` with a client of the service the flags name, and turns what it throws into an exit status and one
 * sentence.
 */
export async function connected(
  flags: ConnectionFlags,
  environment: NodeJS.ProcessEnv,
  use: (client: DivisorClient, address: Address) => Promise<number>,
  { keepsServed = false }: HomeOptions = {},
): Promise<number> {
  const url = addressOf(flags, environment);
  if (url !== undefined && flags.dataRoots !== undefined)
    throw new UsageError('--data-roots is for a home opened by the command; a service has its own');
  const here: { settings?: Settings } = {};
  try {
    if (url !== undefined) {
      const address = { url, key: environment['DIVISOR_API_KEY'] };
      return await use(clientOf(address), address);
    }
    const useHere = (client: DivisorClient, address: Address, settings: Settings) => {
      here.settings = settings;
      return use(client, address);
    };
    return await inProcess(flags, environment, useHere, keepsServed);
  } catch (failure) {
    if (failure instanceof LateAnswerError) return say(EXIT.late, `${failure.message} ${HOW_TO_LOOK}`);
    if (failure instanceof UnreachableError)
      return say(EXIT.unreachable, `${failure.message} ${url === undefined ? '' : HOW_TO_REACH}`.trim());
    if (failure instanceof DivisorError) return say(statusOf(failure), explain(failure, here.settings));
    throw failure;
  }
}

const clientOf = (address: Address): DivisorClient => createDivisorClient({ ...address, fetch: patientFetch });

/** @throws UsageError for what is no address of HTTP */
function addressOf({ url }: ConnectionFlags, environment: NodeJS.ProcessEnv): string | undefined {
  const text = url ?? environment['DIVISOR_URL'];
  if (text === undefined || /^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  throw new UsageError(
    `${url === undefined ? 'DIVISOR_URL' : '--url'} must be an address such as http://127.0.0.1:8080, not ${JSON.stringify(text)}`,
  );
}

/** A command reads what its user names: below the working folder too, unless other roots are given. */
function withWorkingFolder({ settings, rows }: Effective): Settings {
  const isDefault = rows.find(({ name }) => name === 'dataRoots')?.source === 'default';
  return isDefault ? { ...settings, dataRoots: [...settings.dataRoots, process.cwd()] } : settings;
}

/** Serves the home in this process to itself alone, with a key made for the occasion. */
async function inProcess(
  { home, dataRoots }: ConnectionFlags,
  environment: NodeJS.ProcessEnv,
  use: (client: DivisorClient, address: Address, settings: Settings) => Promise<number>,
  keepsServed: boolean,
): Promise<number> {
  const [{ start, stop }, { assertOnePlace }, { readSettings }, { createLog }] = await Promise.all([
    import('./serve.js'),
    import('./home-command.js'),
    import('./settings.js'),
    import('./log.js'),
  ]);
  assertOnePlace({ home }, environment);
  const id = randomBytes(6).toString('hex');
  const secret = randomBytes(32).toString('base64url');
  const sha256 = createHash('sha256').update(secret).digest('hex');
  const { HOST: _host, PORT: _port, ...rest } = environment;
  const flags = [
    ...(home === undefined ? [] : ['--home', home]),
    ...(dataRoots === undefined ? [] : ['--data-roots', dataRoots]),
  ];
  // One job is done here and then it ends: nothing is made ready for views that nobody will ask for.
  const effective = readSettings(['--port', '0', '--warm-up', 'off', ...flags], {
    ...rest,
    DIVISOR_API_KEYS: `command-line:${id}:${sha256}:admin`,
  });
  const settings = withWorkingFolder(effective);
  const running = await start(settings, createLog('error'), 'command', { keepsServed });
  try {
    await running.service.resumed;
    const address = { url: running.server.url, key: `dvs_${id}_${secret}` };
    const client = clientOf(address);
    for (const { code, message } of await takenAtStart(client))
      if (code !== 'DATES_ADDED') process.stderr.write(`warning: ${code}: ${message}\n`);
    return await use(client, address, settings);
  } finally {
    await stop({ ...running, drainMs: 0 });
  }
}

/** Refusals that end by themselves: a job of the same id, or work on the same store, is under way. */
const BUSY: ReadonlySet<string> = new Set<DivisorError['code']>(['JOB_RUNNING', 'STORE_LOADING', 'STORE_REFRESHING']);

function statusOf({ code, status }: DivisorError): number {
  if (code === 'REFRESH_REJECTED') return EXIT.found;
  if (status === null) return EXIT.jobFailed;
  if (BUSY.has(code)) return EXIT.tryAgain;
  if (status === 401 || status === 403) return EXIT.noPermission;
  if (status === 503 || status === 429) return EXIT.tryAgain;
  return status >= 500 ? EXIT.defect : EXIT.refused;
}

/** The sentence of the error, one line per finding below it, and what only this machine may say about them. */
function explain({ message, findings }: DivisorError, settings: Settings | undefined): string {
  const lines = findings.map(({ severity, code, path, message: said, file }) => {
    const where = file === undefined || path.includes(file) ? path : `${file} ${path}`;
    return `  ${severity} ${code} ${where}: ${said}`;
  });
  const isAboutPlace = findings.some(({ code }) => code === 'LOCATION_NOT_ALLOWED');
  return [message, ...lines, ...(isAboutPlace ? [`  ${allowedPlaces(settings)}`] : [])].join('\n');
}

/** An answer over HTTP never holds a path; whoever runs the command on the home may know them. */
function allowedPlaces(settings: Settings | undefined): string {
  if (settings === undefined)
    return 'Run `divisor config` where the service runs: it shows the folders and hosts it allows.';
  const hosts = settings.databaseHosts.length === 0 ? 'no host' : settings.databaseHosts.join(', ');
  return `Allowed are folders below ${settings.dataRoots.join(', ')} (--data-roots, DIVISOR_DATA_ROOTS) and databases on ${hosts} (DIVISOR_DATABASE_HOSTS).`;
}

function say(status: number, sentence: string): number {
  process.stderr.write(`divisor: ${sentence}\n`);
  return status;
}
