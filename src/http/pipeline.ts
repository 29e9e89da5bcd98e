import { callOnce } from '#base/once.js';
import { type CheckedBody, getFormats, isReading, listMediaTypes, type Route, startsJobs } from '#contract/route.js';
import { createQueryReader, readParams } from '#contract/query.js';
import { knowsPrefixes } from '#contract/operations.js';
import { type Finding, reportFindings } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { isDatasetLoading } from '#domain/definition/datasets.js';
import { isSameReach, type Reach } from '#domain/definition/reach.js';
import { assertWithinReach, currentReach, refusePrefixes, runForClient, withinReach } from '#services/keys/access.js';
import { cancelStream, respond } from './answers.js';
import { getSearch, type Handler, type Principal, type Reply, type RequestContext, RouteRequest } from './handler.js';
import type { KeyTurns } from '#services/keys/rates.js';
import { createSourceWriter, type FindVersion, writeLists } from './sources.js';
import { negotiate, receiveBody, type SentBody } from './request.js';

export interface OperationServices {
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

export const DEFAULT_SERVICES: OperationServices = {
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

export interface OperationOptions extends OperationServices {
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
export function createOperation(
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
