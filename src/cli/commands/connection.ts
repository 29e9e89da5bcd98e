import { createHash, randomBytes } from 'node:crypto';
import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import {
  createDivisorClient,
  type DataStore,
  type DivisorClient,
  DivisorError,
  LateAnswerError,
  UnreachableError,
} from '#clients/typescript/divisor.js';
import type { Route } from '#contract/route.js';
import type { EffectiveSettings, Settings } from '../settings/settings.js';
import { UsageError } from '../usage.js';

/** Request of a client, for any operation. */
interface AnyRequest {
  readonly query?: object;
  readonly body?: unknown;
}

type SendRequest = (operation: string, ...rest: unknown[]) => unknown;

/**
 * Calls `use` with a client that adds a data store to its requests, if their route supports that. Warns if no request
 * named the store.
 * @cost loads the contract if a store is given
 */
async function runOnStore(
  storeId: string | undefined,
  client: DivisorClient,
  use: (client: DivisorClient) => Promise<number>,
): Promise<number> {
  if (storeId === undefined) return use(client);
  const { API } = await import('#contract/api.js');
  let isNamed = false;

  function describeOperation(operation: string, request: AnyRequest = {}): AnyRequest {
    const route: Route = API[operation as keyof typeof API]; // the client's types admit only operations of the contract
    const { query, body } = request;
    const isInBody = route.onStore === 'body' && hasMember(route, 'store_id');
    if (route.onStore === 'query' || isInBody) isNamed = true;
    if (route.onStore === 'query') return { ...request, query: { ...query, store_id: storeId } };
    return isInBody ? { ...request, body: { ...(body as object | undefined), store_id: storeId } } : request;
  }

  const createPlainSend =
    (send: SendRequest): SendRequest =>
    (operation, request) =>
      send(operation, describeOperation(operation, request as AnyRequest));
  const createTypedSend =
    (send: SendRequest): SendRequest =>
    (operation, type, request) =>
      send(operation, type, describeOperation(operation, request as AnyRequest));
  const ownDivisorClient = {
    ...client,
    call: createPlainSend(client.call as SendRequest),
    callWithEtag: createPlainSend(client.callWithEtag as SendRequest),
    download: createTypedSend(client.download as SendRequest),
    stream: createTypedSend(client.stream as SendRequest),
  } as unknown as DivisorClient; // Each function adds the store to its request before it sends it.
  const status = await use(ownDivisorClient);
  if (!isNamed)
    process.stderr.write(`warning: --store ${storeId} has no effect, because the command does not select a store.\n`);
  return status;
}

function hasMember({ body }: Route, member: string): boolean {
  const { shape } = (body?.schema ?? {}) as { readonly shape?: Readonly<Record<string, unknown>> };
  return shape !== undefined && member in shape;
}

/**
 * Maximum time in ms to wait for the response to a write. To read a store of thousands of files on a busy machine takes
 * longer than five minutes, after which the `fetch` of Node gives up.
 */
const ANSWER_MS = 2 * 60 * 60 * 1000;

/** Variant of `fetch` that waits for hours for the response to a write. Reads use the faster `fetch` of Node. */
const fetchPatiently: typeof fetch = (address, options) =>
  options === undefined || (options.method ?? 'GET') === 'GET'
    ? fetch(address, options)
    : sendRequest(new URL(String(address)), options, ANSWER_MS);

