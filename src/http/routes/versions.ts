import type { Route } from '#contract/route.js';
import type { versionRoutes } from '#contract/versions.js';
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

/** Families of documents: the name in the operations, the kind, the parameter of the path and the write. */
function listFamilies(services: VersionedServices): [string, VersionedKind, string, Restore][] {
  const { indices, strategies, optimisations, reports, watchlists, plugins, schedules } = services;
  const { procedures, closures, clients, datasets } = services;
  return [
    ['Index', 'index', 'index_id', ({ body }, id, ifMatch, by) => indices.replace(id, body, ifMatch, by)],
    ['Strategy', 'strategy', 'strategy_id', ({ body }, id, ifMatch, by) => strategies.replace(id, body, ifMatch, by)],
    [
      'ConstraintSet',
      'constraint-set',
      'constraint_set_id',
      ({ body }, id, ifMatch, by) => optimisations.replaceSet(id, body, ifMatch, by),
    ],
    ['Template', 'template', 'template_id', ({ body }, id, ifMatch, by) => reports.putTemplate(id, body, ifMatch, by)],
    [
      'Watchlist',
      'watchlist',
      'watchlist_id',
      ({ body }, id, ifMatch, by) => watchlists.put(id, WatchlistDocument.parse(body), ifMatch, by),
    ],
    [
      'Plugin',
      'plugin',
      'plugin_id',
      ({ body }, id, ifMatch, by) => plugins.put(id, PluginDocument.parse(body), ifMatch, by),
    ],
    [
      'Procedure',
      'procedure',
      'procedure_id',
      ({ body }, id, ifMatch, by) => procedures.put(id, ProcedureDocument.parse(body), ifMatch, by),
    ],
    [
      'Closures',
      'closures',
      'calendar_code',
      ({ body }, id, ifMatch, by) => closures.put(id, ClosuresDocument.parse(body), ifMatch, by),
    ],
    [
      'Client',
      'client',
      'client_id',
      ({ body }, id, ifMatch, by) => clients.put(id, ClientDocument.parse(body), ifMatch, by),
    ],
    ['Store', 'store', 'store_id', (version, _id, ifMatch, by) => datasets.restore(version, ifMatch, by)],
    [
      'Schedule',
      'schedule',
      'schedule_id',
      async ({ body }, id, ifMatch, by, principal) => {
        const plan = ScheduleDocument.parse(body);
        assertMaySchedule(principal, plan);
        return schedules.put(id, plan, ifMatch, by);
      },
    ],
  ];
}

/** Creates the four handlers of each family of documents. */
export function createVersionHandlers(services: VersionedServices): Handlers<typeof versionRoutes> {
  const { versions } = services;
  const handlers: Record<string, Handler<Route>> = {};
  for (const [name, kind, parameter, restore] of listFamilies(services)) {
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
      return toDocumentReply(await restore(version, id, request.precondition(), authorship, request.principal));
    };
  }
  return handlers as unknown as Handlers<typeof versionRoutes>; // the families are those of the contract
}
