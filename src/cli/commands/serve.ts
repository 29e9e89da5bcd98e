import { access, constants, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { destination, type DestinationStream, type Logger, pino } from 'pino';
import { isLoopbackName, maskUrlPasswords } from '#base/addresses.js';
import { isStoreUnavailable } from '#domain/base/refusals.js';
import { listen, type Server, type ServerOptions } from '#http/server.js';
import { limitFreedMemory } from '#kernels/memory/paged-memory.js';
import { formatTicker } from '#market/synthetic/names.js';
import { createAddressCheck, issueKey } from '#services/keys/keys.js';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, StartRefusal } from '#store/start-refusal.js';
import { compose, runPreparation, type Service } from '../compose/compose.js';
import type { Role } from '../compose/storage.js';
import { readTlsFiles } from '../settings/security.js';
import { type EffectiveSettings, readSettings, type Settings } from '../settings/settings.js';
import { onStopRequest, type StopSignal } from '../terminal.js';

/**
 * Maximum number of characters and maximum time in ms before lines are written. To write each line separately would
 * take a fifth of the time of a short response.
 */
const BUFFER_CHARACTERS_MAX = 32_768;
const BUFFER_MS_MAX = 20;

/**
 * Creates the log. It writes JSON lines to standard error, because standard output contains only the text for which a
 * supervisor waits. Keys and passwords are removed wherever a line may contain them. Lines that are still in the buffer
 * are written at the exit.
 */
export function createLog(level: Settings['logLevel'], file: number | string = 2): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: createTimestampFormatter(),
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRETS, censor: '[redacted]' },
      serializers: { err: serialiseError },
      hooks: { streamWrite: removePasswords },
    },
    createLineBuffer(file),
  );
}

/** Buffers lines as one text. The stream of pino would count the bytes of its whole buffer at each line. */
function createLineBuffer(file: number | string): DestinationStream & { flushSync(): void } {
  const stream = destination({ dest: file, sync: false });
  let text = '';
  let isEnded = false; // pino ends its stream once the event loop is empty
  stream.once('close', () => (isEnded = true));
  const writeBuffer = (): void => {
    if (text !== '' && !isEnded) stream.write(text);
    text = '';
  };
  const scheduleWrite = throttle(BUFFER_MS_MAX, writeBuffer);
  const flushSync = (): void => {
    writeBuffer();
    if (!isEnded) stream.flushSync();
  };
  flushAtExit(flushSync);
  return {
    write(line) {
      text += line;
      if (text.length < BUFFER_CHARACTERS_MAX) scheduleWrite();
      else writeBuffer();
    },
    flushSync,
  };
}

const openLogs: (() => void)[] = [];

/** Writes the remaining lines at the exit of this process, while their streams are still open. */
function flushAtExit(flush: () => void): void {
  const flushAll = (): void => openLogs.forEach((flushLog) => flushLog());
  if (openLogs.push(flush) === 1) process.on('beforeExit', flushAll).on('exit', flushAll);
}

/** Limits work to one call per interval. A call that is still pending does not delay the exit. */
function throttle(ms: number, work: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      work();
    }, ms).unref();
  };
}

const SECRET_NAMES = ['authorization', '["x-api-key"]', 'password', 'secret', 'api_key', 'key_text'];
const SECRETS = SECRET_NAMES.flatMap((name) =>
  name.startsWith('[') ? [name.slice(0), `*${name}`, `*.*${name}`] : [name, `*.${name}`, `*.*.${name}`],
);

const KEY_PATTERN = /dvs_([A-Za-z0-9]{12})_[A-Za-z0-9_-]{43}/g;

export function removePasswords(line: string): string {
  const withoutUrls = line.includes('://') ? maskUrlPasswords(line, '[redacted]') : line;
  return withoutUrls.includes('dvs_') ? withoutUrls.replaceAll(KEY_PATTERN, 'dvs_$1_[redacted]') : withoutUrls;
}

/** Returns a function that formats the timestamp of a line. Lines of the same millisecond share the text. */
function createTimestampFormatter(): () => string {
  let last = NaN;
  let text = '';
  return () => {
    const now = Date.now();
    if (now === last) return text;
    last = now;
    text = `,"time":"${new Date(now).toISOString()}"`;
    return text;
  };
}

