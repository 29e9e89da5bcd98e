import type { accessRoutes, principalRoutes } from '#contract/access.js';
import type { analyticsRoutes } from '#contract/analytics/analytics.js';
import type { ViewRoute, ViewRoutes } from '#contract/analytics/run-views.js';
import { API } from '#contract/api.js';
import type { approvalRoutes } from '#contract/approvals.js';
import type { batchRoutes } from '#contract/batches.js';
import type { closureRoutes, eventRoutes } from '#contract/calendars.js';
import type { clientRoutes } from '#contract/clients.js';
import type { dataRoutes } from '#contract/data.js';
import type { differenceRoutes } from '#contract/differences.js';
import type { auditRoutes, GovernanceOverview, governanceRoutes } from '#contract/governance.js';
import type { IndexDeletion } from '#contract/indices/definitions.js';
import type { indexRoutes } from '#contract/indices/routes.js';
import type { jobRoutes } from '#contract/job-routes.js';
import type { optimiseRoutes } from '#contract/optimise.js';
import type { publicationRoutes } from '#contract/publication.js';
import type { reportRoutes } from '#contract/reports.js';
import type { riskModelImportRoutes, riskModelRoutes } from '#contract/risk-models.js';
import { BUNDLE_MEDIA, JSON_TYPE, listPathParameters, LOG_MEDIA, type Route, startsJobs } from '#contract/route.js';
import type { exportRoutes, replayRoutes, runDifferenceRoutes } from '#contract/runs.js';
import type { scheduleRoutes } from '#contract/schedules.js';
import type { changelogRoutes, Health, healthRoutes, metricsRoutes } from '#contract/service.js';
import type { simulationRoutes } from '#contract/simulations.js';
import type { sqlRoutes } from '#contract/sql.js';
import type { overrideRoutes, storeRoutes } from '#contract/stores.js';
import type { strategyRoutes } from '#contract/strategies.js';
import type { studyRoutes } from '#contract/studies.js';
import { VERSIONED_FAMILIES, type versionRoutes } from '#contract/versions.js';
import type { StaleState } from '#domain/backtest/plan.js';
import { parseJson } from '#domain/base/json.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { type Day, parseValidDay } from '#domain/base/time.js';
import { createCalendarFileName } from '#domain/calendars/exchange-calendars.js';
import { findTextInEffect } from '#domain/definition/amendments.js';
import type { ApprovalAction } from '#domain/definition/approvals.js';
import { ImportHeader, TABLE_FORMATS } from '#domain/definition/datasets.js';
import { NAMED_DOCUMENTS } from '#domain/definition/reach.js';
import type { Authorship, Subject, VersionedKind } from '#domain/definition/versions.js';
import type { ExportFormat } from '#domain/outputs/exports.js';
import { createAccountTemplate } from '#domain/personal/account-table.js';
import { ImportTerms, MODEL_FILES } from '#domain/risk/model-terms.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { Days } from '#services/daily-plans/days.js';
import { assertMaySchedule, type Schedules } from '#services/daily-plans/schedules.js';
import type { Clients } from '#services/delivery/clients.js';
import type { DeliveryRecords } from '#services/delivery/deliveries.js';
import type { Audit, AuditReading } from '#services/governance/audit.js';
import type { Closures } from '#services/governance/closures.js';
import type { Restorations } from '#services/governance/restorations.js';
import type { Procedures, Statements } from '#services/governance/statements.js';
import type { Events } from '#services/indices/events.js';
import type { Indices } from '#services/indices/indices.js';
import type { IndexQuestions } from '#services/indices/questions.js';
import type { Strategies } from '#services/indices/strategies.js';
import { type Access, listClientNames } from '#services/keys/access.js';
import type { Batches, BatchResults } from '#services/optimise/batches.js';
import type { Optimise } from '#services/optimise/optimisations.js';
import type { Studies } from '#services/optimise/studies.js';
import type { Bundles } from '#services/publication/bundles.js';
import type { Publications } from '#services/publication/publications.js';
import { HASH_MEMBER, hashResult, shortenHash } from '#services/reports/receipts.js';
import type { Reports, StoredTemplate } from '#services/reports/reports.js';
import type { ImportedModelBody, RiskModelImports } from '#services/risk/estimation.js';
import type { RiskModels } from '#services/risk/models.js';
import type { Analytics, BacktestBatches } from '#services/runs/backtests.js';
import type { OutsideDifferences, Replays, RunDifferences } from '#services/runs/differences.js';
import type { Exports } from '#services/runs/exports.js';
import type { Simulations } from '#services/runs/simulations.js';
import type { Sql } from '#services/runs/sql.js';
import type { RunViews } from '#services/runs/views.js';
import type { Approvals } from '#services/shared/approvals.js';
import type { Precondition } from '#services/shared/documents.js';
import type { Requester } from '#services/shared/gate.js';
import type { AnyJobEvent, JobKindsService, JobsService, JobView } from '#services/shared/jobs.js';
import type { Metrics } from '#services/shared/metrics.js';
import type { Changelog, HealthReport, HealthService } from '#services/shared/service.js';
import { frameStream, type StoredBytes } from '#services/shared/stamped-json.js';
import type { PurgedDocument, Versions } from '#services/shared/versions.js';
import type { Data } from '#services/stores/data.js';
import type { ImportedBody } from '#services/stores/imports.js';
import type { PriceOverriding } from '#services/stores/price-overrides.js';
import type { Datasets } from '#services/stores/stores.js';
import { formatReferenceCsv } from '#views/asset.js';
import { ARROW_TYPE, CSV_CONTENT_TYPE, CSV_TYPE, streamLogLines, streamLogObject } from '#views/formats/text.js';
import { formatEventCalendar } from '#views/icalendar.js';
import { formatStatement } from '#views/statement-text.js';
import {
  createByteStream,
  nameFile,
  namesEtag,
  parseExportFormat,
  toDocumentReply,
  toFileReply,
  toJobReply,
} from './answers.js';
import {
  assertNoTerms,
  type Handler,
  type Handlers,
  parseTerms,
  type Principal,
  readRunParameters,
  type Reply,
  type RouteRequest,
  type RunParameters,
} from './handler.js';

