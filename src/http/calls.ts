import { listPathParameters, type Route, startsJobs } from '#contract/route.js';
import { VERSIONED_FAMILIES, type versionRoutes } from '#contract/versions.js';
import { NAMED_DOCUMENTS } from '#domain/definition/reach.js';
import type { Authorship, Subject, VersionedKind } from '#domain/definition/versions.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { Restorations } from '#services/governance/restorations.js';
import type { Precondition } from '#services/shared/documents.js';
import type { PurgedDocument, Versions } from '#services/shared/versions.js';
import { toDocumentReply, toJobReply } from './answers.js';
import type { Handler, Handlers, Principal, Reply, RouteRequest } from './handler.js';

/** Routes of a table that name a service call. */
export type CalledRoutes<T extends Record<string, Route>> = {
  [K in keyof T as T[K] extends { readonly call: string } ? K : never]: T[K];
};

/** Handlers of the routes of a table that name no service call. */
export type OwnHandlers<T extends Record<string, Route>> = Handlers<Omit<T, keyof CalledRoutes<T>>>;

type ParameterNames<P extends string> = P extends `${string}{${infer N}}${infer Rest}`
  ? [N, ...ParameterNames<Rest>]
  : [];
type ParameterValues<P, N> = N extends [infer First extends keyof P, ...infer Rest]
  ? [P[First], ...ParameterValues<P, Rest>]
  : [];
type If<Condition, T extends unknown[]> = Condition extends true ? T : [];
type Has<R, Member extends string> = R extends { readonly [M in Member]: object } ? true : false;

/** Arguments of the service call of a route. */
type CallArguments<R extends Route> = [
  ...ParameterValues<RouteRequest<R>['params'], ParameterNames<R['path']>>,
  ...If<R['method'] extends 'DELETE' ? false : Has<R, 'query'>, [RouteRequest<R>['query']]>,
  ...If<Has<R, 'body'>, [ReturnType<RouteRequest<R>['body']>]>,
  ...If<R['method'] extends 'PUT' | 'PATCH' | 'DELETE' ? true : false, [Precondition | undefined]>,
  ...If<R['versioned'], [Authorship]>,
  ...If<R['success']['status'] extends 202 ? true : R['startsJobs'], [JobOrigin]>,
  AbortSignal,
];

type ServiceOf<R> = R extends Route & { readonly call: `${infer S}.${infer M}` }
  ? { readonly [Service in S]: { readonly [Method in M]: (...parameters: CallArguments<R>) => unknown } }
  : never;
type Intersection<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never;

/** Services that the routes of a table call. */
export type CalledServices<T> = Intersection<{ [K in keyof T]: ServiceOf<T[K]> }[keyof T]>;

type ServiceCall = (...parameters: readonly unknown[]) => unknown;

/**
 * Returns a handler for every route of a table that names a service call.
 * @param removals required by a table with deletions of versioned documents
 */
export function deriveHandlers<const T extends Record<string, Route>>(
  api: T,
  services: CalledServices<T>,
  removals?: Removals,
): Handlers<CalledRoutes<T>> {
  const methods = services as unknown as Readonly<Record<string, Readonly<Record<string, ServiceCall>>>>;
  const handlers = Object.entries<Route>(api).flatMap(([id, route]) => {
    if (route.call === undefined) return [];
    const [service = '', method = ''] = route.call.split('.');
    return [[id, createCallHandler(route, (...parameters) => methods[service]![method]!(...parameters), removals)]];
  });
  return Object.fromEntries(handlers) as Handlers<CalledRoutes<T>>; // one for each route with a call
}

