import type { MiddlewareHandler } from 'hono';
import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Logger } from 'pino';
import { isLoopbackName } from '#base/addresses.js';
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
import { SCOPES } from '#contract/route.js';
import { ERRORS, Refusal } from '#domain/base/refusals.js';
import type { AccessKeys, IsAddressOf } from '#services/keys/keys.js';
import type { KeyRates } from '#services/keys/rates.js';
import type { CompletedRequest } from '#services/shared/metrics.js';
import { JSON_CONTENT_TYPE } from './answers.js';
import { ANONYMOUS, type Coding, type Env, type Principal, type RequestContext, selectCoding } from './handler.js';
import { authenticateBrowser, type BrowserSessions } from './oidc/sign-in.js';
import { isToken, type Tokens } from './oidc/tokens.js';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;

/** Returns the request id of the client if it is short and visible ASCII; otherwise a new id. */
export function chooseRequestId(sent: string | null): string {
  return sent !== null && VISIBLE_ASCII.test(sent) ? sent : randomUUID();
}

/** Chooses the id of each request. The middleware of Hono accepts fewer ids. */
export const identifyRequests: MiddlewareHandler<Env> = (c, next) => {
  c.set('requestId', chooseRequestId(c.req.header('x-request-id') ?? null));
  return next();
};

/** Runs each request in its span, and reports its end. The response names the span. */
export const traceRequests: MiddlewareHandler<Env> = (c, next) => {
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
export function logRequests(log: Logger, observe: (answer: CompletedRequest) => void): MiddlewareHandler<Env> {
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
export function toRefusal(log: Logger, c: RequestContext, failure: unknown): Refusal {
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
export function addHeaders({ version, isHttps, isDraining }: HeaderOptions): MiddlewareHandler<Env> {
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
export type Authenticate = (sender: RequestSender) => Principal | Promise<Principal>;

/** Returns what identifies the sender of a request. Behind trusted proxies, its address is in a header. */
export const getSender = (c: RequestContext, isTrustedProxy: IsAddressOf): RequestSender => ({
  request: c.req.raw,
  address: () => resolveClientAddress(c.env.address?.(), c.req.header('x-forwarded-for') ?? null, isTrustedProxy),
});

/** Finds the client of a request and counts the request. @throws Refusal UNAUTHENTICATED, RATE_LIMITED */
export type Identify = (c: RequestContext) => Promise<void>;

/** Creates the function that identifies clients. The client of a request from a route is already known and counted. */
export const createIdentify =
  (authenticate: Authenticate, keyRates: KeyRates, isTrustedProxy: IsAddressOf): Identify =>
  async (c) => {
    const principal = c.env.client?.principal ?? (await authenticate(getSender(c, isTrustedProxy)));
    c.set('principal', principal);
    if (c.env.client === undefined && principal.keyId !== null) keyRates.take(principal.keyId);
  };

/** Identifies the client of an open route that returns more to a known client. */
export const identifyIfPossible =
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
export const isRefusedKey = (c: RequestContext, failure: unknown): boolean =>
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