/** Routes of a table that name a service call. */
type CalledRoutes<T extends Record<string, Route>> = {
  [K in keyof T as T[K] extends { readonly call: string } ? K : never]: T[K];
};

/** Handlers of the routes of a table that name no service call. */
type OwnHandlers<T extends Record<string, Route>> = Handlers<Omit<T, keyof CalledRoutes<T>>>;

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
type CalledServices<T> = Intersection<{ [K in keyof T]: ServiceOf<T[K]> }[keyof T]>;

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

export function createDataHandlers(data: Data): OwnHandlers<typeof dataRoutes> {
  /** Reads from the version of the data that is current now, even if the data changes meanwhile. */
  async function readPinned<Q extends { readonly as_known_on?: string | undefined }>(
    query: Q,
    read: (query: Q) => Promise<Reply>,
  ): Promise<Reply> {
    const pins = await data.pin(query.as_known_on);
    return pins === undefined ? read(query) : { ...(await read({ ...query, as_known_on: pins.as_known_on })), pins };
  }

  return {
    getPrices: ({ params, query, media, signal }) =>
      readPinned(query, async (pinnedQuery) => {
        const bytes = await data.prices(params.identifier, pinnedQuery, FORMATS[media] ?? 'json', signal);
        return media === JSON_TYPE ? { bytes } : { bytes, type: media === CSV_TYPE ? CSV_CONTENT_TYPE : media };
      }),
    getAssetReference: ({ params, query }) =>
      readPinned(query, async (pinnedQuery) => ({ json: await data.reference(params.identifier, pinnedQuery) })),
    getAssetReferences: ({ query, media }) =>
      readPinned(query, async (pinnedQuery) => {
        const batch = await data.referenceBatch(pinnedQuery);
        return media === CSV_TYPE
          ? { bytes: new TextEncoder().encode(formatReferenceCsv(batch)), type: CSV_CONTENT_TYPE }
          : { json: batch };
      }),
    getCorporateActions: ({ params, query }) =>
      readPinned(query, async (pinnedQuery) => ({ json: await data.corporateActions(params.identifier, pinnedQuery) })),
  };
}

const FORMATS: Readonly<Record<string, 'csv' | 'arrow'>> = { [CSV_TYPE]: 'csv', [ARROW_TYPE]: 'arrow' };

export const createOverrideHandlers = (priceOverrides: PriceOverriding): OwnHandlers<typeof overrideRoutes> => ({
  overridePrice: async ({ params, body, authorship, origin }) => ({
    json: await priceOverrides.override(params.store_id, body(), { by: authorship(), origin }),
  }),
});

export function createDatasetHandlers(datasets: Datasets): OwnHandlers<typeof storeRoutes> {
  return {
    createStore: async (request) => ({
      json: await datasets.create(request.body(), createRequester(request), request.authorship()),
    }),
    async updateStore(request) {
      await datasets.get(request.params.store_id);
      const { params, body, precondition, authorship } = request;
      return toDocumentReply(await datasets.update(params.store_id, body(), precondition(), authorship()));
    },
    activateStore: async ({ params, origin }) => ({ json: await datasets.activate(params.store_id, origin) }),
    async refreshStore(request) {
      await datasets.get(request.params.store_id);
      return { json: await datasets.refresh(request.params.store_id, request.body(), request.origin) };
    },
    syncData: async (request) => ({ json: await datasets.sync(request.body(), request.origin) }),
    auditStore: async (request) => ({ json: await datasets.audit(request.params.store_id, createRequester(request)) }),
    async repairStore(request) {
      await datasets.get(request.params.store_id);
      const { params, body, authorship } = request;
      return { json: await datasets.repair(params.store_id, body(), createRequester(request), authorship()) };
    },
    inspectData: async (request) => ({ json: await datasets.inspect(request.body(), createRequester(request)) }),
    importStore: async (request) => ({
      json: await datasets.importData(parseImport(request), createRequester(request), request.authorship()),
    }),
    getImportTemplate({ query, media }) {
      const { bytes, type, name } = datasets.template(query.format ?? (media === ZIP_TYPE ? 'csv.zip' : 'xlsx'));
      return { bytes, type, headers: nameFile(name) };
    },
    generateSynthetic: async (request) => ({
      json: await datasets.generate(request.body(), request.origin, request.authorship()),
    }),
  };
}