function serialiseError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const cause = error.cause === undefined ? {} : { cause: serialiseError(error.cause) };
  return { type: error.name, message: error.message, stack: error.stack, ...cause };
}

/** Smallest market that a job can generate. */
const STORE = { store_id: 'practice', name: 'Practice', seed: 1, assets: 2, start: '2024-01-02', end: '2024-12-31' };

/** Requests that start jobs. Clients would notice a slow estimate most, because it takes only 40 ms. */
const PRACTICE_JOBS: readonly (readonly [path: string, body: object])[] = [
  ['/data/synthetic', STORE],
  ['/risk-models/practice/estimate', { identifiers: [0, 1].map(formatTicker) }],
];

/**
 * Runs jobs on a temporary service in this process and discards the service. V8 has then compiled the code of requests,
 * jobs, documents and events. This saves a third of the time of the first job of a client.
 * @param serviceSettings settings of the running service
 */
export async function runPracticeJobs(serviceSettings: Pick<Settings, 'home' | 'numerics'>): Promise<void> {
  const settings = createPracticeSettings(serviceSettings);
  const folder = settings.home;
  await rm(folder, { recursive: true, force: true }); // left by a process that ended during its practice
  // Nobody else can use the temporary service. Its only key is used only here.
  const { key, record } = issueKey({ name: 'practice', scopes: ['admin'], expires: null }, Date.now());
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  let defect: unknown;
  const service = await compose({
    role: 'practice',
    settings: { ...settings, apiKeys: [record] },
    log: pino({ level: 'silent' }),
    onDefect: (cause) => (defect ??= cause),
  });
  try {
    const server = await listen({ app: service.app, host: '127.0.0.1', port: 0 });
    try {
      for (const [path, body] of PRACTICE_JOBS) await runJob(server.url, headers, path, body);
    } finally {
      service.drain();
      await server.close(0);
    }
    if (defect !== undefined) throw defect;
  } finally {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the settings of a temporary service. It has the engine of the running service, and its home is in the scratch
 * folder of that service.
 */
export function createPracticeSettings({ home, numerics }: Pick<Settings, 'home' | 'numerics'>): Settings {
  const folder = join(home, 'scratch', 'practice');
  const flags = ['--home', folder, '--numerics', numerics, '--workers', '1', '--warm-up', 'off'];
  return readSettings(flags, {}).settings;
}

/** Submits a job, follows its events and reads its result. @throws Error if the job does not succeed */
async function runJob(url: string, headers: Readonly<Record<string, string>>, path: string, body: object) {
  const submission = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const { job_id: id } = (await submission.json()) as { readonly job_id?: string }; // status of the job
  await (await fetch(`${url}/jobs/${id}/events`, { headers })).text();
  const jobText = await (await fetch(`${url}/jobs/${id}`, { headers })).text();
  if ((JSON.parse(jobText) as { readonly status?: string }).status !== 'succeeded')
    throw new Error(`${path}: ${jobText}`);
}

/** Time in ms after which a stopping process exits. Orchestrators kill a process after 30 s. */
const STOP_DEADLINE_MS = 25_000;
/** Deadline in ms for pending requests to finish. */
const IN_FLIGHT_DEADLINE_MS = 10_000;
const LINGER_MS = 1_000;
/** Time in ms between the start and the preparation for first requests. Requests are answered in this time. */
const PREPARATION_DELAY_MS = 2000;
/** EX_SOFTWARE of sysexits.h: a defect ended the process. */
const EXIT_DEFECT = 70;

/** Runs `divisor serve`: runs a service until a signal stops it. Resolves with the exit status. */
export async function serve(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return run('service', readSettings(argv, environment));
}

/** Default home of a worker. It contains only cached copies and is next to the home of a service in the same folder. */
const WORKER_HOME = './var-worker';
/**
 * First port of workers by default, and maximum number of ports that are tried on one machine. Programs that collect
 * metrics list these ports.
 */
const WORKER_PORT = 8180;
const WORKER_PORTS_MAX = 100;

/** Runs `divisor worker`: runs heavy jobs for services on the same database until a signal stops it. */
export async function runWorker(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const effectiveSettings = readSettings(argv, { DIVISOR_HOME: WORKER_HOME, ...environment });
  const { settings, rows } = effectiveSettings;
  const hasPort = rows.some(({ name, source }) => name === 'port' && source !== 'default');
  if (settings.artifacts === undefined)
    throw new StartRefusal(EXIT_CONFIGURATION, 'A worker requires the --database and --artifacts of its services.');
  if (hasPort) return run('worker', effectiveSettings);
  return run('worker', { ...effectiveSettings, settings: { ...settings, port: WORKER_PORT } }, WORKER_PORTS_MAX);
}

/**
 * Warns about data roots that cannot be read. They are checked again later, because a root may appear after the start.
 */
async function warnAboutDataRoots(roots: readonly string[], log: Pick<Logger, 'warn'>): Promise<void> {
  for (const root of roots) {
    const failure = await access(root, constants.R_OK | constants.X_OK).then(
      () => undefined,
      (cause: NodeJS.ErrnoException) => cause.code ?? cause.message,
    );
    if (failure !== undefined) log.warn({ root, failure }, 'a data root cannot be read');
  }
}

/** @param portsMax number of ports to try one after another while they are in use */
async function run(role: Role, { settings, ineffective }: EffectiveSettings, portsMax = 1): Promise<number> {
  const log = createLog(settings.logLevel);
  for (const sentence of ineffective) log.warn(sentence);
  process.on('uncaughtException', endOnDefect(log));
  process.on('unhandledRejection', ignoreUnavailable(log, endOnDefect(log)));
  const { service, server } = await start(settings, log, role, { portsMax });
  await warnAboutDataRoots(settings.dataRoots, log);
  const stopSignal = awaitStopSignal(); // Registered before the announcement, because a supervisor may answer it with a signal.
  process.stdout.write(`listening on ${server.url}\n`);
  log.info({ url: server.url, home: settings.home, workers: settings.workers }, 'listening');
  limitFreedMemory();
  if (role === 'service' && settings.warmUp) void prepare(service, settings, log);

  const signal = await stopSignal;
  log.info({ signal }, 'stopping');
  const deadline = setTimeout(() => {
    log.fatal({ seconds: STOP_DEADLINE_MS / 1000 }, 'the stop took too long');
    process.exit(1);
  }, STOP_DEADLINE_MS);
  // A worker receives no requests, so no load balancer must notice its end.
  await stop({ service, server, drainMs: role === 'worker' ? 0 : settings.drainMs });
  clearTimeout(deadline);
  log.info('stopped');
  // All work is done. If a handle was not closed, it must not keep the process alive.
  setTimeout(() => process.exit(0), LINGER_MS).unref();
  return 0;
}

/** Prepares for the first requests after the start: runs practice jobs, and checks the templates. */
async function prepare(
  { resumed, listTemplateChecks, freeStartMemory }: Service,
  settings: Settings,
  log: Pick<Logger, 'error'>,
): Promise<void> {
  try {
    await resumed;
  } catch {
    return; // The component that requested the resumption ends the service after its failure.
  }
  await sleep(PREPARATION_DELAY_MS, undefined, { ref: false });
  await runPreparation(
    [
      ...(settings.readOnly ? [] : [{ name: 'practice jobs', run: () => runPracticeJobs(settings) }]),
      { name: 'methodology templates', run: () => runPreparation(listTemplateChecks(), log) },
      { name: 'memory of the start', run: () => freeStartMemory() },
    ],
    log,
  );
}

interface StartOptions {
  /** True to serve the stored content without reading its source again. */
  readonly keepsServed?: boolean;
  /** Number of ports to try one after another while they are in use. */
  readonly portsMax?: number;
}

export interface Running {
  readonly service: Service;
  readonly server: Server;
}

/**
 * Composes the service and listens for requests.
 * @throws StartRefusal if the home, the address or a missing key prevents the start
 */
export async function start(
  settings: Settings,
  log: Logger,
  role: Role = 'service',
  { keepsServed = false, portsMax = 1 }: StartOptions = {},
): Promise<Running> {
  const service = await compose({ role, settings, log, keepsServed, onDefect: endOnDefect(log) });
  try {
    if (!service.hasKeys() && !isLoopbackName(settings.host)) {
      const message = `Without an API key, the service listens only on loopback addresses, not on ${settings.host}. Create a key with \`divisor keys create\`, or set DIVISOR_API_KEYS.`;
      throw new StartRefusal(EXIT_CONFIGURATION, message);
    }
    const { host, trustedProxies, idleWriteSeconds } = settings;
    const server = await listenFrom(settings.port, portsMax, {
      app: service.app,
      host,
      idleWriteMs: idleWriteSeconds * 1000,
      isTrustedProxy: createAddressCheck(trustedProxies),
      tls: readTlsFiles(settings),
      onTlsReload: reportReload(log),
    });
    return { service, server };
  } catch (failure) {
    await service.close();
    throw createAddressRefusal(failure, settings);
  }
}

/** Refuses new work at once and lets pending work finish. Then closes the components. */
export async function stop({ service, server, drainMs }: Running & { readonly drainMs: number }): Promise<void> {
  service.drain();
  await sleep(drainMs);
  await server.close(IN_FLIGHT_DEADLINE_MS);
  await service.close();
}

/** Listens on the first of several ports that is free. @throws the error of the socket */
async function listenFrom(firstPort: number, portsMax: number, options: Omit<ServerOptions, 'port'>): Promise<Server> {
  for (let port = firstPort; ; port++) {
    try {
      return await listen({ ...options, port });
    } catch (failure) {
      const isPortInUse = (failure as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (!isPortInUse || port === firstPort + portsMax - 1) throw failure;
    }
  }
}

const reportReload =
  (log: Pick<Logger, 'info' | 'warn'>) =>
  (failure?: unknown): void => {
    if (failure === undefined) log.info('the TLS certificate was read again');
    else log.warn({ err: failure }, 'the changed TLS files cannot be used; the previous ones stay in use');
  };

function createAddressRefusal(failure: unknown, { host, port }: Settings): unknown {
  const code = (failure as NodeJS.ErrnoException).code;
  const cause = { cause: failure };
  switch (code) {
    case 'EADDRINUSE':
      return new StartRefusal(EXIT_TEMPORARY, `Another process listens on ${host} port ${port}.`, cause);
    case 'EACCES':
      return new StartRefusal(EXIT_CONFIGURATION, `This user may not listen on ${host} port ${port}.`, cause);
    case 'ENOENT':
    case 'EISDIR':
      return new StartRefusal(EXIT_CONFIGURATION, `A TLS file cannot be read: ${(failure as Error).message}.`, cause);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new StartRefusal(EXIT_CONFIGURATION, `${host} is not an address of this machine.`, cause);
    default:
      if (code?.startsWith('ERR_OSSL') === true)
        return new StartRefusal(
          EXIT_CONFIGURATION,
          `The TLS files cannot be used: ${(failure as Error).message}.`,
          cause,
        );
      return failure;
  }
}

/** Resolves at the first SIGTERM or SIGINT. */
const awaitStopSignal = () => new Promise<StopSignal>((resolve) => void onStopRequest(['SIGTERM', 'SIGINT'], resolve));

/**
 * Ignores rejected SQL statements for which no caller waits. An unavailable database rejects all pending statements of
 * a request, but the request waits only for the first.
 */
const ignoreUnavailable =
  (log: Logger, end: (failure: unknown) => void) =>
  (failure: unknown): void => {
    if (isStoreUnavailable(failure)) log.warn({ err: failure }, 'a statement failed that no caller awaits');
    else end(failure);
  };

/**
 * Ends the process after an unhandled error, because its memory cannot be trusted any more. Acknowledged writes are on
 * disk. The supervisor restarts the service on the same home.
 */
function endOnDefect(log: Logger): (failure: unknown) => never {
  return (failure) => {
    log.fatal({ err: failure }, 'a defect ended the process');
    process.exit(EXIT_DEFECT);
  };
}

export interface TemporaryHome {
  /** Part of the name of its folder. */
  readonly name: string;
  readonly port: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** Serves an empty home on this machine while `use` runs. Then removes the home. */
export async function runWithTemporaryHome<T>(
  { name, port, environment }: TemporaryHome,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), `divisor-${name}-`));
  try {
    const { settings } = readSettings(['--home', home, '--port', port, '--drain-ms', '0'], removeKeys(environment));
    const runningService = await start(settings, createLog('error'));
    try {
      return await use(runningService.server.url);
    } finally {
      await stop({ ...runningService, drainMs: 0 });
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** Removes the API keys and the settings of host, home and database from the environment of a temporary service. */
function removeKeys(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { DIVISOR_API_KEYS: _keys, HOST: _host, DIVISOR_HOME: _home, DATABASE_URL: _database, ...rest } = environment;
  return rest;
}
