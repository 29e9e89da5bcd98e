import { type Handler as HonoHandler, Hono } from 'hono';
import type { HTTPException } from 'hono/http-exception';
import { timeout } from 'hono/timeout';
import { setTimeout as delayByClock } from 'node:timers/promises';
import type { Logger } from 'pino';
import { getNetwork } from '#base/addresses.js';
import { callOnce } from '#base/once.js';
import { knowsPrefixes } from '#contract/operations.js';
import {
  type CheckedBody,
  createQueryReader,
  getFormats,
  isReading,
  listMediaTypes,
  readParams,
  type Route,
  startsJobs,
} from '#contract/route.js';
import { compareText, type Finding, reportFindings } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { isDatasetLoading } from '#domain/definition/datasets.js';
import { isSameReach, type Reach } from '#domain/definition/reach.js';
import type { AuditNotes } from '#services/governance/audit.js';
import { assertWithinReach, currentReach, refusePrefixes, runForClient, withinReach } from '#services/keys/access.js';
import type { IsAddressOf } from '#services/keys/keys.js';
import {
  createFailedKeys,
  createKeyRates,
  createKeyTurns,
  type KeyRates,
  type KeyTurns,
} from '#services/keys/rates.js';
import type { CompletedRequest } from '#services/shared/metrics.js';
import {
  cancelStream,
  createSourceWriter,
  type FindVersion,
  readParts,
  respond,
  respondWithError,
  type ResponseParts,
  writeLists,
} from './answers.js';
import {
  type AdmittedClient,
  type Bindings,
  type Env,
  getSearch,
  type Handler,
  type Handlers,
  negotiate,
  type Principal,
  receiveBody,
  type Reply,
  type RequestContext,
  RouteRequest,
  type SentBody,
} from './handler.js';
import {
  addHeaders,
  type Authenticate,
  compressResponses,
  createIdentify,
  getSender,
  type Identify,
  identifyIfPossible,
  identifyRequests,
  isRefusedKey,
  logRequests,
  toRefusal,
  traceRequests,
} from './middleware.js';

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

/**
 * Registers the routes of the table. Fixed words come before parameters, and each path refuses the methods that it does
 * not have.
 */
