import { isUnavailable } from '#domain/refusals/refusal.js';
import { access, constants } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { collectGarbage } from '#kernels/memory/collect-garbage.js';
import { isLoopbackName } from '#http/authentication.js';
import { createAddressCheck } from '#services/operations/address-ranges.js';
import { listen, type Server, type ServerOptions } from '#http/server.js';
import { prepareMarketProcess } from '#market/process/process-pool.js';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, StartRefusal } from '#store/start-refusal.js';
import { compose, type Service } from './compose.js';
import type { Role } from './compose/service-store.js';
import { createLog } from './log.js';
import { runPracticeJobs } from './practice.js';
import { runPreparation } from './preparation.js';
import { readTlsFiles } from './security-settings.js';
import { readSettings, type EffectiveSettings, type Settings } from './settings.js';
import { onStopRequest, type StopSignal } from './stop-request.js';

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

/**
 * Prepares for the first requests after the start. Starts a reader process for the first store that is registered or
 * loaded, runs practice jobs, and checks the templates.
 */
async function prepare(
  { resumed, listTemplateChecks }: Service,
  settings: Settings,
  log: Pick<Logger, 'error'>,
): Promise<void> {
  try {
    await resumed;
  } catch {
    return; // The component that requested the resumption ends the service after its failure.
  }
  prepareMarketProcess();
  await sleep(PREPARATION_DELAY_MS, undefined, { ref: false });
  await runPreparation(
    [
      ...(settings.readOnly ? [] : [{ name: 'practice jobs', run: () => runPracticeJobs(settings) }]),
      { name: 'methodology templates', run: () => runPreparation(listTemplateChecks(), log) },
      { name: 'garbage collection', run: () => collectGarbage(0) },
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
    const { host, trustedProxies } = settings;
    const server = await listenFrom(settings.port, portsMax, {
      app: service.app,
      host,
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
    if (isUnavailable(failure)) log.warn({ err: failure }, 'a statement failed that no caller awaits');
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
