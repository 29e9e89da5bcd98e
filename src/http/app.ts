import { getPath } from 'hono/utils/url';
import { randomBytes, randomUUID } from 'node:crypto';
import { isIP, type Server, type Socket } from 'node:net';
import { setTimeout as delayByClock } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  createTrace,
  endSpan,
  isTracing,
  readEpochMs,
  runWithinSpan,
  type SpanContext,
} from '#base/tracing/tracing.js';
import type { Route } from '#contract/route.js';
import { LIMITS } from '#domain/base/limits.js';
import { ERRORS, Refusal } from '#domain/base/refusals.js';
import type { AuditNotes } from '#services/governance/audit.js';
import type { IsAddressOf } from '#services/keys/keys.js';
import {
  createErrorAnswer,
  createSuccessAnswer,
  type Headers as HeadersByName,
  ResponseHeaders,
  type ResponseParts,
  toResponse,
} from './answers.js';
import {
  type Authenticate,
  createFailedKeys,
  createKeyRates,
  createKeyTurns,
  type KeyRates,
} from './authentication.js';
import type { Handlers, Principal, Reply } from './handler.js';
import {
  type AssertCallback,
  createPaths,
  type Exchange,
  type FoundPath,
  ignoreParams,
  type Operation,
  type OperationOptions,
  refuseCallbacks,
} from './pipeline.js';

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

/** Closes connections if an address or a network has too many. Connections of trusted proxies are not limited. */
export function limitConnections(
  server: Pick<Server, 'on'>,
  isTrustedProxy: IsAddressOf,
  maxConnections: number = LIMITS.MAX_ADDRESS_CONNECTIONS,
): void {
  const openCounts = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const peer = socket.remoteAddress;
    if (peer === undefined || isTrustedProxy(peer)) return;
    const address = getNetwork(peer);
    const count = (openCounts.get(address) ?? 0) + 1;
    if (count > maxConnections) {
      socket.destroy();
      return;
    }
    openCounts.set(address, count);
    socket.once('close', () => {
      const remainingCount = openCounts.get(address)! - 1;
      if (remainingCount === 0) openCounts.delete(address);
      else openCounts.set(address, remainingCount);
    });
  });
}

/**
 * Number of groups in an IPv6 address, and number of groups in the prefix of its network. One client usually has a
 * whole network.
 */
const GROUPS = 8;
const NETWORK_GROUPS = 4;

/**
 * Returns the key by which connections and wrong keys are counted: the IPv4 address, or the 64-bit network of an IPv6
 * address.
 */
export function getNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const canonical = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname.slice(1, -1);
  if (canonical.startsWith('::ffff:')) return canonical; // an IPv4 address in IPv6 form
  const [head = [], tail = []] = canonical.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const groups = [...head, ...Array.from({ length: GROUPS - head.length - tail.length }, () => '0'), ...tail];
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;

/** Returns the request id of the client if it is short and visible ASCII; otherwise a new id. */
export function chooseRequestId(sent: string | null): string {
  return sent !== null && VISIBLE_ASCII.test(sent) ? sent : randomUUID();
}

/** Trace context of a request. */
interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Span of the client as 16 hexadecimal digits; null if the trace starts in this service. */
  readonly parentId: string | null;
  /** Span of this service. */
  readonly spanId: string;
  /** Trace flags: two hexadecimal digits from the client. */
  readonly flags: string;
}

/** Matches version, trace, parent and flags. Later versions may add fields after another dash. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ALL_ZEROS = /^0+$/;

/**
 * Returns the trace context of a request with a new span of this service. The trace comes from the header
 * `traceparent`. An invalid header is ignored: a request must not fail because another program sent a wrong header.
 * @source W3C Trace Context, Recommendation of 23 November 2021, section 3.2
 */
