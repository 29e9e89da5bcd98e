import { callOnce } from '#base/once.js';
import { defineQuery, startsJobs } from '#contract/common-query.js';
import { getFormats, listMediaTypes } from '#contract/media-formats.js';
import { isReading, type Body, type Route, type Scope } from '#contract/route.js';
import type { JobPriority } from '#domain/jobs/priority.js';
import { checkFinite } from '#domain/schema/finite.js';
import { LOCAL_AUTHOR, NOTE_LENGTH_MAX } from '#domain/documents/version-document.js';
import type { ParsedJson } from '#domain/json/parse-json.js';
import { checkShape } from '#domain/schema/shape.js';
import { isDatasetLoading } from '#domain/market/dataset-loading.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { isSameReach, type Reach } from '#domain/documents/reach.js';
import { currentReach, withinReach } from '#services/operations/access.js';
import type { Precondition } from '#services/shared/preconditions.js';
import type { Authenticate } from './authentication.js';
import type { AssertCallback } from './callbacks.js';
import { readBody, openUpload } from './body.js';
import type { Handler, Principal, Reply, RouteRequest, Upload } from './handler.js';
import { selectMedia } from './negotiate.js';
import { assertReach } from './route-access.js';
import { createQueryReader, type QueryReader } from './query.js';

/** HTTP request to an operation, before any check. */
export interface Exchange {
  readonly request: Request;
  /** Query string without the question mark. */
  readonly search: string;
  readonly requestId: string;
  /** Trace id from the client. */
  readonly traceId: string | null;
  /** Parent span for the jobs of the request, as a `traceparent`. */
  readonly traceParent: string | null;
  /** Returns a path parameter by name, percent-decoded. */
  param(name: string): string | undefined;
  /** Returns the client's address from its socket. */
  address(): string | undefined;
  /** Resolves to true while the client may call the route. Set if a route sends the request for its client. */
  readonly isClientAllowed?: (() => Promise<boolean>) | undefined;
}

/** Route with its handler. The application calls it after the client has been authenticated. */
export interface Operation {
  readonly id: string;
  readonly route: Route;
  /** Answers a request. @throws Refusal, and any defect */
  answer(exchange: Exchange, principal: Principal): Reply | Promise<Reply>;
}

export interface OperationOptions {
  /** Runs a request on the market of a data store. @throws Refusal if the store cannot be read */
  readonly withinStore: <T>(storeId: string, work: () => T | Promise<T>) => Promise<T>;
  /** Resolves when a request may be tried again that arrived before its data was loaded. */
  readonly dataSettled: () => Promise<void>;
  /** Makes the writes of other processes visible to this process; undefined if no other process writes. */
  readonly follow: (() => Promise<void>) | undefined;
  readonly assertCallback: AssertCallback;
  /** Returns the documents that a client may access; undefined if it may access all. */
  readonly findReach: (principal: Principal) => Promise<Reach | undefined>;
  /** Authenticates the client again during a long response. @throws Refusal */
  readonly authenticate: Authenticate;
  /** True if requests that write or start jobs are refused. */
  readonly isReadOnly: boolean;
}

/**
 * Creates the operation of a route. It runs the checks of the route before its handler, in this order: scope, syntax of
 * the body, ids and query. The handler then finds the resource and parses the body. Errors in the body are reported
 * only after that.
 */