/** Returns the client that sends a request about a store. Its signal is aborted when the client disconnects. */
const createRequester = ({ principal, signal }: Pick<RouteRequest<Route>, 'principal' | 'signal'>): Requester => ({
  client: principal.keyId,
  signal,
});

const ZIP_TYPE = 'application/zip';

/** Parses JSON in the query. If it is invalid, returns the text; the validation then refuses it. */
function parseMapping(text: string): unknown {
  try {
    return parseJson(Buffer.from(text)).value;
  } catch {
    return text;
  }
}

/**
 * Parses the body of an import. It is complete JSON, or a table with further values in the query. @throws Refusal
 * VALIDATION_FAILED
 */
function parseImport({ query, body, upload }: RouteRequest<(typeof storeRoutes)['importStore']>): ImportedBody {
  const table = upload();
  const { dataset = 'market', mapping, ...importTerms } = query;
  if (table !== undefined) {
    const mappedRequest = mapping === undefined ? importTerms : { ...importTerms, mapping: parseMapping(mapping) };
    const header = parseTerms(ImportHeader, mappedRequest);
    const format = TABLE_FORMATS[table.media as keyof typeof TABLE_FORMATS]; // the route accepts no other media type
    return { kind: 'table', header, dataset, format, bytes: table.bytes };
  }
  assertNoTerms(query);
  return { kind: 'json', bytes: body() };
}

export function createEventHandlers(events: Events, today: () => Day): OwnHandlers<typeof eventRoutes> {
  return {
    async listEvents({ query, media }) {
      const result = await events.list(query);
      if (media === JSON_TYPE) return { json: result };
      const bytes = new TextEncoder().encode(formatEventCalendar(result, today()));
      return { bytes, type: `${media}; charset=utf-8`, headers: nameFile('divisor-events.ics') };
    },
  };
}

export function createIndexHandlers(
  indices: Indices,
  questions: IndexQuestions,
  removals: Removals,
): OwnHandlers<typeof indexRoutes> {
  return {
    async getIndex({ params, query }) {
      const { document, etag } = await indices.get(params.index_id);
      if (query.on === undefined) return { json: document, etag };
      return { json: findTextInEffect(document, parseValidDay(query.on)).document };
    },
    async deleteIndex(request) {
      const { params, precondition } = request;
      const removal = await removals.of(request, { kind: 'index', id: params.index_id });
      if ('purgedRuns' in removal) return { json: { deleted: selectPurged(params.index_id, removal) } };
      return { json: await indices.remove(params.index_id, precondition(), removal) };
    },
    previewIndex: async ({ params, body, signal }) => ({
      bytes: await questions.previewStored(params.index_id, body, signal),
    }),
    async packRebalance({ params, media, body, signal }) {
      const format = parseExportFormat(media);
      const bytes = await questions.rebalancePack(params.index_id, { request: body(), format }, signal);
      return format === 'json' ? { bytes } : toFileReply(`${params.index_id}-orders`, format, { bytes });
    },
  };
}

/** Returns the deletion of an index that was already deleted before, if this purge removed its published runs. */
function selectPurged(index_id: string, { purgedRuns: runs }: PurgedDocument): IndexDeletion['deleted'] {
  if (runs === 0) return [];
  return [{ index_id, backtest_record_deleted: true, backtest_results_deleted: runs, derived_from: null }];
}

export function createStrategyHandlers(strategies: Strategies, removals: Removals): OwnHandlers<typeof strategyRoutes> {
  return {
    async deleteStrategy(request) {
      const { strategy_id } = request.params;
      const removal = await removals.of(request, { kind: 'strategy', id: strategy_id });
      if ('purgedRuns' in removal) {
        const { purgedRuns: runs } = removal;
        return { json: { strategy_id, backtest_record_deleted: runs > 0, backtest_results_deleted: runs } };
      }
      return { json: await strategies.remove(strategy_id, request.precondition(), removal) };
    },
  };
}

/** Routes that are not views of one run. */
type OtherRoutes = Omit<typeof analyticsRoutes, keyof ViewRoutes<typeof analyticsRoutes>>;

