import { setTimeout as delayByClock } from 'node:timers/promises';
import { getPath } from 'hono/utils/url';
import type { Logger } from 'pino';
import type { Route } from '#contract/route.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { ResponseHeaders, type Headers as HeadersByName } from './answer-headers.js';
import { refuseCallbacks, type AssertCallback } from './callbacks.js';
import type { Authenticate } from './authentication.js';
import { runInRequest, NO_PRINCIPAL, openCall, type RequestCall } from './call.js';
import type { AuditNotes } from '#services/history/audit-notes.js';
import type { IsAddressOf } from '#services/operations/address-ranges.js';
import { createDeadlines, type Deadlines } from './deadlines.js';
import { createFailedKeys } from './failed-keys.js';
import { getNetwork } from './client-addresses.js';
import { createKeyRates, type KeyRates } from './key-rates.js';
import type { Handlers, Principal, Reply } from './handler.js';
import { createPaths, type FoundPath } from './paths.js';
import type { Operation, OperationOptions } from './pipeline.js';
import { createRequestLog, type CompletedRequest } from './request-log.js';
import { createErrorAnswer, toResponse, createSuccessAnswer, type ResponseParts } from './reply.js';
import { formatTraceResponse } from './trace-context.js';

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
  const terms = { withinStore, dataSettled: awaitData, follow, assertCallback, authenticate, findReach, isReadOnly };
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