export function createOperation(
  id: string,
  route: Route,
  handler: Handler<Route>,
  { withinStore, dataSettled, follow, assertCallback, authenticate, findReach, isReadOnly }: OperationOptions,
): Operation {
  if (route.method === 'GET' && route.body !== undefined) throw new Error(`${id}: a GET has no body`);
  const readQuery: QueryReader = route.openQuery === true ? () => ({}) : createQueryReader(() => defineQuery(route));
  const acceptsCallback = startsJobs(route);
  const offeredTypes = listMediaTypes(route);
  const listFormats = callOnce(() => getFormats(route));
  const idNames = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);

  /** Returns true if the client may still call the route and access the same documents. */
  const isAllowed = async (exchange: Exchange, reach: Reach | undefined): Promise<boolean> => {
    if (exchange.isClientAllowed !== undefined) return exchange.isClientAllowed();
    try {
      const principal = await authenticate(exchange);
      assertScope(route, principal);
      return isSameReach(reach, principal.prefixes === undefined ? undefined : await findReach(principal));
    } catch {
      return false; // the client's next request reports the reason
    }
  };

  const mayFollow = route.scope !== 'open' && route.withoutMarket !== true;
  const run = (exchange: Exchange, principal: Principal, sentBody: SentBody) =>
    follow === undefined || !mayFollow
      ? handleRequest(exchange, principal, sentBody)
      : follow().then(() => handleRequest(exchange, principal, sentBody));

  const handleRequest = (exchange: Exchange, principal: Principal, sentBody: SentBody) => {
    const params = readParams(route, idNames, exchange);
    const query = readQuery(exchange.search);
    if (acceptsCallback && typeof query['callback'] === 'string') assertCallback(query['callback']);
    if (acceptsCallback && query['priority'] === 'high') assertHasScope('admin', principal);
    // A format in the query overrides the header.
    const { format } = query;
    const namedFormat = typeof format === 'string' ? listFormats().get(format) : undefined;
    const accept = format === undefined ? (exchange.request.headers.get('accept') ?? undefined) : undefined;
    const media = namedFormat ?? selectMedia(accept, offeredTypes, route.success.schema !== undefined);
    const reach = currentReach();
    const request = new ParsedRequest(
      exchange,
      principal,
      { params, query: namedFormat === undefined ? query : removeMember(query, 'format'), media },
      { declared: route.body, sent: sentBody, isStillAllowed: () => isAllowed(exchange, reach) },
    );
    const { store_id: storeId } = route.onStore === 'query' ? query : route.onStore === 'path' ? params : {};
    return typeof storeId === 'string' ? withinStore(storeId, () => handler(request)) : handler(request);
  };

  /** Runs a request again if it arrived before its data was loaded. The first attempt has changed nothing. */
  const runWithRetry = (exchange: Exchange, principal: Principal, sentBody: SentBody) => {
    const retryWithData = async (failure: unknown) => {
      if (!isDatasetLoading(failure) || isUpload(sentBody)) throw failure; // An upload cannot be read twice.
      await dataSettled();
      return run(exchange, principal, sentBody);
    };
    try {
      const reply = run(exchange, principal, sentBody);
      return reply instanceof Promise ? reply.catch(retryWithData) : reply;
    } catch (failure) {
      if (isDatasetLoading(failure)) return retryWithData(failure);
      throw failure;
    }
  };

  return {
    id,
    route,
    answer(exchange, principal) {
      assertScope(route, principal);
      if (isReadOnly) assertReads(route);
      return principal.prefixes === undefined ? answerAll(exchange, principal) : answerWithin(exchange, principal);
    },
  };

  function answerAll(exchange: Exchange, principal: Principal): Reply | Promise<Reply> {
    const { body } = route;
    if (body === undefined) return runWithRetry(exchange, principal, undefined);
    const upload = openUpload(exchange.request, body);
    return upload === undefined
      ? readBody(exchange.request, body).then((json) => runWithRetry(exchange, principal, json))
      : runWithRetry(exchange, principal, { upload });
  }

  /** Answers a client that may access only some ids. All its reads are limited to these ids. */
  async function answerWithin(exchange: Exchange, principal: Principal): Promise<Reply> {
    const reach = await findReach(principal);
    if (reach === undefined) return answerAll(exchange, principal);
    assertReach({ id, route }, exchange.param, () => readQuery(exchange.search), reach);
    return withinReach(reach, () => answerAll(exchange, principal));
  }
}

/** Request body: JSON, or a stream of bytes that are still arriving. */
type SentBody = ParsedJson | { readonly upload: Upload } | undefined;

const isUpload = (body: SentBody): body is { readonly upload: Upload } => body !== undefined && 'upload' in body;

function assertScope({ scope }: Route, principal: Principal): void {
  if (scope !== 'open') assertHasScope(scope, principal);
}

function assertHasScope(scope: Scope, { scopes }: Principal): void {
  if (scopes.has(scope) || scopes.has('admin')) return;
  throw new Refusal('FORBIDDEN_SCOPE', `The key lacks the scope ${scope}.`, { needed: scope, scopes: [...scopes] });
}

/** Checks that a route only reads. @throws Refusal READ_ONLY for a route that writes or starts a job */
function assertReads(route: Route): void {
  const { method, path } = route;
  if (isReading(route) && !startsJobs(route)) return;
  throw new Refusal('READ_ONLY', `The service runs with --read-only on: ${method} ${path} is refused.`);
}

function readParams(route: Route, names: readonly string[], exchange: Exchange): Record<string, unknown> {
  if (route.params === undefined) return {};
  const texts = Object.fromEntries(names.map((name) => [name, exchange.param(name) ?? '']));
  const parsedParams = checkShape(route.params, texts);
  if (parsedParams.value !== undefined) return parsedParams.value;
  throw new Refusal('INVALID_IDENTIFIER', parsedParams.findings.map(({ message }) => message).join(' '), {
    findings: parsedParams.findings,
  });
}

