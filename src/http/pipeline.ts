import { TrieRouter } from 'hono/router/trie-router';
import { tryDecodeURIComponent } from 'hono/utils/url';
import { callOnce } from '#base/once.js';
import {
  type Body,
  type CheckedBody,
  defineQuery,
  getFormats,
  isReading,
  listMediaTypes,
  type Route,
  type Scope,
  startsJobs,
} from '#contract/route.js';
import { compareText, type Finding, reportFindings } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { checkShape } from '#domain/base/schema.js';
import { isDatasetLoading } from '#domain/definition/datasets.js';
import { isSameReach, isWithin, mayRead, NAMED_DOCUMENTS, type Reach } from '#domain/definition/reach.js';
import { LOCAL_AUTHOR, NOTE_LENGTH_MAX } from '#domain/definition/versions.js';
import type { JobPriority } from '#domain/outputs/job-priority.js';
import { isBuiltIn } from '#domain/outputs/report-templates.js';
import { currentReach, outside, refusePrefixes, runForClient, withinReach } from '#services/keys/access.js';
import type { Precondition } from '#services/shared/documents.js';
import type { Authenticate, KeyTurns } from './authentication.js';
import type { Handler, Handlers, Principal, Reply, RouteRequest, Upload } from './handler.js';
import { createSourceWriter, type FindVersion } from './sources.js';
import { type BodyReader, createQueryReader, openUpload, type QueryReader, readBody, selectMedia } from './request.js';

/** Checks the callback URL of a job. @throws Refusal VALIDATION_FAILED, OVERLOADED */
export type AssertCallback = (url: string) => void;

/** Refuses all callbacks, for an application without them. */
export const refuseCallbacks: AssertCallback = (url) => {
  throw refuseWithFindings('query', [
    {
      severity: 'error',
      code: 'CALLBACK_NOT_ALLOWED',
      path: 'callback',
      message: 'Callbacks are not configured on this service (--callback-hosts, DIVISOR_CALLBACK_SECRET).',
      value: url,
    },
  ]);
};

/** Parameters whose documents the guarded store checks. Their ids are random or come from a job. */
const RESOLVED_PARAMETERS: ReadonlySet<string> = new Set([
  'run_id',
  'render_id',
  'job_id',
  'sweep_id',
  'batch_id',
  'rerun_id',
  'study_id',
  'kind',
  'document_id',
  'approval_id',
]);

/** Parameters that do not name a document. Data and documentation are available to every client. */
const SHARED_OPERATIONS: ReadonlySet<string> = new Set([
  'identifier',
  'date',
  'table',
  'version',
  'page',
  'picture',
  'file_name',
  'methodology_id',
]);

/**
 * Operations that clients with prefixes may call although no parameter names a document. They return shared data and
 * catalogues, or documents that the guarded store limits to those of the client. All other operations, including new
 * ones, are refused to such clients.
 */
const UNRESTRICTED_OPERATIONS: ReadonlySet<string> = new Set(
  `callMcp getHealth getLiveness getReadiness getChangelog getPrincipal getOpenApi getDocumentation getGuide
  listCalendars listRuleTypes listOverlayTypes listMethodologyTemplates listConstraintTypes listObjectiveTypes
  getAssetReferences getCoverage getCoverageHistory getDataSource listFields listSeries searchIdentifiers getImportTemplate
  priceFutures priceTrs
  listJobs listJobKinds followJobs retryJobs listEvents getAudit
  listIndices createIndex validateIndex previewDocument sketchLevel whatIf evaluateDatapoint
  startBacktests listBacktests compareRuns listSummaries runSql
  listConstraintSets createConstraintSet validateConstraintSet startOptimisation previewOptimisation
  listRiskModels startSweep startRerun startBatch startStudy renderReport listRenders listTemplates
  listStrategies createStrategy validateStrategy
  listPlugins previewPlugin
  listStores createStore inspectData importStore generateSynthetic listWatchlists listSchedules listApprovals listClients
  listProcedures listBatches getGovernance verifyText`.split(/\s+/),
);

/** Returns true if clients with prefixes may call an operation. */
export function knowsPrefixes(id: string, { path }: Route): boolean {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  if (
    names.some((name) => !(name in NAMED_DOCUMENTS) && !RESOLVED_PARAMETERS.has(name) && !SHARED_OPERATIONS.has(name))
  )
    return false;
  return (
    UNRESTRICTED_OPERATIONS.has(id) ||
    names.some((name) => name in NAMED_DOCUMENTS || RESOLVED_PARAMETERS.has(name) || SHARED_OPERATIONS.has(name))
  );
}