export function createAnalyticsHandlers(analytics: Analytics, batches: BacktestBatches): OwnHandlers<OtherRoutes> {
  return {
    async startBacktest({ params, body, origin }) {
      await analytics.assertSubject(params.index_id);
      const { if_stale: isIfStale, as_known_on: asKnownOn, ...requestTerms } = body();
      const request = isIfStale ? await analytics.onStoredTerms(params.index_id, requestTerms) : requestTerms;
      const terms = { request, asKnownOn };
      const current = isIfStale ? await analytics.currentRun(params.index_id, terms) : undefined;
      if (current) {
        const { open, length } = await analytics.readResult(current);
        return { status: 200, stream: await open(), length };
      }
      return toJobReply(await analytics.start(params.index_id, terms, origin));
    },
    async startBacktests({ body, origin }) {
      const { ids, if_stale: isIfStale, as_known_on: asKnownOn, ...request } = body();
      return { json: await batches.start({ ids, request, asKnownOn, isIfStale }, origin) };
    },
    async compareRuns({ query, media, signal }) {
      const isCsv = media === CSV_TYPE;
      const { bytes, runs } = await analytics.compare(query.ids, { ...query, format: isCsv ? 'csv' : 'json' }, signal);
      const pins = {
        ids: runs.map(({ subject, id }) => `${subject}@${id}`).join(','),
        ...(query.benchmark !== undefined && { [HASH_MEMBER]: hashResult(bytes) }),
      };
      return isCsv ? { bytes, type: CSV_CONTENT_TYPE, pins } : { bytes, pins };
    },
    async getRecord({ params, query, header }) {
      const { etag, runId, read } = await analytics.record(readRunParameters({ params, query }));
      // If the client already has this version, the response is a 304 and the record is not written.
      if (namesEtag(header('if-none-match'), etag)) return { bytes: NO_BYTES, etag };
      return { ...(await readStoredReply(await read())), pins: { run_id: runId } };
    },
    async getOverview(request) {
      const { bytes, etag, runId } = await analytics.overview(readRunParameters(request), request.signal);
      return { bytes, etag, pins: { run_id: runId } };
    },
  };
}

const NO_BYTES = new Uint8Array(0);

/** Streams bytes that are stored with the run. */
async function readStoredReply({ length, etag, open }: StoredBytes): Promise<Reply> {
  return { stream: await open(), length, etag };
}

export function createExportHandlers(exports: Exports): OwnHandlers<typeof exportRoutes> {
  return {
    async exportRun({ params: { index_id: runId, table }, query, header, media, signal }) {
      const format = parseExportFormat(media);
      const {
        etag,
        runId: pinned,
        stale,
        open,
      } = await exports.export({ subject: runId, id: query.run_id }, { ...query, table, format });
      const headers = stale === null ? {} : { 'X-Run-Stale': listParts(stale).join(', ') };
      // If the client already has this version, the response is a 304 and the file is not written.
      const isKnown = namesEtag(header('if-none-match'), etag);
      const content = isKnown ? { bytes: NO_BYTES } : { ...(await open(signal)), pins: { run_id: pinned } };
      return toFileReply(`${runId}-${table}`, format, { ...content, etag, headers });
    },
  };
}

function listParts(staleState: StaleState): string[] {
  return (['definition', 'data', 'engine'] as const).filter((part) => staleState[part]);
}

export function createReplayHandlers(replays: Replays): OwnHandlers<typeof replayRoutes> {
  return {
    async replayRun({ params, query, body, origin }) {
      const run = readRunParameters({ params, query });
      await replays.assertRun(run);
      body(); // validates that the body has no members
      return toJobReply(await replays.replay(run, origin));
    },
  };
}

export function createReportHandlers(reports: Reports): OwnHandlers<typeof reportRoutes> {
  return {
    async getRender({ params }) {
      const { fileName, length, etag, open } = await reports.getRender(params.render_id);
      return {
        stream: await open(),
        length,
        etag,
        type: 'application/pdf',
        headers: { 'Content-Disposition': `inline; filename="${fileName}"` },
      };
    },
    getTemplate: async ({ params }) => toTemplateReply(await reports.getTemplate(params.template_id)),
  };
}

function toTemplateReply({ template, etag }: StoredTemplate): Reply {
  return { json: template, ...(etag === undefined ? {} : { etag }) };
}

/** Creates a handler for every route that is a view of a stored run. */
export function createRunViewHandlers(views: RunViews): Handlers<ViewRoutes<typeof API>> {
  const handlers: Record<string, Handler<ViewRoute>> = {};
  for (const [id, route] of Object.entries<Route>(API))
    if (isView(route)) handlers[id] = createViewHandler(route, views);
  return handlers as unknown as Handlers<ViewRoutes<typeof API>>; // the loop adds a handler for each view route
}

const isView = (route: Route): route is ViewRoute => route.view !== undefined;

function createViewHandler({ view, success }: ViewRoute, views: RunViews): Handler<ViewRoute> {
  return async ({ params, query: parameters, media, body, signal }: Parameters<Handler<ViewRoute>>[0]) => {
    const runParameters = { params, query: parameters } as unknown as RunParameters; // each view route declares these parameters
    const query: Readonly<Record<string, unknown>> = { ...parameters, ...params };
    const format = media === '' ? 'json' : parseExportFormat(media);
    assertFile(query.table as string | undefined, format, success.media);
    const question = { terms: view, name: readRunParameters(runParameters), query, format, body };
    const { bytes, etag, runId, contentHash } = await views.show(question, signal);
    const pins = { run_id: runId, ...(contentHash !== undefined && { [HASH_MEMBER]: shortenHash(contentHash) }) };
    const name = [runParameters.params.index_id, view.name, ...(query.table === undefined ? [] : [query.table])];
    const reply = { bytes, etag, pins };
    return format === 'json' ? reply : toFileReply(name.join('-'), format, reply);
  };
}