/** Sends one request with its whole body. @throws DOMException TimeoutError if nothing arrives for `answerMs` */
export async function sendRequest(address: URL, options: RequestInit, answerMs: number): Promise<Response> {
  // This is the request that `fetch` would send, with its length and media type.
  const { method, headers, body } = new Request(address, { ...options, signal: null, duplex: 'half' } as RequestInit);
  const bytes = findLength(options.body);
  const ask = address.protocol === 'https:' ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const request = ask(address, {
      method,
      headers: { ...Object.fromEntries(headers), ...(bytes === undefined ? {} : { 'content-length': bytes }) },
      ...(options.signal ? { signal: options.signal } : {}),
      timeout: answerMs,
    });
    request.on('timeout', () => request.destroy(new DOMException('No response arrived in time.', 'TimeoutError')));
    request.on('error', reject);
    request.on('response', (answer) => {
      const status = answer.statusCode!; // a response always has a status
      const hasBody = status !== 204 && status !== 304;
      if (!hasBody) answer.resume();
      const fields = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      resolve(
        new Response(hasBody ? (Readable.toWeb(answer) as ReadableStream<Uint8Array>) : null, {
          status,
          headers: fields,
        }),
      );
    });
    if (body === null) request.end();
    else
      Readable.fromWeb(body as NodeStream)
        .on('error', (failure) => request.destroy(failure))
        .pipe(request);
  });
}

function findLength(body: RequestInit['body']): number | undefined {
  if (body === null || body === undefined) return 0;
  if (typeof body === 'string') return Buffer.byteLength(body);
  if (body instanceof Blob) return body.size;
  return body instanceof Uint8Array ? body.byteLength : undefined;
}

export type StartFindings = NonNullable<DataStore['taken_at_start']>['findings'];

/**
 * Lists findings about data that no refresh has reported. A home that a command opens reads its current data at the
 * start, and these findings come from there.
 */
export async function listStartFindings(client: DivisorClient): Promise<StartFindings> {
  const { stores } = await client.call('listStores');
  return stores.find(({ active }) => active)?.taken_at_start?.findings ?? [];
}

/** Exit statuses for scripts, taken from sysexits.h where it defines one. */
export const EXIT = {
  done: 0,
  /** The job failed or was cancelled. */
  jobFailed: 1,
  /** The service refused the request: findings are printed. */
  refused: 2,
  /** The job is done or a refresh was rejected, and `--fail-on` contains the code of a finding. */
  found: 3,
  /** No service answers at the address. */
  unreachable: 69,
  /** The service accepted the request but did not answer in time. The work may still be running. */
  late: 74,
  /** The service failed by an internal defect. */
  defect: 70,
  /**
   * The service cannot take the request now: it is full, draining, without data or busy with the same work, or the key
   * has exceeded its limit. Try again.
   */
  tryAgain: 75,
  /** The key is missing, wrong or lacks the scope. */
  noPermission: 77,
  /** The user pressed Ctrl-C. */
  interrupted: 130,
} as const;

/** Target of a command: a running service, or a home that the command opens itself. */
export interface ConnectionFlags {
  readonly url?: string | undefined;
  readonly home?: string | undefined;
  /** Data root folders for a home that the command opens. The format is that of the setting. */
  readonly dataRoots?: string | undefined;
  /** Data store that the command reads. */
  readonly store?: string | undefined;
  /** True to write the addresses of results on standard error. */
  readonly sources?: boolean;
}

export const CONNECTION_OPTIONS = {
  url: { type: 'string' },
  home: { type: 'string' },
  'data-roots': { type: 'string' },
  store: { type: 'string' },
  sources: { type: 'boolean', default: false },
} as const;

export const CONNECTION_HELP: readonly (readonly [string, string])[] = [
  ['--url URL', 'Address of a running service. Default: DIVISOR_URL. Its key is read from DIVISOR_API_KEY.'],
  ['--home FOLDER', 'Home that this process opens if no URL is set. Default: DIVISOR_HOME.'],
  [
    '--data-roots FOLDERS',
    'Root folders of data for a home. Default: DIVISOR_DATA_ROOTS, or the home and the working folder.',
  ],
  ['--store ID', 'Data store that the command reads. Default: the store of the index, or the active store.'],
  ['--sources', 'Writes the pinned address of each result that the command reads on standard error.'],
];

const START_HINT = 'Start one with `divisor serve`, or omit --url and DIVISOR_URL to work on a home.';

const RUNNING_HINT =
  'The work may still be running: check `divisor jobs`, `divisor stores` and the log of the service before you try again.';

