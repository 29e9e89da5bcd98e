import type { versionRoutes } from '#contract/versions.js';
import type { Authorship, VersionedKind } from '#domain/definition/versions.js';
import type { DatasetRegistration } from '#services/stores/registration.js';
import { ProcedureDocument } from '#domain/definition/procedures.js';
import type { Procedures } from '#services/governance/statements.js';
import { toClosuresReply, toProcedureReply } from './governance.js';
import { ClientDocument } from '#domain/definition/delivery.js';
import { ScheduleDocument } from '#domain/outputs/daily-plans.js';
import { ClosuresDocument } from '#domain/calendars/calendar.js';
import type { Closures } from '#services/governance/closures.js';
import type { Clients } from '#services/delivery/clients.js';
import type { Schedules } from '#services/daily-plans/schedules.js';
import type { Watchlists } from '#services/indices/watchlists.js';
import type { Plugins } from '#services/indices/plugins.js';
import type { VersionContent, Versions } from '#services/shared/versions.js';
import type { Indices } from '#services/indices/indices.js';
import type { Strategies } from '#services/indices/strategies.js';
import type { Optimise } from '#services/optimise/optimisations.js';
import type { Reports } from '#services/reports/reports.js';
import type { Precondition } from '#services/shared/documents.js';
import { WatchlistDocument } from '#domain/definition/index-document.js';
import { PluginDocument } from '#domain/definition/plugins.js';
import type { Handlers, Principal, Reply } from '../handler.js';
import { assertMaySchedule, toClientReply, toScheduleReply } from './schedules.js';

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

export function createVersionHandlers(services: VersionedServices): Handlers<typeof versionRoutes> {
  const { versions, indices, strategies, optimisations, reports, watchlists } = services;
  const index = createFamilyHandlers(versions, 'index', 'index_id', async ({ body }, id, ifMatch, authorship) =>
    createSavedReply(await indices.replace(id, body, ifMatch, authorship)),
  );
  const strategy = createFamilyHandlers(
    versions,
    'strategy',
    'strategy_id',
    async ({ body }, id, ifMatch, authorship) =>
      createSavedReply(await strategies.replace(id, body, ifMatch, authorship)),
  );
  const handlers = createFamilyHandlers(
    versions,
    'constraint-set',
    'constraint_set_id',
    async ({ body }, id, ifMatch, authorship) =>
      createSavedReply(await optimisations.replaceSet(id, body, ifMatch, authorship)),
  );
  const template = createFamilyHandlers(
    versions,
    'template',
    'template_id',
    async ({ body }, id, ifMatch, authorship) =>
      createSavedReply(await reports.putTemplate(id, body, ifMatch, authorship)),
  );
  const watchlist = createFamilyHandlers(
    versions,
    'watchlist',
    'watchlist_id',
    async ({ body }, id, ifMatch, authorship) => {
      const restoredDocument = await watchlists.put(id, WatchlistDocument.parse(body), ifMatch, authorship);
      return { json: restoredDocument.watchlist, etag: restoredDocument.etag };
    },
  );
  return {
    listIndexVersions: index.list,
    diffIndexVersions: index.difference,
    getIndexVersion: index.read,
    restoreIndexVersion: index.restore,
    listStrategyVersions: strategy.list,
    diffStrategyVersions: strategy.difference,
    getStrategyVersion: strategy.read,
    restoreStrategyVersion: strategy.restore,
    listConstraintSetVersions: handlers.list,
    diffConstraintSetVersions: handlers.difference,
    getConstraintSetVersion: handlers.read,
    restoreConstraintSetVersion: handlers.restore,
    listTemplateVersions: template.list,
    diffTemplateVersions: template.difference,
    getTemplateVersion: template.read,
    restoreTemplateVersion: template.restore,
    listWatchlistVersions: watchlist.list,
    diffWatchlistVersions: watchlist.difference,
    getWatchlistVersion: watchlist.read,
    restoreWatchlistVersion: watchlist.restore,
    ...createLaterHandlers(services),
  };
}

