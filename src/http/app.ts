import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import { setTimeout as delayByClock } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type Handler as HonoHandler, Hono, type MiddlewareHandler } from 'hono';
import type { HTTPException } from 'hono/http-exception';
import { timeout } from 'hono/timeout';
import type { Logger } from 'pino';
import { getNetwork, isLoopbackName } from '#base/addresses.js';
import { callOnce } from '#base/once.js';
import {
  endSpan,
  formatTraceResponse,
  isTracing,
  parseTraceContext,
  readEpochMs,
  runWithinSpan,
  startTrace,
  toSpanContext,
  type TraceContext,
} from '#base/tracing/tracing.js';
import { knowsPrefixes } from '#contract/operations.js';
import {
  type CheckedBody,
  createQueryReader,
  getFormats,
  isReading,
  listMediaTypes,
  readParams,
  type Route,
  SCOPES,
  startsJobs,
} from '#contract/route.js';
import { compareText, type Finding, reportFindings } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { ERRORS, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { isDatasetLoading } from '#domain/definition/datasets.js';
import { isSameReach, type Reach } from '#domain/definition/reach.js';
import type { AuditNotes } from '#services/governance/audit.js';
import {
  assertWithinReach,
  createFailedKeys,
  createKeyRates,
  createKeyTurns,
  currentReach,
  type KeyRates,
  type KeyTurns,
  refusePrefixes,
  runForClient,
  withinReach,
} from '#services/keys/access.js';
import type { AccessKeys, IsAddressOf } from '#services/keys/keys.js';
import type { CompletedRequest } from '#services/shared/metrics.js';
import {
  cancelStream,
  createSourceWriter,
  type FindVersion,
  JSON_CONTENT_TYPE,
  readParts,
  respond,
  respondWithError,
  type ResponseParts,
  writeLists,
} from './answers.js';
import {
  type AdmittedClient,
  ANONYMOUS,
  type Bindings,
  type Coding,
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
  selectCoding,
  type SentBody,
} from './handler.js';
import { authenticateBrowser, type BrowserSessions } from './oidc/sign-in.js';
import { isToken, type Tokens } from './oidc/tokens.js';

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

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;

/** Returns the request id of the client if it is short and visible ASCII; otherwise a new id. */
export function chooseRequestId(sent: string | null): string {
  return sent !== null && VISIBLE_ASCII.test(sent) ? sent : randomUUID();
}

/** Chooses the id of each request. The middleware of Hono accepts fewer ids. */
const identifyRequests: MiddlewareHandler<Env> = (c, next) => {
  c.set('requestId', chooseRequestId(c.req.header('x-request-id') ?? null));
  return next();
};

/** Runs each request in its span, and reports its end. The response names the span. */
const traceRequests: MiddlewareHandler<Env> = (c, next) => {
  c.set('startedMs', performance.now());
  const trace = parseTraceContext(c.req.header('traceparent') ?? null) ?? startTrace();
  c.set('trace', trace);
  return trace !== null && isTracing() ? runTraced(c, trace, next) : next();
};

async function runTraced(c: RequestContext, trace: TraceContext, next: () => Promise<void>): Promise<void> {
  await runWithinSpan(toSpanContext(trace), next);
  endRequest(c, trace);
}

/** Reports the span of an answered request. */
function endRequest(c: RequestContext, trace: TraceContext): void {
  const operation = c.get('operation');
  const [id, startedMs] = [c.get('requestId'), c.get('startedMs')];
  const { status } = c.res;
  const endMs = readEpochMs();
  endSpan({
    context: toSpanContext(trace),
    parentId: trace.parentId,
    name: `${c.req.method} ${operation?.route.path ?? 'unknown'}`,
    kind: 'server',
    startMs: endMs - (performance.now() - startedMs),
    endMs,
    attributes: {
      'http.request.method': c.req.method,
      'http.route': operation?.route.path,
      'url.path': c.req.path,
      'http.response.status_code': status,
      'divisor.operation': operation?.id,
      'divisor.request_id': id,
    },
    error: status >= 500 ? String(status) : undefined,
  });
}

/** Returns the trace fields of a log line. */
function getTraceFields(trace: TraceContext | null): object {
  return trace === null ? {} : { trace_id: trace.traceId, span_id: trace.spanId, parent_id: trace.parentId };
}

const LEVELS = ['error', 'warn', 'info', 'debug'] as const;

/** Writes one log line per request, and reports the request to the metrics. */
function logRequests(log: Logger, observe: (answer: CompletedRequest) => void): MiddlewareHandler<Env> {
  // The fields of the error are not in `redact`. Keys and passwords in their values are still removed.
  const requestLog = log.child({}, { redact: [] });
  const loggedLevels = new Set<string>(LEVELS.filter((level) => log.isLevelEnabled(level)));
  return async (c, next) => {
    c.set('principal', ANONYMOUS);
    await next();
    const operation = c.get('operation');
    const { status } = c.res;
    const { method, path } = c.req;
    const ms = performance.now() - c.get('startedMs');
    const level =
      status >= 500 && status !== 503
        ? 'error'
        : status >= 400
          ? 'warn'
          : operation?.route.scope === 'open'
            ? 'debug'
            : 'info';
    const { keyId } = c.get('principal');
    if (loggedLevels.has(level)) {
      requestLog[level](
        {
          request_id: c.get('requestId'),
          ...getTraceFields(c.get('trace')),
          method,
          path,
          operation: operation?.id,
          status,
          ms: Math.round(ms * 100) / 100,
          key: keyId,
        },
        'request',
      );
    }
    observe({ operation: operation?.id, method, status, seconds: ms / 1000, keyId });
  };
}

/**
 * Converts a failure to a refusal, and logs its cause. A defect becomes INTERNAL. A code that only jobs use becomes
 * INTERNAL as well, because no route declares it.
 */
function toRefusal(log: Logger, c: RequestContext, failure: unknown): Refusal {
  const requestId = c.get('requestId');
  const fields = { request_id: requestId, ...getTraceFields(c.get('trace')) };
  if (failure instanceof Refusal && ERRORS[failure.code].status !== null) {
    const { code, cause } = failure;
    // An outage affects every request. One line without a stack is enough.
    const err = code === 'STORE_UNAVAILABLE' ? String(cause) : cause;
    if (cause !== undefined) log.warn({ ...fields, code, err }, 'refusal with a cause');
    return failure;
  }
  const { method, url, signal } = c.req.raw;
  if (signal.aborted) return new Refusal('MALFORMED_REQUEST', 'The client disconnected before the response.');
  log.error({ ...fields, method, url, err: failure }, 'defect');
  return new Refusal('INTERNAL', 'The service failed to process this request.', { request_id: requestId });
}

/** Headers that forbid a browser to guess media types, and other sites to embed a response or to run it as a page. */
const SECURE_HEADERS = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};
const HTTPS_ONLY_HEADERS = { 'Strict-Transport-Security': 'max-age=31536000' };

