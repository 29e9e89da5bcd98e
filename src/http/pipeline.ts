import { callOnce } from '#base/once.js';
import {
  type CheckedBody,
  getFormats,
  isReading,
  listMediaTypes,
  listPathParameters,
  type Route,
  type Scope,
  startsJobs,
} from '#contract/route.js';
import { createQueryReader } from '#contract/query.js';
import { knowsPrefixes } from '#contract/reach.js';
import { type Finding, reportFindings } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { checkShape } from '#domain/base/schema.js';
import { isDatasetLoading } from '#domain/definition/datasets.js';
import { isSameReach, isIdWithin, mayRead, NAMED_DOCUMENTS, type Reach } from '#domain/definition/reach.js';
import { LOCAL_AUTHOR, NOTE_LENGTH_MAX } from '#domain/definition/versions.js';
import type { JobPriority } from '#domain/outputs/job-priority.js';
import { isBuiltIn } from '#domain/outputs/report-templates.js';
import { currentReach, outside, refusePrefixes, runForClient, withinReach } from '#services/keys/access.js';
import type { Precondition } from '#services/shared/documents.js';
import { cancelStream, respond } from './answers.js';
import type { Handler, Principal, Reply, RequestContext, RouteRequest, Upload } from './handler.js';
import type { KeyTurns } from './middleware/rates.js';
import { formatJobParent } from './middleware/tracing.js';
import { createSourceWriter, type FindVersion, writeLists } from './sources.js';
import { type BodyReader, openUpload, readBody, selectMedia } from './request.js';

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
    else if (!isIdWithin(reach, subject)) throw outside(reach, kind, subject);
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
  readonly authenticate: (c: RequestContext) => Principal | Promise<Principal>;
  /** True if requests that write or start jobs are refused. */
  readonly isReadOnly: boolean;
  /** Checks a large body of a route in a thread. Undefined if the event loop checks all bodies. */
  readonly checkLargeBody: ((operation: string, bytes: Uint8Array) => Promise<CheckedBody>) | undefined;
  /** Waits for the turn of a key; undefined if it has come. */
  readonly awaitTurn: KeyTurns;
  readonly findVersion: FindVersion;
  /** All paths of the service. */
  readonly paths: ReadonlySet<string>;
  /** Receives reads for the audit log. */
  readonly noteRead: (c: RequestContext, operation: string) => void;
}

/**
 * Creates the last handler of a route. It runs the checks of the route before the handler of its service, in this
 * order: scope, syntax of the body, ids and query. The service then finds the resource and parses the body. Errors in
 * the body are reported only after that.
 */