export function parseTraceContext(header: string | null, newSpanId: () => string = createSpanId): TraceContext | null {
  if (header === null) return null;
  const [, version = '', traceId = '', parentId = '', flags = '', rest] = TRACEPARENT.exec(header.trim()) ?? [];
  const isValid =
    version !== '' &&
    version !== 'ff' &&
    !(version === '00' && rest !== undefined) &&
    !ALL_ZEROS.test(traceId) &&
    !ALL_ZEROS.test(parentId);
  return isValid ? { traceId, parentId, spanId: newSpanId(), flags } : null;
}

/**
 * Formats the header `traceresponse`. It contains the span of the response.
 * @source W3C Trace Context Level 2, section 3.4 (draft)
 */
export function formatTraceResponse({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${flags}`;
}

function createSpanId(): string {
  for (;;) {
    const id = randomBytes(8).toString('hex');
    if (!ALL_ZEROS.test(id)) return id;
  }
}

const NO_PRINCIPAL: Principal = { keyId: null, name: null, scopes: new Set() };

function readSearch(url: string): string {
  const queryStart = url.indexOf('?');
  return queryStart === -1 ? '' : url.slice(queryStart + 1);
}

/** One request in the pipeline. */
interface RequestCall extends Exchange {
  readonly trace: TraceContext | null;
  readonly path: string;
  /** Operation of the request; undefined if the path does not exist or does not support the method. */
  readonly operation: Operation | undefined;
  /** True if the route needs no key. */
  readonly isOpen: boolean;
  principal: Principal;
  readonly startedMs: number;
}

function openCall(
  { request, path, address, isClientAllowed }: Pick<RequestCall, 'request' | 'path' | 'address' | 'isClientAllowed'>,
  foundPath: FoundPath | undefined,
  isTrustedProxy: IsAddressOf,
): RequestCall {
  const { headers } = request;
  const operations = foundPath?.operations;
  const operation = operations?.byMethod.get(request.method === 'HEAD' ? 'GET' : request.method);
  const trace = parseTraceContext(headers.get('traceparent')) ?? startTrace();
  return {
    request,
    search: readSearch(request.url),
    param: foundPath?.param ?? ignoreParams,
    address: () => resolveClientAddress(address(), headers.get('x-forwarded-for'), isTrustedProxy),
    requestId: chooseRequestId(headers.get('x-request-id')),
    trace,
    traceId: trace === null ? null : trace.traceId,
    traceParent: trace === null ? null : formatJobParent(trace),
    path,
    operation,
    isOpen: operation === undefined ? operations?.isOpen === true : operation.route.scope === 'open',
    principal: NO_PRINCIPAL,
    isClientAllowed,
    startedMs: performance.now(),
  };
}

/** Starts a new trace if the request does not belong to one. */
function startTrace(): TraceContext | null {
  const newTrace = createTrace();
  return newTrace && { ...newTrace, parentId: null, flags: newTrace.isSampled ? '01' : '00' };
}

/**
 * Returns the parent span for the jobs of a request: the span of this service if it is recorded, otherwise the span of
 * the client.
 */
const formatJobParent = ({ traceId, spanId, parentId, flags }: TraceContext): string =>
  `00-${traceId}-${isTracing() ? spanId : (parentId ?? spanId)}-${flags}`;

const createContext = ({ traceId, spanId, flags }: TraceContext): SpanContext => ({
  traceId,
  spanId,
  isSampled: (Number.parseInt(flags, 16) & 1) === 1,
});

/** Runs the work of a request in its span. */
const runInRequest = <T>({ trace }: RequestCall, work: () => T): T =>
  trace === null || !isTracing() ? work() : runWithinSpan(createContext(trace), work);

/** Reports the span of an answered request. */
function endRequest({ trace, request, operation, path, startedMs, requestId }: RequestCall, status: number): void {
  if (trace === null || !isTracing()) return;
  const endMs = readEpochMs();
  const route = operation?.route.path;
  endSpan({
    context: createContext(trace),
    parentId: trace.parentId,
    name: `${request.method} ${route ?? 'unknown'}`,
    kind: 'server',
    startMs: endMs - (performance.now() - startedMs),
    endMs,
    attributes: {
      'http.request.method': request.method,
      'http.route': route,
      'url.path': path,
      'http.response.status_code': status,
      'divisor.operation': operation?.id,
      'divisor.request_id': requestId,
    },
    error: status >= 500 ? String(status) : undefined,
  });
}

/** Returns the trace fields of a log line. */
function getSpan(trace: TraceContext | null): object {
  return trace === null ? {} : { trace_id: trace.traceId, span_id: trace.spanId, parent_id: trace.parentId };
}

/** Limit of the duration of requests. */
interface Deadlines {
  /** Resolves with the result of the work. @throws Refusal OVERLOADED if the work has not ended by the deadline */
  within<T>(work: Promise<T>): Promise<T>;
}

/** Interval in ms of the timer that checks all requests. One timer for all costs less than one timer per request. */
const LOOK_MS = 1000;

export function createDeadlines(seconds: number = LIMITS.MAX_REQUEST_SECONDS): Deadlines {
  /** Pending requests in the order of their deadlines. */
  const pendingRequests = new Map<object, { readonly untilMs: number; readonly refuse: (late: Refusal) => void }>();
  let timer: NodeJS.Timeout | undefined;

  function refuseLateRequests(): void {
    const now = performance.now();
    for (const [key, { untilMs, refuse }] of pendingRequests) {
      if (untilMs > now) break;
      pendingRequests.delete(key);
      refuse(new Refusal('OVERLOADED', `The request was not answered within ${seconds} seconds.`));
    }
    if (pendingRequests.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    within(work) {
      const key = {};
      if (timer === undefined) timer = setInterval(refuseLateRequests, LOOK_MS).unref();
      return new Promise((resolve, reject) => {
        pendingRequests.set(key, { untilMs: performance.now() + seconds * 1000, refuse: reject });
        work.finally(() => pendingRequests.delete(key)).then(resolve, reject);
      });
    },
  };
}

/** Data about a request that was answered. The log and the metrics use it. */
export interface CompletedRequest {
  /** Undefined if no route was found. */
  readonly operation: string | undefined;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
  /** Id of the key that sent the request; null without a key. */
  readonly keyId: string | null;
}

/** Log lines and observations of requests. */
export interface RequestLog {
  /** Writes one log line and counts one response in the metrics. Returns the response. */
  record(call: RequestCall, response: ResponseParts): ResponseParts;
  /**
   * Converts a failure to a refusal. A defect becomes INTERNAL. A code that only jobs use becomes INTERNAL as well,
   * because no route declares it.
   */
  createRefusal(call: RequestCall, failure: unknown): Refusal;
}

const LEVELS = ['error', 'warn', 'info', 'debug'] as const;
const listLoggedLevels = (log: Logger) =>
  Object.fromEntries(LEVELS.map((level) => [level, log.isLevelEnabled(level)])) as Record<
    (typeof LEVELS)[number],
    boolean
  >; // the entries cover each of the levels

function createRequestLog(log: Logger, observe?: (answer: CompletedRequest) => void): RequestLog {
  // The fields of the error are not in `redact`. Keys and passwords in their values are still removed.
  const requestLog = log.child({}, { redact: [] });
  const isLogged = listLoggedLevels(log);
  return { record, createRefusal };

  function record(call: RequestCall, response: ResponseParts): ResponseParts {
    const { request, requestId, trace, path, operation, isOpen, principal, startedMs } = call;
    const { status } = response;
    endRequest(call, status);
    const { method } = request;
    const ms = performance.now() - startedMs;
    const level = status >= 500 && status !== 503 ? 'error' : status >= 400 ? 'warn' : isOpen ? 'debug' : 'info';
    if (isLogged[level]) {
      requestLog[level](
        {
          request_id: requestId,
          ...getSpan(trace),
          method,
          path,
          operation: operation?.id,
          status,
          ms: Math.round(ms * 100) / 100,
          key: principal.keyId,
        },
        'request',
      );
    }
    observe?.({ operation: operation?.id, method, status, seconds: ms / 1000, keyId: principal.keyId });
    return response;
  }

  function createRefusal({ request, requestId, trace }: RequestCall, failure: unknown): Refusal {
    if (failure instanceof Refusal && ERRORS[failure.code].status !== null) {
      const { code, cause } = failure;
      // An outage affects every request. One line without a stack is enough.
      const err = code === 'STORE_UNAVAILABLE' ? String(cause) : cause;
      if (cause !== undefined)
        log.warn({ request_id: requestId, ...getSpan(trace), code, err }, 'refusal with a cause');
      return failure;
    }
    if (request.signal.aborted) return new Refusal('MALFORMED_REQUEST', 'The client disconnected before the response.');
    log.error(
      { request_id: requestId, ...getSpan(trace), method: request.method, url: request.url, err: failure },
      'defect',
    );
    return new Refusal('INTERNAL', 'The service failed to process this request.', { request_id: requestId });
  }
}

export interface AppDependencies<T extends Record<string, Route>> {
  readonly api: T;
  readonly handlers: Handlers<T>;
  readonly authenticate: Authenticate;
  readonly version: string;
  readonly log: Logger;
  /** Waits some milliseconds before the response to a wrong key. Default: a timer. */
  readonly delay?: (ms: number) => Promise<void>;
  /** Rate limits of keys. Default: the limits of the service. */
  readonly keyRates?: KeyRates;
  /** Ends requests that take too long. Default: the limits of the service. */
  readonly deadlines?: Deadlines;
  /**
   * Resolves when the data that was served before the restart is served again, or has failed to load. Default: at once.
   */
  readonly dataSettled?: () => Promise<void>;
  /** Runs work on a named store. Default: on the active store. */
  readonly withinStore?: OperationOptions['withinStore'];
  /** Makes writes of other processes visible. Called before this process handles a request. */
  readonly follow?: () => Promise<void>;
  /** Maximum time in ms that a request waits for `dataSettled`. After that time the request is refused. */
  readonly dataWaitMs?: number;
  /** Addresses whose `X-Forwarded-For` is trusted. Default: none. */
  readonly isTrustedProxy?: IsAddressOf;
  /** True if the service can be reached only over HTTPS. A response header then states this. */
  readonly isSecure?: boolean;
  /** Documents that a client may access. Default: all. */
  readonly findReach?: OperationOptions['findReach'];
  /** Checks the callbacks of jobs. Default: refuses all. */
  readonly assertCallback?: AssertCallback;
  /** Receives refused keys and reads for the audit log. Default: none. */
  readonly notes?: Pick<AuditNotes, 'refusedKey' | 'read'>;
  /** True to refuse requests that write or start jobs. Default: false. */
  readonly isReadOnly?: boolean;
  /** Finds versions of documents, for the addresses of results. Default: none is known. */
  readonly findVersion?: OperationOptions['findVersion'];
  /** Checks large bodies in a thread. Default: the event loop checks all bodies. */
  readonly checkLargeBody?: OperationOptions['checkLargeBody'];
  /** Called with every response, for the metrics. */
  readonly observe?: (answer: CompletedRequest) => void;
}

/** Client that a route has admitted. */
export interface AdmittedClient {
  readonly principal: Principal;
  /** Resolves to true while the client may call the route. */
  isStillAllowed(): Promise<boolean>;
}

export interface App {
  /** @param address returns the client's address from its socket */
  answer(request: Request, address: () => string | undefined): ResponseParts | Promise<ResponseParts>;
  /**
   * Answers a request that a route sends for its client. All checks apply again; the request counts as part of the
   * outer request.
   */
  answerFor(request: Request, client: AdmittedClient): Promise<ResponseParts>;
  /** Answers a request that did not come from a socket. */
  fetch(request: Request, address?: string): Response | Promise<Response>;
  /** Asks the client to close the connection in every later response. */
  drain(): void;
  /** Returns the headers of every response, including responses of the HTTP parser. */
  headersFor(requestId: string): ResponseHeaders;
}

/**
 * Security headers. They forbid that a browser guesses media types, that other sites embed a response or that it runs
 * as a page, and that proxies cache it.
 */
const SECURE_HEADERS: HeadersByName = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
};

/** HSTS header for one year, as is usual for browsers. */
const HTTPS_ONLY: HeadersByName = { 'Strict-Transport-Security': 'max-age=31536000' };

const onActiveStore: OperationOptions['withinStore'] = async (_storeId, work) => work();

/**
 * Creates the HTTP application. It has every route of the table with its handler; all requests pass the same checks.
 */
export function createApp<const T extends Record<string, Route>>(dependencies: AppDependencies<T>): App {
  const {
    api,
    handlers,
    authenticate,
    version,
    log,
    observe,
    notes,
    follow,
    delay = (ms) => delayByClock(ms),
    dataWaitMs = 0,
    assertCallback = refuseCallbacks,
    isTrustedProxy = () => false,
    findReach = async () => undefined,
    isSecure = false,
    isReadOnly = false,
    checkLargeBody,
    findVersion = async () => null,
    deadlines = createDeadlines(),
    keyRates = createKeyRates({ monotonicMs: () => performance.now() }),
  } = dependencies;
  const { withinStore = onActiveStore, dataSettled = async () => {} } = dependencies;
  const defaultHeaders: HeadersByName = { 'X-Engine-Version': version, ...SECURE_HEADERS, ...(isSecure && HTTPS_ONLY) };
  let currentHeaders = defaultHeaders;
  const getHeadersFor = (requestId: string): ResponseHeaders => new ResponseHeaders(requestId, currentHeaders);

  const { record, createRefusal } = createRequestLog(log, observe);
  const failedKeys = createFailedKeys(() => performance.now());
  const awaitData = () => waitAtMost(dataSettled(), dataWaitMs);
  const terms = {
    withinStore,
    dataSettled: awaitData,
    follow,
    assertCallback,
    authenticate,
    findReach,
    isReadOnly,
    checkLargeBody,
    findVersion,
    awaitTurn: createKeyTurns(),
  };
  const findPath = createPaths(api, handlers, terms);

  return {
    answer,
    fetch(request, address) {
      const response = answer(request, () => address);
      return response instanceof Promise ? response.then(toResponse) : toResponse(response);
    },
    async answerFor(request, client) {
      const { principal } = client;
      const path = getPath(request);
      const foundPath = findPath(path);
      const isClientAllowed = () => client.isStillAllowed();
      const call = openCall({ request, path, address: () => undefined, isClientAllowed }, foundPath, isTrustedProxy);
      try {
        return await admit(call, foundPath, principal);
      } catch (failure) {
        return fail(call, failure);
      }
    },
    drain: () => void (currentHeaders = { ...defaultHeaders, Connection: 'close' }),
    headersFor: getHeadersFor,
  };

  function answer(request: Request, address: () => string | undefined): ResponseParts | Promise<ResponseParts> {
    const path = getPath(request);
    const foundPath = findPath(path);
    const call = openCall({ request, path, address }, foundPath, isTrustedProxy);
    const answerRefusal = (failure: unknown) => answerFailure(call, failure);
    const admitCounted = (principal: Principal) => {
      call.principal = principal;
      if (principal.keyId !== null) keyRates.take(principal.keyId);
      return admit(call, foundPath, principal);
    };
    try {
      const principal = call.isOpen ? authenticateIfNeeded(call, authenticate) : authenticate(call);
      return principal instanceof Promise
        ? deadlines.within(principal).then(admitCounted).catch(answerRefusal)
        : admitCounted(principal);
    } catch (failure) {
      return answerRefusal(failure);
    }
  }

  /** Handles the request of an authenticated client. @throws Refusal */
  function admit(
    call: RequestCall,
    foundPath: FoundPath | undefined,
    principal: Principal,
  ): ResponseParts | Promise<ResponseParts> {
    call.principal = principal;
    const { path, request, operation } = call;
    if (foundPath === undefined) throw new Refusal('ROUTE_NOT_FOUND', `No route has the path ${path.slice(0, 200)}.`);
    if (operation === undefined) throw refuseMethod(request.method, foundPath.operations.allowed);
    const reply = runInRequest(call, () => operation.answer(call, principal));
    return reply instanceof Promise
      ? applyDeadline(operation, reply, deadlines)
          .then((result) => createReplyResponse(call, result))
          .catch((failure: unknown) => fail(call, failure))
      : createReplyResponse(call, reply);
  }

  function answerFailure(call: RequestCall, failure: unknown): ResponseParts | Promise<ResponseParts> {
    const isKeyRefused = isRefusedKey(failure, call.request.headers);
    const address = isKeyRefused ? (call.address() ?? '') : '';
    if (isKeyRefused) notes?.refusedKey({ address, requestId: call.requestId });
    const delayMs = isKeyRefused ? failedKeys.note(getNetwork(address)) : 0;
    return delayMs === 0 ? fail(call, failure) : delay(delayMs).then(() => fail(call, failure));
  }

  function createReplyResponse(call: RequestCall, reply: Reply): ResponseParts {
    const { operation, request, path, requestId, principal } = call;
    if (operation !== undefined) notes?.read({ operation: operation.id, path, requestId, ...principal });
    const headers = getHeaders(call);
    const { status = 200, media = [] } = operation?.route.success ?? {};
    if (media.length > 0) headers.set('Vary', 'Accept');
    const { method } = request;
    const ifNoneMatch = request.headers.get('if-none-match') ?? undefined;
    return record(call, createSuccessAnswer(reply, { method, status, headers, ifNoneMatch }));
  }

  function fail(call: RequestCall, failure: unknown): ResponseParts {
    return record(call, createErrorAnswer(createRefusal(call, failure), call.request.method, getHeaders(call)));
  }

  function getHeaders({ requestId, trace }: RequestCall): ResponseHeaders {
    const headers = getHeadersFor(requestId);
    if (trace !== null) headers.set('traceresponse', formatTraceResponse(trace));
    return headers;
  }
}

/** Applies the time limit. Uploads have none here, because their duration depends on their size. */
const applyDeadline = ({ route }: Operation, reply: Promise<Reply>, { within }: Deadlines): Promise<Reply> =>
  route.body?.upload === undefined ? within(reply) : reply;

/** Authenticates the client of an open route, but only if the route must know the client. */
function authenticateIfNeeded(call: RequestCall, authenticate: Authenticate): Principal | Promise<Principal> {
  if (call.operation?.route.optionalKey !== true) return NO_PRINCIPAL;
  const getAnonymousUnlessDefect = (failure: unknown): Principal => {
    if (!(failure instanceof Refusal)) throw failure;
    return NO_PRINCIPAL;
  };
  try {
    const principal = authenticate(call);
    return principal instanceof Promise ? principal.catch(getAnonymousUnlessDefect) : principal;
  } catch (failure) {
    return getAnonymousUnlessDefect(failure);
  }
}

/**
 * Returns true if a request was refused because of a wrong key. A request without a key is not a guess and is refused
 * at once.
 */
function isRefusedKey(failure: unknown, headers: Headers): boolean {
  return (
    failure instanceof Refusal &&
    failure.code === 'UNAUTHENTICATED' &&
    (headers.has('authorization') || headers.has('x-api-key'))
  );
}

/** Resolves when the work ends, or at the latest after `ms`. */
async function waitAtMost(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}

function refuseMethod(method: string, allowedMethods: readonly string[]): Refusal {
  return new Refusal(
    'METHOD_NOT_ALLOWED',
    `The path does not accept ${method.slice(0, 20)}; it accepts ${allowedMethods.join(', ')}.`,
    { allowed: allowedMethods },
  );
}
