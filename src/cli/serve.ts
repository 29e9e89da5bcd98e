import { isUnavailable } from '#domain/refusals/refusal.js';
import { access, constants } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isLoopbackName } from '#http/authentication.js';
import { addressesOf } from '#services/operations/address-ranges.js';
import { listen, type Server } from '#http/server.js';
import { prepareMarketProcess } from '#market/process/process-pool.js';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, StartRefusal } from '#store/start-refusal.js';
import { compose, type Service } from './compose.js';
import type { Role } from './compose/service-store.js';
import { createLog } from './log.js';
import { tlsOf } from './security-settings.js';
import { readSettings, type Effective, type Settings } from './settings.js';
import { onStopRequest, type StopSignal } from './stop-request.js';

/** A stop that takes longer is cut: orchestrators kill after 30 s. */
const STOP_DEADLINE_MS = 25_000;
/** Time the requests under way have to finish. */
const IN_FLIGHT_DEADLINE_MS = 10_000;
const LINGER_MS = 1_000;
/** EX_SOFTWARE of sysexits.h: a defect ended the process. */
const EXIT_DEFECT = 70;

/** `divisor serve`: runs the service until a signal stops it. Resolves with the exit status. */
export async function serve(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return run('service', readSettings(argv, environment));
}

/** Home of a worker that is given none: it keeps nothing but copies there, beside a service of the same folder. */
const WORKER_HOME = './var-worker';

/** `divisor worker`: runs heavy jobs for services on the same database until a signal stops it. */
export async function worker(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const effective = readSettings(argv, { DIVISOR_HOME: WORKER_HOME, PORT: '0', ...environment });
  if (effective.settings.artifacts === undefined)
    throw new StartRefusal(EXIT_CONFIGURATION, 'A worker needs --database and --artifacts, those of its services.');
  return run('worker', effective);
}

/** Warns of data roots that no data can be read below: each is asked again later, for a root may come after the start. */
async function warnOfRoots(roots: readonly string[], log: Pick<Logger, 'warn'>): Promise<void> {
  for (const root of roots) {
    const failure = await access(root, constants.R_OK | constants.X_OK).then(
      () => undefined,
      (cause: NodeJS.ErrnoException) => cause.code ?? cause.message,
    );
    if (failure !== undefined) log.warn({ root, failure }, 'a data root cannot be read');
  }
}

async function run(role: Role, { settings, ineffective }: Effective): Promise<number> {
  const log = createLog(settings.logLevel);
  for (const sentence of ineffective) log.warn(sentence);
  process.on('uncaughtException', endOnDefect(log));
  process.on('unhandledRejection', unlessUnavailable(log, endOnDefect(log)));
  const { service, server } = await start(settings, log, role);
  await warnOfRoots(settings.dataRoots, log);
  process.stdout.write(`listening on ${server.url}\n`);
  log.info({ url: server.url, home: settings.home, workers: settings.workers }, 'listening');
  // The first store that is registered or loaded finds a process that reads, and the start has not waited for it.
  if (role === 'service' && settings.warmUp)
    void service.resumed.then(
      () => prepareMarketProcess(),
      () => {},
    ); // a resumption that failed ends the service where it was asked for

  const signal = await stopSignal();
  log.info({ signal }, 'stopping');
  const deadline = setTimeout(() => {
    log.fatal({ seconds: STOP_DEADLINE_MS / 1000 }, 'the stop took too long');
    process.exit(1);
  }, STOP_DEADLINE_MS);
  // Nobody sends requests to a worker: no balancer has to hear of its end.
  await stop({ service, server, drainMs: role === 'worker' ? 0 : settings.drainMs });
  clearTimeout(deadline);
  log.info('stopped');
  // Nothing is left to do; a handle somebody forgot to close must not keep the process.
  setTimeout(() => process.exit(0), LINGER_MS).unref();
  return 0;
}

export interface Running {
  readonly service: Service;
  readonly server: Server;
}

/**
 * Composes the service and listens.
 * @param keepsServed serves what was served before without what its source has now
 * @throws StartRefusal when the home, the address or the lack of a key forbids it
 */
export async function start(
  settings: Settings,
  log: Logger,
  role: Role = 'service',
  keepsServed = false,
): Promise<Running> {
  const service = await compose({ role, settings, log, keepsServed, onDefect: endOnDefect(log) });
  try {
    if (!service.hasKeys() && !isLoopbackName(settings.host)) {
      const message = `Without an API key the service listens on loopback only, not on ${settings.host}: make a key with \`divisor keys create\`, or set DIVISOR_API_KEYS.`;
      throw new StartRefusal(EXIT_CONFIGURATION, message);
    }
    const { host, port, trustedProxies } = settings;
    const server = await listen({
      app: service.app,
      host,
      port,
      isTrustedProxy: addressesOf(trustedProxies),
      tls: tlsOf(settings),
      onTlsReload: reportReload(log),
    });
    return { service, server };
  } catch (failure) {
    await service.close();
    throw addressRefusal(failure, settings);
  }
}

/** Refuses new work at once, lets what is under way finish, then closes the rooms. */
export async function stop({ service, server, drainMs }: Running & { readonly drainMs: number }): Promise<void> {
  service.drain();
  await sleep(drainMs);
  await server.close(IN_FLIGHT_DEADLINE_MS);
  await service.close();
}

const reportReload =
  (log: Pick<Logger, 'info' | 'warn'>) =>
  (failure?: unknown): void => {
    if (failure === undefined) log.info('the TLS certificate was read again');
    else log.warn({ err: failure }, 'the TLS files were changed and cannot be used; those of before stay in force');
  };

function addressRefusal(failure: unknown, { host, port }: Settings): unknown {
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

/** The first SIGTERM or SIGINT asks for a stop. */
const stopSignal = () => new Promise<StopSignal>((resolve) => void onStopRequest(['SIGTERM', 'SIGINT'], resolve));

/**
 * A database that falls silent refuses all statements that wait at once: of several that one request has begun, it hears
 * of the first. The others are no defect.
 */
const unlessUnavailable =
  (log: Logger, end: (failure: unknown) => void) =>
  (failure: unknown): void => {
    if (isUnavailable(failure)) log.warn({ err: failure }, 'a statement failed that nobody waits for any more');
    else end(failure);
  };

/**
 * After an error nobody caught, nothing in memory can be trusted. What was acknowledged is on disk, so the process
 * says what happened and ends; its supervisor starts it again on the same home.
 */
function endOnDefect(log: Logger): (failure: unknown) => never {
  return (failure) => {
    log.fatal({ err: failure }, 'a defect ended the process');
    process.exit(EXIT_DEFECT);
  };
}