/** Refuses `table` together with JSON, because JSON is always the whole response. @throws Refusal VALIDATION_FAILED */
function assertFile(table: string | undefined, format: ExportFormat, media: readonly string[] = []): void {
  if (table === undefined || format !== 'json') return;
  const formats = media.map(parseExportFormat);
  const message = `table ${table} requires a file format, ${formats.join(' or ')}; JSON is always the whole response.`;
  throw refuseWithFindings('query', [
    { severity: 'error', code: 'REQUIRED', path: 'format', message, accepted: formats },
  ]);
}

export function createRunDifferenceHandlers(differences: RunDifferences): OwnHandlers<typeof runDifferenceRoutes> {
  return {
    diffRuns: async ({ params, body, origin }) =>
      toJobReply(await differences.difference(params.index_id, body, origin)),
  };
}

export function createDifferenceHandlers(differences: OutsideDifferences): OwnHandlers<typeof differenceRoutes> {
  return {
    async explainDifference({ params, query, body, origin }) {
      const run = readRunParameters({ params, query });
      await differences.assertRun(run);
      return toJobReply(await differences.explain(run, body(), origin));
    },
    async getDifference({ params: { index_id: id }, query: { table }, media }) {
      const format = parseExportFormat(media);
      if (format === 'json') return { json: await differences.last(id) };
      return toFileReply(`${id}_${table}`, format, { bytes: await differences.table(id, { table, format }) });
    },
  };
}

export function createSimulationHandlers(simulations: Simulations): OwnHandlers<typeof simulationRoutes> {
  return {
    async simulateIndex({ params, query, body, origin }) {
      const run = readRunParameters({ params, query });
      await simulations.assertRun(run);
      return toJobReply(await simulations.simulate(run, body(), origin));
    },
  };
}

export function createSqlHandlers(sql: Sql): OwnHandlers<typeof sqlRoutes> {
  return {
    async runSql({ body, media, principal, signal }) {
      const { query, format: namedFormat } = body();
      const format = namedFormat ?? (parseExportFormat(media) as 'json' | 'csv' | 'arrow' | 'parquet'); // the route offers these formats
      const { stream, rows, isTruncated } = await sql.answer({ query, format }, { client: principal.keyId, signal });
      const headers = { 'X-Rows': String(rows), 'X-Truncated': String(isTruncated) };
      return format === 'json' ? { stream, headers } : toFileReply('result', format, { stream, headers });
    },
  };
}

export function createBatchHandlers(batches: Batches, results: BatchResults): OwnHandlers<typeof batchRoutes> {
  return {
    listBatches: async ({ query }) => ({ json: { batches: await results.list(query.limit) } }),
    async startBatch({ body, lines, upload, query, origin }) {
      const file = upload();
      return toJobReply(
        await (file === undefined
          ? batches.start(body(), lines(), origin)
          : batches.startUpload(file, { terms: query.terms, batchId: query.batch_id }, origin)),
      );
    },
    async getBatchAccounts({ params: { batch_id: batchId }, query: { block, table }, media }) {
      const format = parseExportFormat(media);
      if (format === 'json') return { bytes: await results.accounts({ batchId, block }) };
      const bytes = await results.table({ batchId, block, table, format });
      return toFileReply(`${batchId}_${table}_${block}`, format, { bytes });
    },
    getBatchTemplate: () => ({
      text: createAccountTemplate(),
      type: CSV_CONTENT_TYPE,
      headers: nameFile('accounts.csv'),
    }),
  };
}

export function createOptimiseHandlers(
  optimise: Optimise,
  indices: Pick<Indices, 'derive'>,
): OwnHandlers<typeof optimiseRoutes> {
  return {
    async getConstraintSet({ params }) {
      const { set, etag } = await optimise.getSet(params.constraint_set_id);
      return { json: set, etag };
    },
    async getOptimisation({ params }) {
      const { length, etag, open } = await optimise.result(params.run_id);
      return { stream: await open(), length, etag };
    },
    optimiseIndex: async ({ params, body, authorship }) =>
      toDocumentReply(await indices.derive(params.index_id, body, authorship())),
  };
}

export function createRiskModelHandlers(
  riskModels: RiskModels,
  imports: RiskModelImports,
): OwnHandlers<typeof riskModelRoutes & typeof riskModelImportRoutes> {
  return {
    async getRiskModel({ params, query, media, signal }) {
      const model = await riskModels.get(params.model_id, query.date);
      if (media !== ARROW_TYPE) return { stream: model.json(signal), etag: model.etag };
      const { bytes } = await model.arrow(signal);
      return { bytes, type: ARROW_TYPE, etag: `${model.etag}-arrow` };
    },
    async exportRiskModel({ params, signal }) {
      const { etag, json } = await riskModels.exported(params.model_id, signal);
      return { stream: json, etag: `${etag}-export` };
    },
    importRiskModel: async (request) => ({
      json: await imports.importModel(request.params.model_id, parseModelImport(request), {
        asker: { client: request.principal.keyId, signal: request.signal },
        by: request.authorship(),
      }),
    }),
  };
}

/**
 * Parses the body of an import. It is complete JSON, or a file with further values in the query. @throws Refusal
 * VALIDATION_FAILED
 */
