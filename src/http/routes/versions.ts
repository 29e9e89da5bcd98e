import type { Route } from '#contract/route.js';
import { VERSIONED_FAMILIES, type versionRoutes } from '#contract/versions.js';
import { ClosuresDocument } from '#domain/calendars/calendar.js';
import { ClientDocument } from '#domain/definition/delivery.js';
import { WatchlistDocument } from '#domain/definition/index-document.js';
import { PluginDocument } from '#domain/definition/plugins.js';
import { ProcedureDocument } from '#domain/definition/procedures.js';
import type { Authorship, VersionedKind } from '#domain/definition/versions.js';
import { ScheduleDocument } from '#domain/outputs/daily-plans.js';
import type { Schedules } from '#services/daily-plans/schedules.js';
import type { Clients } from '#services/delivery/clients.js';
import type { Closures } from '#services/governance/closures.js';
import type { Procedures } from '#services/governance/statements.js';
import type { Indices } from '#services/indices/indices.js';
import type { Plugins } from '#services/indices/plugins.js';
import type { Strategies } from '#services/indices/strategies.js';
import type { Watchlists } from '#services/indices/watchlists.js';
import type { Optimise } from '#services/optimise/optimisations.js';
import type { Reports } from '#services/reports/reports.js';
import type { Precondition } from '#services/shared/documents.js';
import type { VersionContent, Versions } from '#services/shared/versions.js';
import type { DatasetRegistration } from '#services/stores/registration.js';
import { toDocumentReply } from '../answers.js';
import type { Handler, Handlers, Principal, RouteRequest } from '../handler.js';
import { assertMaySchedule } from './schedules.js';

/** Services with versioned documents. To restore a version, their usual write is called. */
export interface VersionedServices {
  readonly versions: Versions;
  readonly indices: Pick<Indices, 'replace'>;
  readonly strategies: Pick<Strategies, 'replace'>;
  readonly optimisations: Pick<Optimise, 'replaceSet'>;
  readonly reports: Pick<Reports, 'putTemplate'>;
  readonly watchlists: Pick<Watchlists, 'put'>;
  readonly plugins: Pick<Plugins, 'put'>;
  readonly schedules: Pick<Schedules, 'put'>;
  readonly procedures: Pick<Procedures, 'put'>;
  readonly closures: Pick<Closures, 'put'>;
  readonly clients: Pick<Clients, 'put'>;
  readonly datasets: Pick<DatasetRegistration, 'restore'>;
}

/** Writes a version again. Returns the stored document with its etag. */
type Restore = (
  version: VersionContent,
  id: string,
  ifMatch: Precondition | undefined,
  by: Authorship,
  principal: Principal,
) => Promise<Parameters<typeof toDocumentReply>[0]>;

/** Returns the write that restores a version, by kind of document. */
function listRestorations(services: VersionedServices): Readonly<Record<VersionedKind, Restore>> {
  const { indices, strategies, optimisations, reports, watchlists, plugins, schedules } = services;
  const { procedures, closures, clients, datasets } = services;
  return {
    index: ({ body }, id, ifMatch, by) => indices.replace(id, body, ifMatch, by),
    strategy: ({ body }, id, ifMatch, by) => strategies.replace(id, body, ifMatch, by),
    'constraint-set': ({ body }, id, ifMatch, by) => optimisations.replaceSet(id, body, ifMatch, by),
    template: ({ body }, id, ifMatch, by) => reports.putTemplate(id, body, ifMatch, by),
    watchlist: ({ body }, id, ifMatch, by) => watchlists.put(id, WatchlistDocument.parse(body), ifMatch, by),
    plugin: ({ body }, id, ifMatch, by) => plugins.put(id, PluginDocument.parse(body), ifMatch, by),
    procedure: ({ body }, id, ifMatch, by) => procedures.put(id, ProcedureDocument.parse(body), ifMatch, by),
    closures: ({ body }, id, ifMatch, by) => closures.put(id, ClosuresDocument.parse(body), ifMatch, by),
    client: ({ body }, id, ifMatch, by) => clients.put(id, ClientDocument.parse(body), ifMatch, by),
    store: (version, _id, ifMatch, by) => datasets.restore(version, ifMatch, by),
    async schedule({ body }, id, ifMatch, by, principal) {
      const plan = ScheduleDocument.parse(body);
      assertMaySchedule(principal, plan);
      return schedules.put(id, plan, ifMatch, by);
    },
  };
}

/** Creates the four handlers of each family of documents. */
export function createVersionHandlers(services: VersionedServices): Handlers<typeof versionRoutes> {
  const { versions } = services;
  const handlers: Record<string, Handler<Route>> = {};
  const restorations = listRestorations(services);
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
        await restorations[kind](version, id, request.precondition(), authorship, request.principal),
      );
    };
  }
  return handlers as unknown as Handlers<typeof versionRoutes>; // the families are those of the contract
}
