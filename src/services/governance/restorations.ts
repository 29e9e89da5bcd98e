import type { Scope } from '#contract/route.js';
import { ClosuresDocument } from '#domain/calendars/calendar.js';
import { ClientDocument } from '#domain/definition/delivery.js';
import { WatchlistDocument } from '#domain/definition/index-document.js';
import { PluginDocument } from '#domain/definition/plugins.js';
import { ProcedureDocument } from '#domain/definition/procedures.js';
import { ScheduleDocument } from '#domain/outputs/daily-plans.js';
import type { Authorship, VersionedKind } from '#domain/definition/versions.js';
import { assertMaySchedule, type Schedules } from '../daily-plans/schedules.js';
import type { Clients } from '../delivery/clients.js';
import type { Indices } from '../indices/indices.js';
import type { Plugins } from '../indices/plugins.js';
import type { Strategies } from '../indices/strategies.js';
import type { Watchlists } from '../indices/watchlists.js';
import type { Optimise } from '../optimise/optimisations.js';
import type { Reports } from '../reports/reports.js';
import type { Precondition } from '../shared/documents.js';
import type { VersionContent } from '../shared/versions.js';
import type { DatasetRegistration } from '../stores/stores.js';
import type { Closures } from './closures.js';
import type { Procedures } from './statements.js';

/** Services with versioned documents. To restore a version, their usual write is called. */
export interface VersionedServices {
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
  scopes: ReadonlySet<Scope>,
) => Promise<{ readonly etag?: string | null | undefined }>;

export type Restorations = Readonly<Record<VersionedKind, Restore>>;

/** Returns the write that restores a version, by kind of document. */
export function createRestorations(services: VersionedServices): Restorations {
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
    async schedule({ body }, id, ifMatch, by, scopes) {
      const plan = ScheduleDocument.parse(body);
      assertMaySchedule(scopes, plan);
      return schedules.put(id, plan, ifMatch, by);
    },
  };
}