function parseModelImport({
  query,
  body,
  upload,
}: RouteRequest<(typeof riskModelImportRoutes)['importRiskModel']>): ImportedModelBody {
  const file = upload();
  // Every route on a store has this member; the request already runs on the store.
  const { date, store_id: _storeId, ...asked } = query as typeof query & { readonly store_id?: string };
  if (file !== undefined) {
    const terms = parseTerms(ImportTerms, asked);
    const format = MODEL_FILES[file.media as keyof typeof MODEL_FILES]; // the route accepts no other media type
    return { kind: 'file', format, terms, date: date ?? null, bytes: file.bytes };
  }
  assertNoTerms({ ...asked, ...(date === undefined ? {} : { date }) });
  return { kind: 'json', bytes: body() };
}

export function createStudyHandlers(studies: Studies): OwnHandlers<typeof studyRoutes> {
  return {
    startStudy: async ({ body, lines, origin }) => toJobReply(await studies.start(body(), lines(), origin)),
  };
}

export function createAccessHandlers(access: Pick<Access, 'read' | 'share'>): Handlers<typeof accessRoutes> {
  return {
    getAccess: async ({ params }) => ({ json: await access.read({ kind: params.kind, id: params.document_id }) }),
    async putAccess(request) {
      const { params, body, authorship } = request;
      const subject = { kind: params.kind, id: params.document_id };
      await access.read(subject);
      return { json: await access.share(subject, body().shared_with, authorship()) };
    },
  };
}

export function createChangelogHandlers(changelog: Changelog): Handlers<typeof changelogRoutes> {
  return {
    getChangelog: ({ query }) => ({ json: changelog.read(query.since) }),
  };
}

const liveReply = { text: JSON.stringify({ status: 'live' }) };

/** @param limits limits of this process */
export function createHealthHandlers(
  health: HealthService,
  limits: Health['limits'] = LIMITS,
): Handlers<typeof healthRoutes> {
  const createReply = (healthReport: HealthReport): Reply => ({ json: { ...healthReport, limits } });
  return {
    getHealth({ principal }) {
      if (isAnonymous(principal)) return { json: { status: 'live', version: health.version } };
      const read = health.health();
      return read instanceof Promise ? read.then(createReply) : createReply(read);
    },
    getLiveness: () => liveReply,
    getReadiness({ principal }) {
      const checks = health.readiness();
      return { json: { status: 'ready', checks: isAnonymous(principal) ? [] : checks } };
    },
  };
}

/** Returns true for an unauthenticated client. */
const isAnonymous = ({ scopes }: Principal): boolean => scopes.size === 0;

export function createMetricsHandlers(metrics: Metrics): Handlers<typeof metricsRoutes> {
  return {
    async getMetrics() {
      const { text, type } = await metrics.expose();
      return { bytes: new TextEncoder().encode(text), type };
    },
  };
}

export const principalHandlers: Handlers<typeof principalRoutes> = {
  getPrincipal: ({ principal: { keyId, scopes } }) => ({ json: { key_id: keyId, scopes: [...scopes] } }),
};

/**
 * Interval in ms between comments on a stream without events. Most proxies close a stream after 60 s without data. At
 * each comment, the streams of expired keys are ended.
 */
const COMMENT_EVERY_MS = 15_000;

export function createJobHandlers(jobs: JobsService, kinds: JobKindsService): OwnHandlers<typeof jobRoutes> {
  return {
    listJobs: async ({ query: { kind, status, limit, before } }) => ({
      json: await jobs.list({ kinds: kind, statuses: status, limit, before }),
    }),
    async getJob({ params, query, signal, isStillAllowed }) {
      const view = await jobs.read(params.job_id, { waitSeconds: query.wait, signal });
      if (query.wait > 0 && !(await isStillAllowed()))
        throw new Refusal('UNAUTHENTICATED', 'The key, token or session ended while the request waited.');
      const { created_at: createdAt, finished_at: finishedAt } = view.status;
      if (query.created_at !== undefined && query.created_at !== createdAt)
        throw new Refusal(
          'JOB_NOT_FOUND',
          `The job ${params.job_id} was submitted at ${createdAt}, not at ${query.created_at}.`,
          { job_id: params.job_id, created_at: createdAt },
        );
      return { ...(await createJobReply(view)), ...(finishedAt !== null && { pins: { created_at: createdAt } }) };
    },
    listJobKinds: async () => ({ json: { kinds: await kinds.list() } }),
    pauseJobKind: async ({ params, body, authorship }) => ({
      json: await kinds.pause(params.job_kind, body().reason, authorship()),
    }),
    resumeJobKind: async ({ params, authorship }) => ({ json: await kinds.resume(params.job_kind, authorship()) }),
    retryJobs: async ({ body }) => ({ json: await jobs.retry(body()) }),
    cancelJob: async ({ params, authorship }) => createJobReply(await jobs.cancel(params.job_id, authorship())),
    followJob: async ({ params, header, principal, isStillAllowed }) =>
      createEventsReply(
        await jobs.follow(params.job_id, parseEventId(header('last-event-id')), principal.keyId),
        isStillAllowed,
      ),
    followJobs: async ({ query, principal, isStillAllowed }) =>
      createEventsReply(await jobs.followAll(query.seconds, principal.keyId), isStillAllowed),
  };
}

