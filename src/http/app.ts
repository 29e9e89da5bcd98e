import { type Handler as HonoHandler, Hono } from 'hono';
import type { HTTPException } from 'hono/http-exception';
import { timeout } from 'hono/timeout';
import { setTimeout as delayByClock } from 'node:timers/promises';
import type { Logger } from 'pino';
import { getNetwork } from '#base/addresses.js';
import type { Route } from '#contract/route.js';
import { compareText } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import type { AuditNotes } from '#services/governance/audit.js';
import type { IsAddressOf } from '#services/keys/keys.js';
import type { CompletedRequest } from '#services/shared/metrics.js';
import { readParts, respondWithError, type ResponseParts } from './answers.js';
import type { AdmittedClient, Bindings, Env, Handler, Handlers } from './handler.js';
import {
  type Authenticate,
  createIdentify,
  getSender,
  type Identify,
  identifyIfPossible,
  isRefusedKey,
} from './middleware/authentication.js';
import { addHeaders, compressResponses } from './middleware/headers.js';
import { createFailedKeys, createKeyRates, createKeyTurns, type KeyRates } from '#services/keys/rates.js';
import { identifyRequests, logRequests, toRefusal, traceRequests } from './middleware/observation.js';
import { createOperation, DEFAULT_SERVICES, type OperationOptions, type OperationServices } from './pipeline.js';

export interface AppDependencies<T extends Record<string, Route>> extends Partial<OperationServices> {
  readonly api: T;
  readonly handlers: Handlers<T>;
  readonly authenticate: Authenticate;
  readonly version: string;
  readonly log: Logger;
  /** Waits some milliseconds before the response to a wrong key. Default: a timer. */
  readonly delay?: (ms: number) => Promise<void>;
  /** Rate limits of keys. Default: the limits of the service. */
  readonly keyRates?: KeyRates;
  /** Seconds after which a request is refused. Default: the limit of the service. */
  readonly requestSeconds?: number;
  /**
   * Resolves when the data that was served before the restart is served again, or has failed to load. Default: at once.
   */
  readonly dataSettled?: () => Promise<void>;
  /** Maximum time in ms that a request waits for `dataSettled`. After that time the request is refused. */
  readonly dataWaitMs?: number;
  /** Addresses whose `X-Forwarded-For` is trusted. Default: none. */
  readonly isTrustedProxy?: IsAddressOf;
  /** True if the service can be reached only over HTTPS. A response header then states this. */
  readonly isSecure?: boolean;
  /** Receives refused keys and reads for the audit log. Default: none. */
  readonly notes?: Pick<AuditNotes, 'refusedKey' | 'read'>;
  /** Called with every response, for the metrics. */
  readonly observe?: (answer: CompletedRequest) => void;
}

export interface App {
  /** Answers a request of a socket. */
  answer(request: Request, bindings: Bindings): Response | Promise<Response>;
  /**
   * Answers a request that a route sends for its client. All checks apply again; the request counts as part of the
   * outer request.
   */
  answerFor(request: Request, client: AdmittedClient): Promise<ResponseParts>;
  /** Answers a request that did not come from a socket. */
  fetch(request: Request, address?: string): Response | Promise<Response>;
  /** Answers a request to a path, for tests. */
  request(path: string, init?: RequestInit): Response | Promise<Response>;
  /** Asks the client to close the connection in every later response. */
  drain(): void;
  /** Answers a request that cannot be read. */
  refuse(refusal: Refusal): Response | Promise<Response>;
}

/**
 * Creates the HTTP application: a Hono application with the routes of the table. All requests pass the same middleware.
 */
