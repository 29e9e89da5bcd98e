import { randomUUID } from 'node:crypto';
import { setTimeout as delayByClock } from 'node:timers/promises';
import { Hono, type Context } from 'hono';
import { TrieRouter } from 'hono/router/trie-router';
import type { Logger } from 'pino';
import type { Route } from '#contract/route.js';
import { compareText } from '#domain/findings.js';
import { ERRORS, Refusal } from '#domain/refusal.js';
import { noCallbacks, type AssertCallback } from './callbacks.js';
import type { Authenticate } from './authentication.js';
import { createFailedKeys } from './failed-keys.js';
import { createKeyRates, type KeyRates } from './key-rates.js';
import type { Handler, Handlers, Principal, Reply } from './handler.js';
import { createOperation, type Exchange, type Operation, type OperationOptions } from './pipeline.js';
import { toErrorResponse, toResponse, type Headers } from './reply.js';
import { traceContextOf, traceResponse, type TraceContext } from './trace-context.js';

export interface AppDependencies<T extends Record<string, Route>> {
  readonly api: T;
  readonly handlers: Handlers<T>;
  readonly authenticate: Authenticate;
  readonly version: string;
  readonly log: Logger;
  /** Lets the answer to a guessed key wait for milliseconds; by the clock unless given. */
  readonly delay?: (ms: number) => Promise<void>;
  /** How many requests a key may send; as the limits say unless given. */
  readonly keyRates?: KeyRates;
  /** Resolves once the data of before a restart is served or known to have failed; at once unless given. */
  readonly dataSettled?: () => Promise<void>;
  /** Before a request is handled, where other processes write what it reads: makes this one see that. */
  readonly follow?: () => Promise<void>;
  /** Longest wait of a request for that data; then it is refused. */
  readonly dataWaitMs?: number;
  /** Checks the callbacks of jobs; all are refused unless given. */
  readonly assertCallback?: AssertCallback;
  /** Called for every answer, for the metrics. */
  readonly observe?: (answer: Answered) => void;
}

/** One answered request. */
export interface Answered {
  /** Undefined when no route was found. */
  readonly operation: string | undefined;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
}

/** Who sends a request, as its socket tells. */
export interface Client {
  readonly address?: string | undefined;
}

export interface App {
  fetch(request: Request, client?: Client): Response | Promise<Response>;
  /** From now on every answer asks its client to close the connection. */
  drain(): void;
  /** Headers that every response carries, also those the parser of HTTP answers. */
  headersFor(requestId: string): Headers;
}

/** Nothing of an answer may be sniffed, framed, cached by intermediaries or run as a page. */
const SECURE_HEADERS: Headers = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
};

const NOBODY: Principal = { keyId: null, name: null, scopes: new Set() };

/**
 * The HTTP application: every route of the table with its handler, behind one pipeline. Each path is registered once
 * and chooses among its methods itself, fixed words before parameters, so that a wrong method differs from a missing
 * path.
 */
