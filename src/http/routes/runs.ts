import type { analyticsRoutes } from '#contract/analytics/analytics.js';
import type { ViewRoute, ViewRoutes } from '#contract/analytics/run-views.js';
import { API } from '#contract/api.js';
import type { differenceRoutes } from '#contract/differences.js';
import type { reportRoutes } from '#contract/reports.js';
import type { Route } from '#contract/route.js';
import type { exportRoutes, replayRoutes, runDifferenceRoutes } from '#contract/runs.js';
import type { simulationRoutes } from '#contract/simulations.js';
import type { sqlRoutes } from '#contract/sql.js';
import type { StaleState } from '#domain/backtest/plan.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import type { ExportFormat } from '#domain/outputs/exports.js';
import type { Reports, StoredTemplate } from '#services/reports/reports.js';
import type { Analytics, BacktestBatches } from '#services/runs/backtests.js';
import type { OutsideDifferences, Replays, RunDifferences } from '#services/runs/differences.js';
import type { Exports } from '#services/runs/exports.js';
import type { Simulations } from '#services/runs/simulations.js';
import { HASH_MEMBER, hashResult, shortenHash } from '#services/reports/receipts.js';
import type { Sql } from '#services/runs/sql.js';
import type { RunViews } from '#services/runs/views.js';
import type { StoredBytes } from '#services/shared/stamped-json.js';
import { CSV_CONTENT_TYPE, CSV_TYPE } from '#views/formats/text.js';
import { namesEtag, parseExportFormat, toJobReply, toFileReply } from '../answers.js';
import type { OwnHandlers } from '../calls.js';
import { type Handler, type Handlers, readRunParameters, type Reply, type RunParameters } from '../handler.js';

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