interface HeaderOptions {
  readonly version: string;
  /** True if the service can be reached only over HTTPS. Browsers then remember this for a year. */
  readonly isHttps: boolean;
  readonly isDraining: () => boolean;
}

/**
 * Adds the headers of every response, which a reply can replace. Proxies may not cache a response that does not say
 * otherwise. The middleware of Hono sets each header of a finished response, which takes a third of the time of a short
 * request.
 */
function addHeaders({ version, isHttps, isDraining }: HeaderOptions): MiddlewareHandler<Env> {
  const constant = {
    'X-Engine-Version': version,
    'Cache-Control': 'no-store',
    ...SECURE_HEADERS,
    ...(isHttps && HTTPS_ONLY_HEADERS),
  };
  return (c, next) => {
    c.set('headers', () => {
      const trace = c.get('trace');
      return {
        'X-Request-Id': c.get('requestId'),
        ...constant,
        ...(trace && { traceresponse: formatTraceResponse(trace) }),
        ...(isDraining() && { Connection: 'close' }),
      };
    });
    return next();
  };
}

/** Minimum size in bytes of a response to compress. A shorter response needs only one or two packets anyway. */
const COMPRESSED_MIN_BYTES = 16_384;

/** Compression quality from 0 to 11. At 4, series of numbers shrink to 37% at about 100 MB/s. */
const BROTLI_QUALITY = 4;
const GZIP_LEVEL = 1;

const toBrotli = promisify(brotliCompress);
const toGzip = promisify(gzip);

/**
 * Compresses a long JSON response for a browser, on another thread. Programs that call the API are near the service and
 * receive the stored bytes. The ETag is the same with and without compression, as `If-Match` requires. The middleware
 * of Hono has no Brotli, and would change the ETag.
 */