export function createOperation(
  id: string,
  route: Route,
  handler: Handler<Route>,
  options: OperationOptions,
): (c: RequestContext) => Promise<Response> {
  const { withinStore, dataSettled, follow, assertCallback, authenticate, findReach, isReadOnly } = options;
  const { checkLargeBody, awaitTurn, findVersion, paths, noteRead } = options;
  const { body } = route;
  if (route.method === 'GET' && body !== undefined) throw new Error(`${id}: a GET has no body`);
  const readQuery = createQueryReader(route);
  const acceptsCallback = startsJobs(route);
  const offeredTypes = listMediaTypes(route);
  const listFormats = callOnce(() => getFormats(route));
  const checkApart = checkLargeBody && ((bytes: Uint8Array) => checkLargeBody(id, bytes));
  const idNames = listPathParameters(route.path);
  const addSource = createSourceWriter(route, paths, findVersion);
  const mayFollow = route.scope !== 'open' && route.withoutMarket !== true;

  return async (c) => {
    const principal = c.get('principal');
    assertScope(route, principal);
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
    assertReach(
      { id, route },
      (name) => c.req.param(name),
      () => readQuery(getSearch(c)),
      reach,
    );
    return withinReach(reach, () => answer(c));
  }

  /** Reads the body and answers. A request that arrived before its data was loaded is tried again; it changed nothing. */
  async function answer(c: RequestContext): Promise<Reply> {
    const upload = body && openUpload(c.req.raw, body);
    const sentBody = upload ? { upload } : body && (await readBody(c.req.raw, body, checkApart));
    if (body !== undefined && upload === undefined) await awaitTurn(c.get('principal').keyId);
    try {
      return await run(c, sentBody);
    } catch (failure) {
      if (!isDatasetLoading(failure) || isUpload(sentBody)) throw failure; // An upload cannot be read twice.
      await dataSettled();
      return run(c, sentBody);
    }
  }

  async function run(c: RequestContext, sentBody: SentBody): Promise<Reply> {
    if (follow !== undefined && mayFollow) await follow();
    const search = getSearch(c);
    const params = readParams(route, idNames, c);
    const query = readQuery(search);
    if (acceptsCallback && typeof query['callback'] === 'string') assertCallback(query['callback']);
    if (acceptsCallback && query['priority'] === 'high') assertHasScope('admin', c.get('principal'));
    // A format in the query overrides the header.
    const { format } = query;
    const namedFormat = typeof format === 'string' ? listFormats().get(format) : undefined;
    const accept = format === undefined ? c.req.header('accept') : undefined;
    const media = namedFormat ?? selectMedia(accept, offeredTypes, route.success.schema !== undefined);
    const reach = currentReach();
    const request = new ParsedRequest(
      c,
      { params, query: namedFormat === undefined ? query : removeMember(query, 'format'), media },
      { sent: sentBody, isStillAllowed: () => isAllowed(c, reach) },
    );
    if (body?.report === true && typeof sentBody === 'function') {
      const report = findReport(sentBody);
      if (report !== undefined) return report;
    }
    const { store_id: storeId } = route.onStore === 'query' ? query : route.onStore === 'path' ? params : {};
    const reply = await writeLists(
      await (typeof storeId === 'string' ? withinStore(storeId, () => handler(request)) : handler(request)),
    );
    if (addSource === undefined) return reply;
    return addSource(c.req.raw, search, reply, isUpload(sentBody) ? undefined : sentBody?.bytes);
  }

  /** Returns true if the client may still call the route and access the same documents. */
  async function isAllowed(c: RequestContext, reach: Reach | undefined): Promise<boolean> {
    if (c.env.client !== undefined) return c.env.client.isStillAllowed();
    try {
      const principal = await authenticate(c);
      assertScope(route, principal);
      return isSameReach(reach, principal.prefixes === undefined ? undefined : await findReach(principal));
    } catch {
      return false; // the client's next request reports the reason
    }
  }
}

/** Returns the query string without the question mark. */
function getSearch({ req: { url } }: RequestContext): string {
  const queryStart = url.indexOf('?');
  return queryStart === -1 ? '' : url.slice(queryStart + 1);
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

function readParams(route: Route, names: readonly string[], c: RequestContext): Record<string, unknown> {
  if (route.params === undefined) return {};
  const texts = Object.fromEntries(names.map((name) => [name, c.req.param(name) ?? '']));
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
  readonly #context: RequestContext;
  readonly #sent: SentBody;
  readonly isStillAllowed: () => Promise<boolean>;
  readonly principal: Principal;
  readonly params: RouteRequest<Route>['params'];
  readonly query: RouteRequest<Route>['query'];
  readonly media: string;

  constructor(
    context: RequestContext,
    { params, query, media }: RequestParameters,
    { sent, isStillAllowed }: ReceivedBody,
  ) {
    this.isStillAllowed = isStillAllowed;
    this.#context = context;
    this.#sent = sent;
    this.principal = context.get('principal');
    // The schemas of the route have parsed params and query. The generic type only says that they are objects.
    this.params = params as RouteRequest<Route>['params'];
    this.query = query as RouteRequest<Route>['query'];
    this.media = media;
  }

  get header() {
    const { req } = this.#context;
    return (name: string) => req.header(name);
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
    const requestId = this.#context.get('requestId');
    return () => ({
      author: principal.name ?? LOCAL_AUTHOR,
      keyId: principal.keyId,
      note: findNote(header('x-change-note')),
      requestId,
    });
  }

  get search() {
    return () => getSearch(this.#context);
  }

  get origin() {
    const [requestId, trace] = [this.#context.get('requestId'), this.#context.get('trace')];
    const { callback, priority } = this.query as StartQuery; // the schema of each route with callbacks or priorities has these members
    return {
      owner: this.principal.keyId,
      author: this.principal.name,
      note: findNote(this.header('x-change-note')),
      requestId,
      traceId: trace === null ? null : trace.traceId,
      ...(trace !== null && { traceParent: formatJobParent(trace) }),
      callback: callback ?? null,
      ...(priority !== undefined && { priority }),
    };
  }

  get signal() {
    return this.#context.req.raw.signal;
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