export interface Address {
  readonly url: string;
  readonly key: string | undefined;
}

/** Options for a home that the command itself opens. */
interface HomeOptions {
  /** True to serve the stored data without reading its source again. */
  readonly keepsServed?: boolean;
}

/** Calls `use` with a client of the service that the flags name. A failure becomes an exit status and one sentence. */
export async function runWithService(
  flags: ConnectionFlags,
  environment: NodeJS.ProcessEnv,
  use: (client: DivisorClient, address: Address) => Promise<number>,
  { keepsServed = false }: HomeOptions = {},
): Promise<number> {
  const url = findAddress(flags, environment);
  if (url !== undefined && flags.dataRoots !== undefined)
    throw new UsageError(
      '--data-roots applies only to a home that the command opens; a service has a separate setting',
    );
  const localSettings: { settings?: Settings } = {};
  try {
    if (url !== undefined) {
      const address = { url, key: environment['DIVISOR_API_KEY'] };
      const ownClient = createClient(address, flags.sources);
      return await runOnStore(flags.store, ownClient, (client) => use(client, address));
    }
    const connectHere = (client: DivisorClient, address: Address, settings: Settings) => {
      localSettings.settings = settings;
      return runOnStore(flags.store, client, (ownDivisorClient) => use(ownDivisorClient, address));
    };
    return await runInProcess(flags, environment, connectHere, keepsServed);
  } catch (failure) {
    if (failure instanceof LateAnswerError) return printSentence(EXIT.late, `${failure.message} ${RUNNING_HINT}`);
    if (failure instanceof UnreachableError)
      return printSentence(EXIT.unreachable, `${failure.message} ${url === undefined ? '' : START_HINT}`.trim());
    if (failure instanceof DivisorError)
      return printSentence(getStatus(failure), explainError(failure, localSettings.settings));
    throw failure;
  }
}

const createClient = (address: Address, areSourcesWritten = false): DivisorClient =>
  createDivisorClient({ ...address, fetch: areSourcesWritten ? fetchWithSource : fetchPatiently });

/** Writes the address of each result on standard error. */
const fetchWithSource: typeof fetch = async (address, options) => {
  const response = await fetchPatiently(address, options);
  const source = response.headers.get('x-source');
  if (source !== null) process.stderr.write(`source: ${source}\n`);
  return response;
};

/**
 * Returns the address of the service if one is given; otherwise undefined. @throws UsageError if the text is not an
 * HTTP address
 */