export const compressResponses: MiddlewareHandler<Env> = (c, next) => {
  const isBrowser = c.req.header('user-agent')?.startsWith('Mozilla/') === true;
  const coding = isBrowser ? selectCoding(c.req.header('accept-encoding')) : null;
  return coding === null ? next() : next().then(() => compressResponse(c, coding));
};

async function compressResponse(c: RequestContext, coding: Coding): Promise<void> {
  if (c.res.status !== 200 || c.env.isStreamed === true || c.req.method === 'HEAD') return;
  const { headers } = c.res;
  const isLong = Number(headers.get('Content-Length')) >= COMPRESSED_MIN_BYTES;
  if (!isLong || headers.get('Content-Type') !== JSON_CONTENT_TYPE || headers.has('Content-Encoding')) return;
  const bytes = await compress(new Uint8Array(await c.res.arrayBuffer()), coding);
  const compressedHeaders = new Headers(headers);
  compressedHeaders.set('Vary', 'Accept-Encoding');
  compressedHeaders.set('Content-Encoding', coding);
  compressedHeaders.set('Content-Length', String(bytes.byteLength));
  c.res = undefined; // otherwise Hono copies the headers of the present response, with its length
  c.res = new Response(new Uint8Array(bytes), { headers: compressedHeaders });
}