export function createApp<const T extends Record<string, Route>>(dependencies: AppDependencies<T>): App {
  const {
    api,
    handlers,
    authenticate,
    version,
    log,
    observe,
    dataSettled = async () => {},
    follow,
    delay = (ms) => delayByClock(ms),
    dataWaitMs = 0,
    assertCallback = noCallbacks,
    keyRates = createKeyRates({ monotonicMs: () => performance.now() }),
  } = dependencies;
  const base: Headers = { 'X-Engine-Version': version, ...SECURE_HEADERS };
  const headersFor = (requestId: string): Headers => ({ 'X-Request-Id': requestId, ...base });

  // Its fields are none of those in `redact`; keys and passwords in their values are still taken out.
  const requestLog = log.child({}, { redact: [] });
  const failedKeys = createFailedKeys(() => performance.now());
  // Filled now: the router that it would choose by itself is filled by the first request, which waits 6 ms for it.
  const hono = new Hono<{ Bindings: Client }>({ strict: true, router: new TrieRouter() });
  const options = { dataSettled: () => settledWithin(dataSettled(), dataWaitMs), follow, assertCallback };
  const paths = byPath(api, handlers, options);
  for (const [path, operations] of paths) {
    hono.all(path.replaceAll(/\{(\w+)\}/g, ':$1'), (c) => answer(askedOf(c), operations));
  }
  hono.notFound((c) => answer(askedOf(c), undefined));
  const fixed = new Map(paths.filter(([path]) => !/[{*]/.test(path)));

  return {
    fetch(request, client) {
      const path = plainPath(request);
      const operations = path === undefined ? undefined : fixed.get(path);
      return path === undefined || operations === undefined
        ? hono.fetch(request, client)
        : answer({ request, path, param: noParams, address: client?.address }, operations);
    },
    drain: () => void (base['Connection'] = 'close'),
    headersFor,
  };

  function answer(asked: Asked, operations: PathOperations | undefined): Response | Promise<Response> {
    const { request, param } = asked;
    const call = openCall(request, asked.path, operations);
    try {
      if (!call.isOpen) call.principal = authenticate(request.headers);
      if (call.principal.keyId !== null) keyRates.take(call.principal.keyId);
      if (operations === undefined)
        throw new Refusal('ROUTE_NOT_FOUND', `No route has the path ${call.path.slice(0, 200)}.`);
      if (call.operation === undefined) throw notAllowed(request.method, operations.allowed);
      const exchange: Exchange = {
        request,
        requestId: call.requestId,
        traceId: call.trace?.traceId ?? null,
        param,
      };
      const reply = call.operation.answer(exchange, call.principal);
      return reply instanceof Promise
        ? reply.then((settled) => succeed(call, settled)).catch((failure: unknown) => fail(call, failure))
        : succeed(call, reply);
    } catch (failure) {
      const delayMs = isRefusedKey(failure, request.headers) ? failedKeys.note(asked.address ?? '') : 0;
      return delayMs === 0 ? fail(call, failure) : delay(delayMs).then(() => fail(call, failure));
    }
  }

  function succeed(call: Call, reply: Reply): Response {
    const { operation, request } = call;
    const headers = headersOf(call);
    const { status = 200, media = [] } = operation?.route.success ?? {};
    if (media.length > 0) headers['Vary'] = 'Accept';
    return record(
      call,
      toResponse(reply, {
        method: request.method,
        status,
        headers,
        ifNoneMatch: request.headers.get('if-none-match') ?? undefined,
      }),
    );
  }

  function fail(call: Call, failure: unknown): Response {
    return record(call, toErrorResponse(refusalOf(call, failure), call.request.method, headersOf(call)));
  }

  function headersOf({ requestId, trace }: Call): Headers {
    const headers = headersFor(requestId);
    if (trace !== null) headers['traceresponse'] = traceResponse(trace);
    return headers;
  }

  /** One line in the log and one observation for every answer. */
  function record(
    { request, requestId, trace, path, operation, isOpen, principal, startedMs }: Call,
    response: Response,
  ): Response {
    const { status } = response;
    const { method } = request;
    const ms = performance.now() - startedMs;
    const level = status >= 500 && status !== 503 ? 'error' : status >= 400 ? 'warn' : isOpen ? 'debug' : 'info';
    if (requestLog.isLevelEnabled(level)) {
      requestLog[level](
        {
          request_id: requestId,
          ...spanOf(trace),
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
    observe?.({ operation: operation?.id, method, status, seconds: ms / 1000 });
    return response;
  }

  /** A defect becomes INTERNAL; so does a code that only jobs carry, for no route declares it. */
  function refusalOf({ request, requestId, trace }: Call, failure: unknown): Refusal {
    if (failure instanceof Refusal && ERRORS[failure.code].status !== null) {
      const { code, cause } = failure;
      // Of an outage, which every request meets, a line says enough.
      const err = code === 'STORE_UNAVAILABLE' ? String(cause) : cause;
      if (cause !== undefined) log.warn({ request_id: requestId, ...spanOf(trace), code, err }, 'refusal with a cause');
      return failure;
    }
    if (request.signal.aborted) return new Refusal('MALFORMED_REQUEST', 'The client left before the answer.');
    log.error(
      { request_id: requestId, ...spanOf(trace), method: request.method, url: request.url, err: failure },
      'defect',
    );
    return new Refusal('INTERNAL', 'The service failed on this request.', { request_id: requestId });
  }
}

/** A request whose path has been looked up. */
interface Asked {
  readonly request: Request;
  readonly path: string;
  /** Parameter of the path by name, percent-decoded. */
  readonly param: (name: string) => string | undefined;
  readonly address: string | undefined;
}

function askedOf(c: Context<{ Bindings: Client }>): Asked {
  return { request: c.req.raw, path: c.req.path, param: (name) => c.req.param(name), address: c.env?.address };
}

const noParams = (): undefined => undefined;

/** Path of a request that can be one of fixed words without being decoded, as most are; undefined of any other, and of `HEAD`. */
function plainPath({ method, url }: Request): string | undefined {
  if (method === 'HEAD' || url.includes('%')) return undefined;
  const start = url.indexOf('/', url.indexOf('://') + 3);
  const query = url.indexOf('?', start);
  return start < 0 ? undefined : url.slice(start, query < 0 ? undefined : query);
}

/** One request on its way through the pipeline. */
interface Call {
  readonly request: Request;
  readonly requestId: string;
  readonly trace: TraceContext | null;
  readonly path: string;
  /** Undefined when the path or its method is not there. */
  readonly operation: Operation | undefined;
  /** Needs no key. */
  readonly isOpen: boolean;
  principal: Principal;
  readonly startedMs: number;
}

function openCall(request: Request, path: string, operations: PathOperations | undefined): Call {
  const operation = operations?.byMethod.get(request.method === 'HEAD' ? 'GET' : request.method);
  return {
    request,
    requestId: requestIdOf(request.headers.get('x-request-id')),
    trace: traceContextOf(request.headers.get('traceparent')),
    path,
    operation,
    isOpen: operation === undefined ? operations?.isOpen === true : operation.route.scope === 'open',
    principal: NOBODY,
    startedMs: performance.now(),
  };
}

/** Trace fields of a log line. */
function spanOf(trace: TraceContext | null): object {
  return trace === null ? {} : { trace_id: trace.traceId, span_id: trace.spanId, parent_id: trace.parentId };
}

/** A request without a key is refused at once: it cannot be a guess. */
function isRefusedKey(failure: unknown, headers: globalThis.Headers): boolean {
  return (
    failure instanceof Refusal &&
    failure.code === 'UNAUTHENTICATED' &&
    (headers.has('authorization') || headers.has('x-api-key'))
  );
}

interface PathOperations {
  readonly byMethod: ReadonlyMap<string, Operation>;
  readonly allowed: readonly string[];
  /** Every method of the path may be called without a key. */
  readonly isOpen: boolean;
}

/** Resolves with work, or without it when it takes too long. */
async function settledWithin(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/** The operations of every path, paths of fixed words first. */
function byPath<T extends Record<string, Route>>(
  api: T,
  handlers: Handlers<T>,
  options: OperationOptions,
): [string, PathOperations][] {
  const paths = new Map<string, Map<string, Operation>>();
  for (const [id, route] of Object.entries(api)) {
    const methods = paths.get(route.path) ?? new Map<string, Operation>();
    if (methods.has(route.method)) throw new Error(`${route.method} ${route.path} is declared twice`);
    // A table's handlers are keyed by its routes; the pipeline gives each one exactly what its own schemas parsed.
    methods.set(route.method, createOperation(id, route, handlers[id] as unknown as Handler<Route>, options));
    paths.set(route.path, methods);
  }
  return [...paths]
    .toSorted(([a], [b]) => compareSpecificity(a, b))
    .map(([path, byMethod]) => [path, pathOperations(byMethod)]);
}

function pathOperations(byMethod: Map<string, Operation>): PathOperations {
  const allowed = [...byMethod.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).toSorted();
  return { byMethod, allowed, isOpen: [...byMethod.values()].every(({ route }) => route.scope === 'open') };
}

/** Segment by segment, a fixed word comes before a parameter, and that before whatever else. */
function compareSpecificity(a: string, b: string): number {
  const rank = (path: string) =>
    path
      .split('/')
      .map((segment) => (segment === '*' ? '2' : segment.startsWith('{') ? '1' : '0'))
      .join('');
  return compareText(rank(a), rank(b));
}

function notAllowed(method: string, allowed: readonly string[]): Refusal {
  return new Refusal(
    'METHOD_NOT_ALLOWED',
    `The path does not accept ${method.slice(0, 20)}; it accepts ${allowed.join(', ')}.`,
    { allowed },
  );
}

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** The client's own request id when it is short visible ASCII, otherwise a new one. */
function requestIdOf(sent: string | null): string {
  return sent !== null && REQUEST_ID.test(sent) ? sent : randomUUID();
}