export function createApp<const T extends Record<string, Route>>(dependencies: AppDependencies<T>): App {
  const { api, authenticate, version, log, notes, observe = () => {} } = dependencies;
  const { isTrustedProxy = () => false, isSecure = false, delay = (ms) => delayByClock(ms) } = dependencies;
  const { dataSettled = async () => {}, dataWaitMs = 0, requestSeconds = LIMITS.MAX_REQUEST_SECONDS } = dependencies;
  const { keyRates = createKeyRates({ monotonicMs: () => performance.now() }) } = dependencies;
  const failedKeys = createFailedKeys(() => performance.now());
  const identify = createIdentify(authenticate, keyRates, isTrustedProxy);
  let isDraining = false;
  const headers = [identifyRequests, addHeaders({ version, isHttps: isSecure, isDraining: () => isDraining })];
  const hono = new Hono<Env>().use(...headers, traceRequests, logRequests(log, observe), compressResponses);

  hono.onError(async (failure, c) => {
    if (isRefusedKey(c, failure)) {
      const address = getSender(c, isTrustedProxy).address() ?? '';
      notes?.refusedKey({ address, requestId: c.get('requestId') });
      const delayMs = failedKeys.note(getNetwork(address));
      if (delayMs > 0) await delay(delayMs);
    }
    return respondWithError(c, toRefusal(log, c, failure));
  });
  hono.notFound(async (c) => {
    await identify(c);
    throw new Refusal('ROUTE_NOT_FOUND', `No route has the path ${c.req.path.slice(0, 200)}.`);
  });
  addRoutes(hono, dependencies, {
    ...DEFAULT_SERVICES,
    ...dependencies,
    identify,
    requestSeconds,
    dataSettled: () => Promise.race([dataSettled(), delayByClock(dataWaitMs, undefined, { ref: false })]),
    authenticateAgain: (c) => authenticate(getSender(c, isTrustedProxy)),
    awaitTurn: createKeyTurns(),
    paths: new Set(Object.values<Route>(api).map(({ path }) => path)),
    noteRead: (c, operation) =>
      notes?.read({ operation, path: c.req.path, requestId: c.get('requestId'), ...c.get('principal') }),
  });
  hono.router.match('GET', '/'); // the router is built now, so that the first request is not delayed
  const unreadable = new Hono<Env>().use(...headers).all('*', (c) => respondWithError(c, c.env.refusal!));

  return {
    answer: (request, bindings) => hono.fetch(request, bindings),
    fetch: (request, address) => hono.fetch(request, { address: () => address } satisfies Bindings),
    request: (path, init) => hono.request(path, init, {} satisfies Bindings),
    async answerFor(request, client) {
      const bindings: Bindings = { client };
      const response = await hono.fetch(request, bindings);
      return readParts(response, bindings.isStreamed === true);
    },
    drain: () => void (isDraining = true),
    refuse: (refusal) => unreadable.fetch(new Request('http://localhost/'), { refusal } satisfies Bindings),
  };
}

/** Options of the operations, and what the routes need in addition. */
interface RouteOptions extends OperationOptions {
  readonly identify: Identify;
  readonly requestSeconds: number;
}

/**
 * Registers the routes of the table. Fixed words come before parameters, and each path refuses the methods that it does
 * not have.
 */
function addRoutes<T extends Record<string, Route>>(
  hono: Hono<Env>,
  { api, handlers }: Pick<AppDependencies<T>, 'api' | 'handlers'>,
  options: RouteOptions,
): void {
  const { identify, requestSeconds } = options;
  const limitTime = timeout(
    requestSeconds * 1000,
    // Hono declares its own exceptions, and passes any error to the handler of errors.
    () =>
      new Refusal(
        'OVERLOADED',
        `The request was not answered within ${requestSeconds} seconds.`,
      ) as never as HTTPException,
  );
  for (const [path, routes] of groupByPath(api)) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
    for (const [id, route] of routes) {
      const identifyClient =
        route.scope !== 'open' ? identify : route.optionalKey === true ? identifyIfPossible(identify) : undefined;
      // The types of the table pair each route with its handler. The pipeline passes exactly the values that the schemas
      // of the route have parsed.
      const operation = createOperation(id, route, handlers[id] as unknown as Handler<Route>, options);
      const answer: HonoHandler<Env> = async (c) => {
        c.set('operation', { id, route });
        if (identifyClient !== undefined) await identifyClient(c);
        return operation(c);
      };
      // The duration of an upload depends on its size.
      const middleware = route.body?.upload === undefined ? [limitTime] : [];
      hono.on(route.method, [pattern], ...middleware, answer);
    }
    const allowedMethods = routes
      .flatMap(([, { method }]) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      .toSorted();
    const isOpen = routes.every(([, { scope }]) => scope === 'open');
    hono.all(pattern, async (c) => {
      if (!isOpen) await identify(c);
      const message = `The path does not accept ${c.req.method.slice(0, 20)}; it accepts ${allowedMethods.join(', ')}.`;
      throw new Refusal('METHOD_NOT_ALLOWED', message, { allowed: allowedMethods });
    });
  }
}

/** Groups routes by path, fixed words first. */
function groupByPath(api: Record<string, Route>): [string, [string, Route][]][] {
  const paths = new Map<string, [string, Route][]>();
  for (const [id, route] of Object.entries(api)) {
    const routes = paths.get(route.path) ?? [];
    if (routes.some(([, { method }]) => method === route.method))
      throw new Error(`${route.method} ${route.path} is declared twice`);
    paths.set(route.path, [...routes, [id, route]]);
  }
  return [...paths].toSorted(([a], [b]) => compareText(formatSegmentOrder(a), formatSegmentOrder(b)));
}

/** Returns a text that sorts paths by their segments: first fixed words, then parameters, then wildcards. */
function formatSegmentOrder(path: string): string {
  return path
    .split('/')
    .map((segment) => (segment === '*' ? '2' : segment.startsWith('{') ? '1' : '0'))
    .join('');
}