function createEventsReply(events: AsyncIterableIterator<AnyJobEvent>, isStillAllowed: () => Promise<boolean>): Reply {
  return {
    stream: createEventStream(events, isStillAllowed),
    type: 'text/event-stream; charset=utf-8',
    headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
  };
}

/** Replies with a status and its result. A result that is stored as bytes is not parsed. */
async function createJobReply({ status, resultBytes }: JobView): Promise<Reply> {
  if (resultBytes === null) return { json: status };
  const { result: _, ...rest } = status;
  const before = new TextEncoder().encode(`${JSON.stringify(rest).slice(0, -1)},"result":`);
  const after = new TextEncoder().encode('}');
  const { length } = resultBytes;
  const result = await resultBytes.open();
  if (length === null) {
    const frame = new TransformStream<Uint8Array, Uint8Array>({
      start: (controller) => controller.enqueue(before),
      flush: (controller) => controller.enqueue(after),
    });
    return { stream: result.pipeThrough(frame) };
  }
  return { stream: frameStream(result, { before, after }), length: before.length + length + after.length };
}

function parseEventId(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,16}$/.test(header) ? Number(header) : undefined;
}

/**
 * Writes events as text. Ends with the events, or when the client loses access; access is checked before each event.
 */
function createEventStream(
  events: AsyncIterableIterator<AnyJobEvent>,
  isStillAllowed: () => Promise<boolean>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let comments: NodeJS.Timeout | undefined;
  const sendComment = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    if (!(await isStillAllowed())) return void (await events.return?.()); // ends the pending pull
    // If the client does not read, earlier comments are still in the queue.
    if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(':\n\n'));
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      comments = setInterval(() => void sendComment(controller).catch(() => {}), COMMENT_EVERY_MS);
      comments.unref();
    },
    async pull(controller) {
      const { done, value } = await events.next().catch(releaseStream);
      if (done !== true && (await isStillAllowed())) return controller.enqueue(encoder.encode(formatEvent(value)));
      await endStream();
      controller.close();
    },
    cancel: endStream,
  });

  async function endStream(): Promise<void> {
    clearInterval(comments);
    await events.return?.();
  }

  /**
   * Releases the resources of a stream that failed. Such a stream is not cancelled by its reader. @throws the failure
   */
  async function releaseStream(failure: unknown): Promise<never> {
    await endStream();
    throw failure;
  }
}

function formatEvent(event: AnyJobEvent): string {
  if (event === null) return 'event: caught-up\ndata: {}\n\n';
  return `event: status\nid: ${event.id}\ndata: ${JSON.stringify(event.status)}\n\n`;
}

export function createApprovalHandlers(approvals: Approvals): OwnHandlers<typeof approvalRoutes> {
  const rules = Object.entries(approvals.rules).map(([action, rule]) => ({
    action: action as ApprovalAction, // Object.entries returns plain strings.
    ...rule,
  }));
  return {
    listApprovals: async ({ query }) => ({ json: { rules, approvals: await approvals.list(query) } }),
    async decideApproval({ params, body, principal, authorship }) {
      await approvals.get(params.approval_id);
      const { decision, comment } = body();
      const decider = { by: authorship(), names: listClientNames(principal), scopes: principal.scopes };
      return { json: await approvals.decide(params.approval_id, decision, comment, decider) };
    },
  };
}

export function createAuditHandlers(audit: Audit): OwnHandlers<typeof auditRoutes> {
  return {
    async getAudit({ query, media }) {
      const { head, batches, seals, keys, left, isWhole } = await audit.read(query);
      return media === LOG_MEDIA
        ? { stream: streamLogLines(isWhole ? addSeals(batches, seals) : batches), type: LOG_MEDIA }
        : {
            stream: streamLogObject(batches, `${JSON.stringify({ head, seals, keys, ...left }).slice(1, -1)},`),
            type: 'application/json; charset=utf-8',
          };
    },
  };
}

/** Yields the entries of a log and then its signatures. */
async function* addSeals(batches: AuditReading['batches'], seals: AuditReading['seals']): AsyncGenerator<object[]> {
  for await (const batch of batches) yield [...batch];
  yield seals.map((seal) => ({ seal }));
}

export function createClosureHandlers(closures: Closures, removals: Removals): OwnHandlers<typeof closureRoutes> {
  return {
    listClosures: async () => ({ json: { calendars: await closures.list() } }),
    async putClosures({ params, body, precondition, authorship }) {
      const { dry_run: isDry, ...document } = body();
      const code = params.calendar_code;
      const effect = await closures.computeEffect(code, document);
      const storedClosures = isDry
        ? await closures.get(code)
        : await closures.put(code, document, precondition(), authorship());
      const changes = isDry ? document.changes : storedClosures.closures.changes;
      return {
        ...toDocumentReply(storedClosures),
        json: { ...storedClosures.closures, changes, dry_run: isDry, effect },
      };
    },
    deleteClosures: (request) =>
      removals.run(
        request,
        { kind: 'closures', id: createCalendarFileName(request.params.calendar_code) },
        closures.remove,
      ),
  };
}