function removeMember(query: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> {
  const { [name]: _left, ...others } = query;
  return others;
}

/** Parsed parameters of the path, the query and `Accept`. */
interface RequestParameters {
  readonly params: Record<string, unknown>;
  readonly query: Record<string, unknown>;
  readonly media: string;
}

/** Declaration of a body, the body that was received, and a check that the client still has access. */
interface ReceivedBody {
  readonly declared: Body | undefined;
  readonly sent: SentBody;
  readonly isStillAllowed: () => Promise<boolean>;
}

/**
 * Request as handlers receive it. It is a class, because getters in an object literal cost more than all other members
 * together. The values are computed when they are read.
 */
class ParsedRequest implements RouteRequest<Route> {
  readonly #exchange: Exchange;
  readonly #declared: Body | undefined;
  readonly #sent: SentBody;
  readonly isStillAllowed: () => Promise<boolean>;
  readonly principal: Principal;
  readonly params: RouteRequest<Route>['params'];
  readonly query: RouteRequest<Route>['query'];
  readonly media: string;

  constructor(
    exchange: Exchange,
    principal: Principal,
    { params, query, media }: RequestParameters,
    { declared, sent, isStillAllowed }: ReceivedBody,
  ) {
    this.isStillAllowed = isStillAllowed;
    this.#exchange = exchange;
    this.#declared = declared;
    this.#sent = sent;
    this.principal = principal;
    // The schemas of the route have parsed params and query. The generic type only says that they are objects.
    this.params = params as RouteRequest<Route>['params'];
    this.query = query as RouteRequest<Route>['query'];
    this.media = media;
  }

  get header() {
    const { headers } = this.#exchange.request;
    return (name: string) => headers.get(name) ?? undefined;
  }

  get body() {
    const [declared, sent] = [this.#declared, this.#sent];
    return () => parseBody(declared, isUpload(sent) ? undefined : sent) as ReturnType<RouteRequest<Route>['body']>;
  }

  get upload() {
    const sentBody = this.#sent;
    return () => (isUpload(sentBody) ? sentBody.upload : undefined);
  }

  get precondition() {
    const { header } = this;
    return () => parseIfMatch(header('if-match'));
  }

  get authorship() {
    const { header, principal } = this;
    const { requestId } = this.#exchange;
    return () => ({
      author: principal.name ?? LOCAL_AUTHOR,
      keyId: principal.keyId,
      note: findNote(header('x-change-note')),
      requestId,
    });
  }

  get search() {
    const { search } = this.#exchange;
    return () => search;
  }

  get origin() {
    const { requestId, traceId, traceParent } = this.#exchange;
    const { callback, priority } = this.query as StartQuery; // the schema of each route with callbacks or priorities has these members
    return {
      owner: this.principal.keyId,
      author: this.principal.name,
      note: findNote(this.header('x-change-note')),
      requestId,
      traceId,
      ...(traceParent !== null && { traceParent }),
      callback: callback ?? null,
      ...(priority !== undefined && { priority }),
    };
  }

  get signal() {
    return this.#exchange.request.signal;
  }
}

/** Query members of the routes that start jobs. */
interface StartQuery {
  readonly callback?: string;
  readonly priority?: JobPriority;
}

function parseBody(declaredBody: Body | undefined, json: ParsedJson | undefined): unknown {
  if (declaredBody === undefined || json === undefined) return undefined;
  if (declaredBody.raw === true) return json.value;
  const value = json.value === undefined ? {} : json.value;
  if (json.overflows && declaredBody.report !== true) throw refuseWithFindings('body', checkFinite(value));
  if (declaredBody.document === true) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
    const message = `The body must be a JSON object, not ${Array.isArray(value) ? 'an array' : JSON.stringify(value)?.slice(0, 80)}.`;
    throw refuseWithFindings('body', [{ severity: 'error', code: 'WRONG_TYPE', message, path: '' }]);
  }
  const parsedBody = checkShape(declaredBody.schema, value);
  if (parsedBody.value === undefined) throw refuseWithFindings('body', parsedBody.findings);
  return parsedBody.value;
}

/** Returns the note of a write, decoded as UTF-8 if possible. @throws Refusal VALIDATION_FAILED */
function findNote(header: string | undefined): string | null {
  if (header === undefined || header === '') return null;
  const note = decodeUtf8(header);
  const length = [...note].length;
  if (length <= NOTE_LENGTH_MAX) return note;
  const message = `X-Change-Note has ${length} characters; at most ${NOTE_LENGTH_MAX} are accepted.`;
  throw refuseWithFindings('request', [{ severity: 'error', code: 'OUT_OF_RANGE', message, path: 'X-Change-Note' }]);
}

/** Decodes a header as UTF-8 if its bytes are valid UTF-8. Headers arrive as Latin-1. */
function decodeUtf8(header: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'));
  } catch {
    return header;
  }
}

/** Parses etags and removes their quotes. A weak etag never matches, because preconditions compare strongly. */
function parseIfMatch(header: string | undefined): Precondition | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  return header.split(',').flatMap((name) => /^"([^"]*)"$/.exec(name.trim())?.[1] ?? []);
}