function addRoutes<T extends Record<string, Route>>(
  hono: Hono<Env>,
  { api, handlers }: Pick<AppDependencies<T>, 'api' | 'handlers'>,
  options: OperationOptions,
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
      // The types of the table pair each route with its handler. The operation passes exactly the values that the schemas
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

interface OperationServices {
  /** Runs a request on the market of a data store. Default: on the active store. @throws Refusal if it cannot be read */
  readonly withinStore: <T>(storeId: string, work: () => T | Promise<T>) => Promise<T>;
  /** Makes the writes of other processes visible to this process; undefined if no other process writes. */
  readonly follow: (() => Promise<void>) | undefined;
  /** Checks the callback URL of a job. Default: refuses all. @throws Refusal VALIDATION_FAILED, OVERLOADED */
  readonly assertCallback: (url: string) => void;
  /** Returns the documents that a client may access; undefined if it may access all, which is the default. */
  readonly findReach: (principal: Principal) => Promise<Reach | undefined>;
  /** True if requests that write or start jobs are refused. Default: false. */
  readonly isReadOnly: boolean;
  /** Checks a large body of a route in a thread. Undefined if the event loop checks all bodies. */
  readonly checkLargeBody: ((operation: string, bytes: Uint8Array) => Promise<CheckedBody>) | undefined;
  /** Finds versions of documents, for the addresses of results. Default: none is known. */
  readonly findVersion: FindVersion;
}

const DEFAULT_SERVICES: OperationServices = {
  withinStore: async (_storeId, work) => work(),
  follow: undefined,
  assertCallback(url) {
    const message = 'Callbacks are not configured on this service (--callback-hosts, DIVISOR_CALLBACK_SECRET).';
    throw refuseWithFindings('query', [
      { severity: 'error', code: 'CALLBACK_NOT_ALLOWED', path: 'callback', message, value: url },
    ]);
  },
  findReach: async () => undefined,
  isReadOnly: false,
  checkLargeBody: undefined,
  findVersion: async () => null,
};

interface OperationOptions extends OperationServices {
  readonly identify: Identify;
  readonly requestSeconds: number;
  /** Resolves when a request may be tried again that arrived before its data was loaded. */
  readonly dataSettled: () => Promise<unknown>;
  /** Authenticates the client again during a long response. @throws Refusal */
  readonly authenticateAgain: (c: RequestContext) => Principal | Promise<Principal>;
  /** Waits for the turn of a key; undefined if it has come. */
  readonly awaitTurn: KeyTurns;
  readonly paths: ReadonlySet<string>;
  /** Receives reads for the audit log. */
  readonly noteRead: (c: RequestContext, operation: string) => void;
}

/**
 * Creates the last handler of a route. It runs the checks of the route before the handler of its service, in this
 * order: scope, syntax of the body, ids and query. The service then finds the resource and parses the body. Errors in
 * the body are reported only after that.
 */
function createOperation(
  id: string,
  route: Route,
  handler: Handler<Route>,
  options: OperationOptions,
): (c: RequestContext) => Promise<Response> {
  const { withinStore, dataSettled, follow, assertCallback, findReach, isReadOnly, checkLargeBody } = options;
  const { authenticateAgain, awaitTurn, findVersion, paths, noteRead } = options;
  const { body } = route;
  if (route.method === 'GET' && body !== undefined) throw new Error(`${id}: a GET has no body`);
  const readQuery = createQueryReader(route);
  const acceptsCallback = startsJobs(route);
  const offeredTypes = listMediaTypes(route);
  const listFormats = callOnce(() => getFormats(route));
  const checkApart = checkLargeBody && ((bytes: Uint8Array) => checkLargeBody(id, bytes));
  const addSource = createSourceWriter(route, paths, findVersion);
  const mayFollow = route.scope !== 'open' && route.withoutMarket !== true;

  return async (c) => {
    const principal = c.get('principal');
    assertScope(route.scope, principal);
    if (isReadOnly) assertReads(route);
    let reply: Reply;
    try {
      reply = await runForClient(principal.keyId, () =>
        principal.prefixes === undefined ? answer(c) : answerWithin(c),
      );
    } catch (failure) {
      // Hono handles only errors, and an aborted request throws the reason as text.
      throw failure instanceof Error ? failure : new Error('The work of a request was aborted.', { cause: failure });
    }
    if (c.finalized) cancelStream(reply.stream); // the request was refused at its time limit
    else noteRead(c, id);
    return respond(c, reply, route.success);
  };

  /** Answers a client that may access only some ids. All its reads are limited to these ids. */
  async function answerWithin(c: RequestContext): Promise<Reply> {
    const reach = await findReach(c.get('principal'));
    if (reach === undefined) return answer(c);
    if (!knowsPrefixes(id, route)) throw refusePrefixes(reach.prefixes);
    assertWithinReach(reach, route, { path: (name) => c.req.param(name), query: () => readQuery(getSearch(c)) });
    return withinReach(reach, () => answer(c));
  }

  /** Reads the body and answers. A request that arrived before its data was loaded is tried again; it changed nothing. */
  async function answer(c: RequestContext): Promise<Reply> {
    const sent = body && (await receiveBody(c.req.raw, body, checkApart));
    const isUpload = sent?.upload !== undefined;
    if (sent !== undefined && !isUpload) await awaitTurn(c.get('principal').keyId);
    try {
      return await run(c, sent);
    } catch (failure) {
      if (!isDatasetLoading(failure) || isUpload) throw failure; // An upload cannot be read twice.
      await dataSettled();
      return run(c, sent);
    }
  }

  async function run(c: RequestContext, sent: SentBody | undefined): Promise<Reply> {
    if (follow !== undefined && mayFollow) await follow();
    const search = getSearch(c);
    const params = readParams(route, (name) => c.req.param(name));
    const query = readQuery(search);
    if (acceptsCallback && typeof query['callback'] === 'string') assertCallback(query['callback']);
    if (acceptsCallback && query['priority'] === 'high') assertScope('admin', c.get('principal'));
    // A format in the query overrides the header.
    const { format, ...others } = query;
    const namedFormat = typeof format === 'string' ? listFormats().get(format) : undefined;
    const accept = format === undefined ? c.req.header('accept') : undefined;
    const media = namedFormat ?? negotiate(accept, offeredTypes, route.success.schema !== undefined);
    const reach = currentReach();
    const request = new RouteRequest<Route>(c, sent, {
      // The schemas of the route have parsed params and query. The generic type only says that they are objects.
      params: params as RouteRequest<Route>['params'],
      query: (namedFormat === undefined ? query : others) as RouteRequest<Route>['query'],
      media,
      isStillAllowed: () => isAllowed(c, reach),
    });
    if (body?.report === true && sent !== undefined) {
      const report = findReport(sent);
      if (report !== undefined) return report;
    }
    const { store_id: storeId } = route.onStore === 'query' ? query : route.onStore === 'path' ? params : {};
    const reply = await writeLists(
      await (typeof storeId === 'string' ? withinStore(storeId, () => handler(request)) : handler(request)),
    );
    return addSource === undefined ? reply : addSource(c.req.raw, search, reply, sent?.bytes);
  }

  /** Returns true if the client may still call the route and access the same documents. */
  async function isAllowed(c: RequestContext, reach: Reach | undefined): Promise<boolean> {
    if (c.env.client !== undefined) return c.env.client.isStillAllowed();
    try {
      const principal = await authenticateAgain(c);
      assertScope(route.scope, principal);
      return isSameReach(reach, principal.prefixes === undefined ? undefined : await findReach(principal));
    } catch {
      return false; // the client's next request reports the reason
    }
  }
}

/** Returns the report on a document whose shape was refused before its service. Returns undefined for any other body. */
function findReport({ read }: SentBody): Reply | undefined {
  try {
    read();
    return undefined;
  } catch (failure) {
    const findings = failure instanceof Refusal ? failure.detail?.['findings'] : undefined;
    const more = failure instanceof Refusal ? failure.detail?.['more'] : undefined;
    if (!Array.isArray(findings) || (findings.length === 1 && (findings[0] as Finding).path === '')) return undefined;
    return { json: { valid: false, findings: reportFindings(findings as Finding[], Number(more ?? 0)) } };
  }
}

function assertScope(scope: Route['scope'], { scopes }: Principal): void {
  if (scope === 'open' || scopes.has(scope) || scopes.has('admin')) return;
  throw new Refusal('FORBIDDEN_SCOPE', `The key lacks the scope ${scope}.`, { needed: scope, scopes: [...scopes] });
}

/** Checks that a route only reads. @throws Refusal READ_ONLY for a route that writes or starts a job */
function assertReads(route: Route): void {
  const { method, path } = route;
  if (isReading(route) && !startsJobs(route)) return;
  throw new Refusal('READ_ONLY', `The service runs with --read-only on: ${method} ${path} is refused.`);
}