interface GovernanceServices {
  readonly overview: () => Promise<GovernanceOverview>;
  readonly statements: Statements;
  readonly procedures: Procedures;
  readonly indices: Pick<Indices, 'get'>;
}

export function createGovernanceHandlers({
  overview,
  statements,
  procedures,
  indices,
}: GovernanceServices): OwnHandlers<typeof governanceRoutes> {
  return {
    getGovernance: async () => ({ json: await overview() }),
    async getStatement({ params, media, signal }) {
      const statement = await statements.statement(params.index_id, signal);
      if (media !== 'text/markdown') return { json: statement };
      return { bytes: new TextEncoder().encode(formatStatement(statement)), type: `${media}; charset=utf-8` };
    },
    async listMethodologyChanges({ params, query }) {
      const { document } = await indices.get(params.index_id);
      const changes = await statements.changes(params.index_id, query.limit);
      return { json: { changes, amendments: document.amendments ?? [] } };
    },
    async listProcedures({ query }) {
      const { items, ...skipped } = await procedures.page(query);
      return { json: { procedures: items, ...skipped } };
    },
  };
}

export function createPublicationHandlers(
  publications: Publications,
  bundles: Bundles,
): OwnHandlers<typeof publicationRoutes> {
  return {
    publishIndex: async ({ params, body, authorship, signal }) => ({
      json: await publications.publish(params.index_id, body, { by: authorship(), signal }),
    }),
    async getPublished({ params, query, media }) {
      const batches = await publications.entries(params.index_id, query);
      return media === LOG_MEDIA
        ? { stream: streamLogLines(batches), type: LOG_MEDIA }
        : { stream: streamLogObject(batches), type: 'application/json; charset=utf-8' };
    },
    async getPublishedBundle({ params, authorship, signal }) {
      const { parts, length } = await bundles.of(params.index_id, { by: authorship(), signal });
      return { stream: createByteStream(parts), length, type: BUNDLE_MEDIA };
    },
    listPublishedErrors: async ({ params, query }) => ({
      json: { errors: await publications.errors(params.index_id, query.limit) },
    }),
    rotateSigningKey: async ({ authorship }) => ({ json: await publications.rotateKey(authorship()) }),
  };
}

export function createClientHandlers(
  clients: Clients,
  records: Pick<DeliveryRecords, 'list' | 'latest'>,
): OwnHandlers<typeof clientRoutes> {
  return {
    async listClients({ query }) {
      const { items, ...skipped } = await clients.page(query);
      const listedClients = await Promise.all(
        items.map(async (client) => ({ ...client, latest_delivery: await records.latest(client.client_id) })),
      );
      return { json: { clients: listedClients, ...skipped } };
    },
    async listDeliveries({ params, query }) {
      await clients.get(params.client_id);
      return { json: { deliveries: await records.list(params.client_id, query) } };
    },
  };
}

export function createScheduleHandlers(
  schedules: Schedules,
  days: Days,
  records: Pick<DeliveryRecords, 'get'>,
): OwnHandlers<typeof scheduleRoutes> {
  return {
    async listSchedules({ query }) {
      const { items, ...skipped } = await schedules.page(query);
      const readLatest = (id: string) => (query.days === 0 ? null : days.list(id, { limit: query.days }));
      const listedSchedules = await Promise.all(
        items.map(async (schedule) => ({ ...schedule, latest: await readLatest(schedule.schedule_id) })),
      );
      return { json: { schedules: listedSchedules, ...skipped } };
    },
    async putSchedule({ params, body, precondition, authorship, principal }) {
      const plan = body();
      assertMaySchedule(principal.scopes, plan);
      return toDocumentReply(await schedules.put(params.schedule_id, plan, precondition(), authorship()));
    },
    getScheduleDay: async ({ params, query, signal }) => ({
      json: await days.get(params.schedule_id, params.date, { waitSeconds: query.wait, signal }),
    }),
    async getScheduleFile({ params }) {
      const { bytes, sha256, open } = await days.file(params.schedule_id, params.date, params.file_name);
      return {
        stream: await open(),
        length: bytes,
        etag: sha256,
        type: 'application/octet-stream',
        headers: nameFile(params.file_name),
      };
    },
    async listDayDeliveries({ params: { schedule_id: scheduleId, date }, signal }) {
      const { steps } = await days.get(scheduleId, date, { waitSeconds: 0, signal });
      const keys = steps.flatMap(({ type, items }) => (type === 'deliver' ? items.map(({ key }) => key) : []));
      const clientIds = [...new Set(keys.map((key) => key.split('/')[0]!))].toSorted(); // split returns at least one part
      const result = await Promise.all(clientIds.map((clientId) => records.get({ clientId, scheduleId, date })));
      return { json: { deliveries: result.flatMap((record) => record ?? []) } };
    },
    skipScheduleDay: async ({ params, body, authorship }) => ({
      json: await days.skip(params.schedule_id, params.date, body().reason, authorship()),
    }),
    listJudgements: async ({ params, query }) => ({
      json: { judgements: await days.judgements(params.schedule_id, query) },
    }),
  };
}