function createCallHandler(route: Route, call: ServiceCall, removals: Removals | undefined): Handler<Route> {
  const names = listPathParameters(route.path);
  const isDeletion = route.method === 'DELETE';
  const isWrite = isDeletion || route.method === 'PUT' || route.method === 'PATCH';
  return async (request) => {
    const params = request.params as Readonly<Record<string, string>>;
    if (isDeletion && route.query !== undefined && removals !== undefined) {
      const [name = ''] = names;
      const { kind } = NAMED_DOCUMENTS[name]!; // a deletion names a document
      const removal = request as unknown as RemovalRequest; // every deletion with a query accepts `purge`
      return removals.run(removal, { kind: kind as VersionedKind, id: params[name]! }, async (...parameters) =>
        call(...parameters),
      );
    }
    const result = await call(
      ...names.map((name) => params[name]),
      ...(route.query === undefined ? [] : [request.query]),
      ...(route.body === undefined ? [] : [request.body()]),
      ...(isWrite ? [request.precondition()] : []),
      ...(route.versioned === true ? [request.authorship()] : []),
      ...(startsJobs(route) ? [request.origin] : []),
      request.signal,
    );
    return toReply(result, route.success);
  };
}

/** Returns the reply of a result: bytes, a stored document with its etag, a started job, or JSON. */
function toReply(result: unknown, { status }: Route['success']): Reply {
  if (status === 204) return {};
  if (result instanceof Uint8Array) return { bytes: result as Uint8Array<ArrayBuffer> };
  if (typeof result !== 'object' || result === null) return { json: result };
  if ('etag' in result) return toDocumentReply(result as Parameters<typeof toDocumentReply>[0]);
  return status === 202 && 'job_id' in result ? toJobReply(result as { readonly job_id: string }) : { json: result };
}

/** Part of a request that deletes a versioned document. */
interface RemovalRequest {
  readonly query: { readonly purge: boolean };
  readonly principal: Principal;
  precondition(): Precondition | undefined;
  authorship(): Authorship;
}

/** Deletions of versioned documents, with or without `purge`. */
export interface Removals {
  /**
   * Returns the authorship for a deletion. If the document was already deleted, returns the versions that were purged.
   * @throws Refusal FORBIDDEN_SCOPE for a purge without the scope admin
   */
  of(request: RemovalRequest, subject: Subject): Promise<Authorship | PurgedDocument>;
  /** Deletes a document unless its versions were purged. The reply has no body. */
  run(
    request: RemovalRequest,
    subject: Subject,
    remove: (id: string, ifMatch: Precondition | undefined, by: Authorship) => Promise<unknown>,
  ): Promise<Reply>;
}

export function createRemovals(versions: Pick<Versions, 'prepareRemoval'>): Removals {
  const of: Removals['of'] = ({ query, principal: { scopes }, authorship }, subject) =>
    versions.prepareRemoval(subject, authorship(), { purges: query.purge, scopes });
  return {
    of,
    async run(request, subject, remove) {
      const removal = await of(request, subject);
      if (!('purgedRuns' in removal)) await remove(subject.id, request.precondition(), removal);
      return {};
    },
  };
}

/** Creates the four handlers of each family of documents. */
export function createVersionHandlers(versions: Versions, restorations: Restorations): Handlers<typeof versionRoutes> {
  const handlers: Record<string, Handler<Route>> = {};
  for (const { name, kind, parameter } of VERSIONED_FAMILIES) {
    const getId = ({ params }: RouteRequest<Route>): string => (params as Record<string, string>)[parameter]!;
    const getVersion = ({ params }: RouteRequest<Route>): number =>
      Number((params as Record<string, string>)['version']);
    handlers[`list${name}Versions`] = async (request) => ({
      json: await versions.list(
        { kind, id: getId(request) },
        request.query as unknown as Parameters<Versions['list']>[1],
      ),
    });
    handlers[`diff${name}Versions`] = async (request) => ({
      json: await versions.difference(
        { kind, id: getId(request) },
        request.query as unknown as Parameters<Versions['difference']>[1],
      ),
    });
    handlers[`get${name}Version`] = async (request) => {
      const { body, etag, version } = await versions.read({ kind, id: getId(request) }, getVersion(request));
      return { json: body, etag, headers: { 'X-Version': String(version) } };
    };
    handlers[`restore${name}Version`] = async (request) => {
      const id = getId(request);
      const version = await versions.restorable({ kind, id }, getVersion(request));
      const authorship = { ...request.authorship(), restores: version.version };
      return toDocumentReply(
        await restorations[kind](version, id, request.precondition(), authorship, request.principal.scopes),
      );
    };
  }
  return handlers as unknown as Handlers<typeof versionRoutes>; // the families are those of the contract
}