function findAddress({ url }: ConnectionFlags, environment: NodeJS.ProcessEnv): string | undefined {
  const text = url ?? environment['DIVISOR_URL'];
  if (text === undefined || /^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  throw new UsageError(
    `${url === undefined ? 'DIVISOR_URL' : '--url'} must be an address such as http://127.0.0.1:8080, not ${JSON.stringify(text)}`,
  );
}

/** Adds the working folder to the default data roots, because a command reads files that its user names. */
function resolveInWorkingFolder({ settings, rows }: EffectiveSettings): Settings {
  const isDefault = rows.find(({ name }) => name === 'dataRoots')?.source === 'default';
  return isDefault ? { ...settings, dataRoots: [...settings.dataRoots, process.cwd()] } : settings;
}

/** Opens the home in this process, only for this command and with a temporary key. */
async function runInProcess(
  { home, dataRoots, sources }: ConnectionFlags,
  environment: NodeJS.ProcessEnv,
  use: (client: DivisorClient, address: Address, settings: Settings) => Promise<number>,
  keepsServed: boolean,
): Promise<number> {
  const [{ start, stop }, { assertSingleLocation }, { readSettings }, { createLog }] = await Promise.all([
    import('./serve.js'),
    import('./home-command.js'),
    import('../settings/settings.js'),
    import('./serve.js'),
  ]);
  assertSingleLocation({ home }, environment);
  const id = randomBytes(6).toString('hex');
  const secret = randomBytes(32).toString('base64url');
  const sha256 = createHash('sha256').update(secret).digest('hex');
  const { HOST: _host, PORT: _port, ...rest } = environment;
  const flags = [
    ...(home === undefined ? [] : ['--home', home]),
    ...(dataRoots === undefined ? [] : ['--data-roots', dataRoots]),
  ];
  // The process ends after one job. No client will request views, so they are not warmed up.
  const effectiveSettings = readSettings(['--port', '0', '--warm-up', 'off', ...flags], {
    ...rest,
    DIVISOR_API_KEYS: `command-line:${id}:${sha256}:admin`,
  });
  const settings = resolveInWorkingFolder(effectiveSettings);
  const runningService = await start(settings, createLog('error'), 'command', { keepsServed }).catch(adviseAddress);
  try {
    await runningService.service.resumed;
    const address = { url: runningService.server.url, key: `dvs_${id}_${secret}` };
    for (const { code, message } of await listStartFindings(createClient(address)))
      if (code !== 'DATES_ADDED') process.stderr.write(`warning: ${code}: ${message}\n`);
    return await use(createClient(address, sources), address, settings);
  } finally {
    await stop({ ...runningService, drainMs: 0 });
  }
}

/** Adds to the refusal of a home in use how to reach the service that uses it. @throws always */
async function adviseAddress(failure: unknown): Promise<never> {
  const { EXIT_TEMPORARY, StartRefusal } = await import('#store/start-refusal.js');
  if (!(failure instanceof StartRefusal) || failure.exitStatus !== EXIT_TEMPORARY) throw failure;
  const advice = 'If that is a service, name the address that it printed: --url http://127.0.0.1:8080, for example.';
  throw new StartRefusal(EXIT_TEMPORARY, `${failure.message} ${advice}`);
}

/** Codes of temporary refusals: a job with the same id is running, or other work on the same store. */
const BUSY_CODES: ReadonlySet<string> = new Set<DivisorError['code']>([
  'JOB_RUNNING',
  'STORE_LOADING',
  'STORE_REFRESHING',
]);

function getStatus({ code, status }: DivisorError): number {
  if (code === 'REFRESH_REJECTED') return EXIT.found;
  if (status === null) return EXIT.jobFailed;
  if (BUSY_CODES.has(code)) return EXIT.tryAgain;
  if (status === 401 || status === 403) return EXIT.noPermission;
  if (status === 503 || status === 429) return EXIT.tryAgain;
  return status >= 500 ? EXIT.defect : EXIT.refused;
}

/** Formats an error: its message, one line per finding, and details that only a user of this machine may see. */
function explainError({ message, findings }: DivisorError, settings: Settings | undefined): string {
  const lines = findings.map(({ severity, code, path, message: text, file }) => {
    const location = file === undefined || path.includes(file) ? path : `${file} ${path}`;
    return `  ${severity} ${code} ${location}: ${text}`;
  });
  const isLocationRefused = findings.some(({ code }) => code === 'LOCATION_NOT_ALLOWED');
  return [message, ...lines, ...(isLocationRefused ? [`  ${listAllowedLocations(settings)}`] : [])].join('\n');
}

/**
 * Lists the folders and hosts that are permitted. A response over HTTP never contains a path, but the user of a home
 * may see paths.
 */
function listAllowedLocations(settings: Settings | undefined): string {
  if (settings === undefined)
    return 'Run `divisor config` on the machine of the service. It shows the allowed folders and hosts; the service allows others with --data-roots. A single table, a workbook or a zip archive needs no folder: divisor import uploads it.';
  const hostsText = settings.databaseHosts.length === 0 ? 'no host' : settings.databaseHosts.join(', ');
  return `Allowed are folders under ${settings.dataRoots.join(', ')} (--data-roots, DIVISOR_DATA_ROOTS) and databases on ${hostsText} (DIVISOR_DATABASE_HOSTS).`;
}

function printSentence(status: number, sentence: string): number {
  process.stderr.write(`divisor: ${sentence}\n`);
  return status;
}