/** Creates the version handlers of clients, plug-ins, schedules, procedures, closures and data stores. */
function createLaterHandlers({
  versions,
  plugins,
  schedules,
  procedures,
  closures,
  clients,
  datasets,
}: VersionedServices) {
  const client = createFamilyHandlers(versions, 'client', 'client_id', async ({ body }, id, ifMatch, authorship) =>
    toClientReply(await clients.put(id, ClientDocument.parse(body), ifMatch, authorship)),
  );
  const plugin = createFamilyHandlers(versions, 'plugin', 'plugin_id', async ({ body }, id, ifMatch, authorship) => {
    const restoredDocument = await plugins.put(id, PluginDocument.parse(body), ifMatch, authorship);
    return { json: restoredDocument.plugin, etag: restoredDocument.etag };
  });
  const schedule = createFamilyHandlers(
    versions,
    'schedule',
    'schedule_id',
    async ({ body }, id, ifMatch, authorship, principal) => {
      const plan = ScheduleDocument.parse(body);
      assertMaySchedule(principal, plan);
      return toScheduleReply(await schedules.put(id, plan, ifMatch, authorship));
    },
  );
  const procedure = createFamilyHandlers(
    versions,
    'procedure',
    'procedure_id',
    async ({ body }, id, ifMatch, authorship) =>
      toProcedureReply(await procedures.put(id, ProcedureDocument.parse(body), ifMatch, authorship)),
  );
  const calendar = createFamilyHandlers(
    versions,
    'closures',
    'calendar_code',
    async ({ body }, code, ifMatch, authorship) =>
      toClosuresReply(await closures.put(code, ClosuresDocument.parse(body), ifMatch, authorship)),
  );
  const store = createFamilyHandlers(versions, 'store', 'store_id', async (version, _, ifMatch, authorship) => {
    const { store: json, etag } = await datasets.restore(version, ifMatch, authorship);
    return { json, ...(etag === undefined ? {} : { etag }) };
  });
  return {
    listPluginVersions: plugin.list,
    diffPluginVersions: plugin.difference,
    getPluginVersion: plugin.read,
    restorePluginVersion: plugin.restore,
    listScheduleVersions: schedule.list,
    diffScheduleVersions: schedule.difference,
    getScheduleVersion: schedule.read,
    restoreScheduleVersion: schedule.restore,
    listClientVersions: client.list,
    diffClientVersions: client.difference,
    getClientVersion: client.read,
    restoreClientVersion: client.restore,
    listClosuresVersions: calendar.list,
    diffClosuresVersions: calendar.difference,
    getClosuresVersion: calendar.read,
    restoreClosuresVersion: calendar.restore,
    listProcedureVersions: procedure.list,
    diffProcedureVersions: procedure.difference,
    getProcedureVersion: procedure.read,
    restoreProcedureVersion: procedure.restore,
    listStoreVersions: store.list,
    diffStoreVersions: store.difference,
    getStoreVersion: store.read,
    restoreStoreVersion: store.restore,
  };
}

/** Function that restores a version. */
type RestoreFunction = (
  version: VersionContent,
  id: string,
  ifMatch: Precondition | undefined,
  by: Authorship,
  principal: Principal,
) => Promise<Reply>;

const createSavedReply = ({ saved: json, etag }: { readonly saved: unknown; readonly etag: string }): Reply => ({
  json,
  etag,
});

interface DocumentParams<N extends string> {
  readonly params: { readonly [K in N]: string };
}

interface VersionParams<N extends string> {
  readonly params: { readonly [K in N | 'version']: string };
}

/** Parts of a request that restoring a version uses. */
interface WriteRequest {
  readonly principal: Principal;
  precondition(): Precondition | undefined;
  authorship(): Authorship;
}

/** Creates the four version handlers of a document family. Their path has one parameter for the id. */
function createFamilyHandlers<N extends string>(
  versions: Versions,
  kind: VersionedKind,
  name: N,
  write: RestoreFunction,
) {
  return {
    list: async (request: DocumentParams<N> & { readonly query: Parameters<Versions['list']>[1] }): Promise<Reply> => ({
      json: await versions.list({ kind, id: request.params[name] }, request.query),
    }),
    difference: async (
      request: DocumentParams<N> & { readonly query: Parameters<Versions['difference']>[1] },
    ): Promise<Reply> => ({ json: await versions.difference({ kind, id: request.params[name] }, request.query) }),
    async read({ params }: VersionParams<N>): Promise<Reply> {
      const { body, etag, version } = await versions.read({ kind, id: params[name] }, Number(params.version));
      return { json: body, etag, headers: { 'X-Version': String(version) } };
    },
    async restore(request: VersionParams<N> & WriteRequest): Promise<Reply> {
      const id = request.params[name];
      const version = await versions.restorable({ kind, id }, Number(request.params.version));
      return write(
        version,
        id,
        request.precondition(),
        { ...request.authorship(), restores: version.version },
        request.principal,
      );
    },
  };
}