/**
 * Refuses a request for documents that a client with prefixes may not use. The client must be allowed to read the
 * documents in path and query. If the operation writes or runs, the client must own them.
 * @throws Refusal FORBIDDEN_ID, or the refusal of an absent document
 */
function assertReach(
  { id, route }: { readonly id: string; readonly route: Route },
  getPathId: (name: string) => string | undefined,
  query: () => Readonly<Record<string, unknown>>,
  reach: Reach,
): void {
  if (!knowsPrefixes(id, route)) throw refusePrefixes(reach.prefixes);
  const assertReadable = (kind: string, subject: string): void => {
    if (!mayRead(reach, kind, subject)) throw outside(reach, kind, subject);
  };
  const assertNamed = (kind: string, subject: string | undefined): void => {
    if (subject === undefined || (kind === 'template' && isBuiltIn(subject))) return;
    if (route.scope === 'read') assertReadable(kind, subject);
    else if (!isWithin(reach, subject)) throw outside(reach, kind, subject);
  };
  for (const [name, { kind }] of Object.entries(NAMED_DOCUMENTS)) assertNamed(kind, getPathId(name));
  assertNamed(getPathId('kind') ?? '', getPathId('document_id'));
  const queryValues = query(); // the query is checked after the path, as in all routes
  for (const [name, { kind }] of Object.entries(NAMED_DOCUMENTS)) {
    const subject = queryValues[name];
    if (typeof subject !== 'string') continue;
    if (kind === 'store' && route.onStore === 'query') assertReadable(kind, subject);
    else assertNamed(kind, subject);
  }
}

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
  /** Checks a large body of a route in a thread. Undefined if the event loop checks all bodies. */
  readonly checkLargeBody: ((operation: string, bytes: Uint8Array) => Promise<CheckedBody>) | undefined;
  /** Waits for the turn of a key; undefined if it has come. */
  readonly awaitTurn: KeyTurns;
  readonly findVersion: FindVersion;
}

/**
 * Creates the operation of a route. It runs the checks of the route before its handler, in this order: scope, syntax of
 * the body, ids and query. The handler then finds the resource and parses the body. Errors in the body are reported
 * only after that.
 */