function compress(bytes: Uint8Array, coding: Coding): Promise<Buffer> {
  if (coding === 'gzip') return toGzip(bytes, { level: GZIP_LEVEL });
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  return toBrotli(bytes, {
    params: { [BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [BROTLI_PARAM_SIZE_HINT]: bytes.byteLength },
  });
}

/**
 * Returns the address of a client. This is the address of the connection. Behind trusted proxies, it is the last
 * address in `X-Forwarded-For` that is not a trusted proxy.
 */
export function resolveClientAddress(
  peer: string | undefined,
  forwardedFor: string | null,
  isTrustedProxy: IsAddressOf,
): string | undefined {
  if (peer === undefined || forwardedFor === null || !isTrustedProxy(peer)) return peer;
  let client = peer;
  for (const hop of forwardedFor.split(',').toReversed()) {
    const address = hop.trim();
    if (isIP(address) === 0) return client; // earlier entries are untrusted
    client = address;
    if (!isTrustedProxy(address)) return client;
  }
  return client;
}

/** Parts of a request that identify its sender. */
interface RequestSender {
  readonly request: Pick<Request, 'method' | 'headers' | 'url'>;
  address(): string | undefined;
}

/** Authenticates the sender of a request. @throws Refusal UNAUTHENTICATED, FORBIDDEN_ORIGIN */
type Authenticate = (sender: RequestSender) => Principal | Promise<Principal>;

/** Returns what identifies the sender of a request. Behind trusted proxies, its address is in a header. */
const getSender = (c: RequestContext, isTrustedProxy: IsAddressOf): RequestSender => ({
  request: c.req.raw,
  address: () => resolveClientAddress(c.env.address?.(), c.req.header('x-forwarded-for') ?? null, isTrustedProxy),
});

/** Finds the client of a request and counts the request. @throws Refusal UNAUTHENTICATED, RATE_LIMITED */
type Identify = (c: RequestContext) => Promise<void>;

/** Creates the function that identifies clients. The client of a request from a route is already known and counted. */
const createIdentify =
  (authenticate: Authenticate, keyRates: KeyRates, isTrustedProxy: IsAddressOf): Identify =>
  async (c) => {
    const principal = c.env.client?.principal ?? (await authenticate(getSender(c, isTrustedProxy)));
    c.set('principal', principal);
    if (c.env.client === undefined && principal.keyId !== null) keyRates.take(principal.keyId);
  };

/** Identifies the client of an open route that returns more to a known client. */
const identifyIfPossible =
  (identify: Identify): Identify =>
  async (c) => {
    try {
      await identify(c);
    } catch (failure) {
      if (!(failure instanceof Refusal) || failure.code === 'RATE_LIMITED') throw failure;
      c.set('principal', ANONYMOUS);
    }
  };

/**
 * Returns true if a request was refused because of a wrong key. A request without a key is not a guess and is refused
 * at once.
 */
const isRefusedKey = (c: RequestContext, failure: unknown): boolean =>
  failure instanceof Refusal &&
  failure.code === 'UNAUTHENTICATED' &&
  c.env.client === undefined &&
  (c.req.header('authorization') !== undefined || c.req.header('x-api-key') !== undefined);

const ANY_PRINCIPAL: Principal = { keyId: null, name: null, scopes: new Set(SCOPES) };

/** Authentication of clients without keys: sessions, and tokens if an OpenID provider is configured. */
interface KeylessAuthentication extends BrowserSessions {
  readonly tokens: Tokens | undefined;
}

/**
 * Creates the function that authenticates requests. If keys, tokens or sessions are configured, a request needs one of
 * them. A service without keys and without a provider answers only clients on this machine, and no foreign web pages.
 * @param scheme scheme of the service, which is part of the origin of its pages
 */
export function createAuthenticate(
  keys: Pick<AccessKeys, 'verify' | 'areConfigured'>,
  signedIn?: KeylessAuthentication,
  scheme: 'http' | 'https' = 'http',
): Authenticate {
  return ({ request: { method, headers, url }, address }) => {
    if (!keys.areConfigured() && signedIn?.tokens === undefined) {
      assertOwnTarget(url);
      assertOwnClient(method, headers, scheme);
      return ANY_PRINCIPAL;
    }
    const credential = getCredential(headers);
    if (signedIn?.tokens !== undefined) {
      if (isToken(credential)) return signedIn.tokens.verify(credential);
      if (credential === '') return authenticateBrowser(signedIn, method, headers);
    }
    const principal = keys.verify(credential, address());
    if (principal === undefined) throw refuseUnauthenticated('The key is missing, unknown or invalid.');
    return principal;
  };
}

function getCredential(headers: Headers): string {
  const authorization = headers.get('authorization');
  const bearer = authorization === null ? null : (/^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '');
  const apiKey = headers.get('x-api-key');
  if (bearer !== null && apiKey !== null && bearer !== apiKey) {
    throw refuseUnauthenticated('Authorization and X-API-Key carry different keys.');
  }
  return bearer ?? apiKey ?? '';
}

const refuseUnauthenticated = (message: string) => new Refusal('UNAUTHENTICATED', message);

/** Refuses a request line that contains a full URL of another host. Such request lines are meant for a proxy. */
function assertOwnTarget(url: string): void {
  const host = URL.parse(url)?.hostname ?? url;
  if (!isLoopbackName(host)) throw refuseForeign(`accepts only loopback host names, not ${quoteShort(host)}`);
}

/**
 * Refuses requests from foreign web pages and from proxies. A page can reach this machine from its own origin, or by a
 * host name that points here. Headers that a page cannot change reveal such requests.
 */
function assertOwnClient(method: string, headers: Headers, scheme: string): void {
  const host = headers.get('host');
  if (host !== null && !isLoopbackName(host.replace(/:\d+$/, '')))
    throw refuseForeign(`accepts only loopback host names, not ${quoteShort(host)}`);
  const forwardingHeader = [...headers.keys()].find(isForwarding);
  if (forwardingHeader !== undefined)
    throw refuseForeign(`does not accept forwarded requests (${quoteShort(forwardingHeader)})`);
  const site = headers.get('sec-fetch-site');
  if (site === 'cross-site') throw refuseForeign('does not accept requests from another web site');
  const origin = headers.get('origin');
  if (origin !== null && !isLoopbackName(URL.parse(origin)?.hostname ?? ''))
    throw refuseForeign(`does not accept the web origin ${quoteShort(origin)}`);
  if (method === 'GET' || method === 'HEAD') return;
  if (origin === null && site !== null) throw refuseForeign('accepts writes of browsers only with an Origin header');
  if (origin !== null && (host === null || findOrigin(origin) !== findOrigin(`${scheme}://${host}`)))
    throw refuseForeign(`accepts writes only from its own pages, not from ${quoteShort(origin)}`);
}

const refuseForeign = (clause: string) => new Refusal('FORBIDDEN_ORIGIN', `Without keys the service ${clause}.`);
const quoteShort = (text: string): string => JSON.stringify(text.slice(0, 100));

/** Returns true for headers in which a proxy names its client. */
const isForwarding = (name: string): boolean =>
  name === 'forwarded' || name === 'via' || name === 'x-real-ip' || name.startsWith('x-forwarded-');

/** Returns the origin of a URL in its canonical form: scheme, host and port, without the port of the scheme. */
const findOrigin = (url: string): string | undefined => URL.parse(url)?.origin;