function createOperation(
  id: string,
  route: Route,
  handler: Handler<Route>,
  paths: ReadonlySet<string>,
  {
    withinStore,
    dataSettled,
    follow,
    assertCallback,
    authenticate,
    findReach,
    isReadOnly,
    checkLargeBody,
    awaitTurn,
    findVersion,
  }: OperationOptions,
): Operation {
  if (route.method === 'GET' && route.body !== undefined) throw new Error(`${id}: a GET has no body`);
  const readQuery: QueryReader = route.openQuery === true ? () => ({}) : createQueryReader(() => defineQuery(route));
  const acceptsCallback = startsJobs(route);
  const offeredTypes = listMediaTypes(route);
  const listFormats = callOnce(() => getFormats(route));
  const checkApart = checkLargeBody && ((bytes: Uint8Array) => checkLargeBody(id, bytes));
  const idNames = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  const addSource = createSourceWriter(route, paths, findVersion);

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
      { sent: sentBody, isStillAllowed: () => isAllowed(exchange, reach) },
    );
    if (route.body?.report === true && typeof sentBody === 'function') {
      const report = findReport(sentBody);
      if (report !== undefined) return report;
    }
    const { store_id: storeId } = route.onStore === 'query' ? query : route.onStore === 'path' ? params : {};
    const reply = typeof storeId === 'string' ? withinStore(storeId, () => handler(request)) : handler(request);
    if (addSource === undefined) return reply;
    const sentBytes = isUpload(sentBody) ? undefined : sentBody?.bytes;
    return Promise.resolve(reply).then((result) => addSource(exchange.request, exchange.search, result, sentBytes));
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
      return runForClient(principal.keyId, () =>
        principal.prefixes === undefined ? answerAll(exchange, principal) : answerWithin(exchange, principal),
      );
    },
  };

  function answerAll(exchange: Exchange, principal: Principal): Reply | Promise<Reply> {
    const { body } = route;
    if (body === undefined) return runWithRetry(exchange, principal, undefined);
    const upload = openUpload(exchange.request, body);
    return upload === undefined ? answerSent(exchange, principal, body) : runWithRetry(exchange, principal, { upload });
  }

  async function answerSent(exchange: Exchange, principal: Principal, body: Body): Promise<Reply> {
    const sent = await readBody(exchange.request, body, checkApart);
    await awaitTurn(principal.keyId);
    return runWithRetry(exchange, principal, sent);
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
type SentBody = BodyReader | { readonly upload: Upload } | undefined;

const isUpload = (body: SentBody): body is { readonly upload: Upload } => typeof body === 'object';

/** Returns the report on a document whose shape was refused before its service. Returns undefined for any other body. */
function findReport(read: BodyReader): Reply | undefined {
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

/** Body that was received, and a check that the client still has access. */
interface ReceivedBody {
  readonly sent: SentBody;
  readonly isStillAllowed: () => Promise<boolean>;
}

/**
 * Request as handlers receive it. It is a class, because getters in an object literal cost more than all other members
 * together. The values are computed when they are read.
 */
class ParsedRequest implements RouteRequest<Route> {
  readonly #exchange: Exchange;
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
    { sent, isStillAllowed }: ReceivedBody,
  ) {
    this.isStillAllowed = isStillAllowed;
    this.#exchange = exchange;
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
    const sent = this.#sent;
    return () => (typeof sent === 'function' ? sent() : undefined) as ReturnType<RouteRequest<Route>['body']>;
  }

  get lines() {
    const sent = this.#sent;
    return () => (typeof sent === 'function' ? sent.lines : undefined);
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

export interface PathOperations {
  readonly byMethod: ReadonlyMap<string, Operation>;
  readonly allowed: readonly string[];
  /** True if all methods of the path can be called without a key. */
  readonly isOpen: boolean;
}

/** Path that matches a request. */
export interface FoundPath {
  readonly operations: PathOperations;
  /** Returns a path parameter by name, percent-decoded. */
  readonly param: (name: string) => string | undefined;
}

/**
 * Finds the operations of a path in a request. Each path is registered once and selects its method itself. A wrong
 * method therefore gives another error than an unknown path. Fixed words have priority over parameters.
 */
export function createPaths<T extends Record<string, Route>>(
  api: T,
  handlers: Handlers<T>,
  options: OperationOptions,
): (path: string) => FoundPath | undefined {
  // The router is built at once. If the first request built it, that request would be delayed.
  const router = new TrieRouter<PathOperations>();
  const fixedPaths = new Map<string, FoundPath>();
  for (const [path, operations] of groupByPath(api, handlers, options)) {
    router.add(METHOD, path.replaceAll(/\{(\w+)\}/g, ':$1'), operations);
    if (!/[{*]/.test(path)) fixedPaths.set(path, { operations, param: ignoreParams });
  }
  return (path) => {
    const foundPath = fixedPaths.get(path);
    if (foundPath !== undefined) return foundPath;
    const [found] = router.match(METHOD, path)[0];
    if (found === undefined) return undefined;
    const [operations, params] = found;
    return {
      operations,
      param(name) {
        const encodedValue = params[name];
        return typeof encodedValue === 'string' ? tryDecodeURIComponent(encodedValue) : undefined;
      },
    };
  };
}

/** Method of all entries. The router does not select by method. */
const METHOD = 'ALL';

export const ignoreParams = (): undefined => undefined;

/** Groups operations by path, fixed words first. */
function groupByPath<T extends Record<string, Route>>(
  api: T,
  handlers: Handlers<T>,
  options: OperationOptions,
): [string, PathOperations][] {
  const paths = new Map<string, Map<string, Operation>>();
  const allPaths = new Set(Object.values<Route>(api).map(({ path }) => path));
  for (const [id, route] of Object.entries(api)) {
    const methods = paths.get(route.path) ?? new Map<string, Operation>();
    if (methods.has(route.method)) throw new Error(`${route.method} ${route.path} is declared twice`);
    // The types of the table pair each route with its handler. The pipeline passes exactly the values that the schemas
    // of the route have parsed.
    methods.set(route.method, createOperation(id, route, handlers[id] as unknown as Handler<Route>, allPaths, options));
    paths.set(route.path, methods);
  }
  return [...paths]
    .map(([path, byMethod]) => ({ path, byMethod, rank: formatSegmentOrder(path) }))
    .toSorted((a, b) => compareText(a.rank, b.rank))
    .map(({ path, byMethod }) => [path, createPathOperations(byMethod)]);
}

function createPathOperations(byMethod: Map<string, Operation>): PathOperations {
  const allowedMethods = [...byMethod.keys()]
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .toSorted();
  return {
    byMethod,
    allowed: allowedMethods,
    isOpen: [...byMethod.values()].every(({ route }) => route.scope === 'open'),
  };
}

/** Returns a text that sorts paths by their segments: first fixed words, then parameters, then wildcards. */
function formatSegmentOrder(path: string): string {
  return path
    .split('/')
    .map((segment) => (segment === '*' ? '2' : segment.startsWith('{') ? '1' : '0'))
    .join('');
}
