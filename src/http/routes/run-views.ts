import type { runViewRoutes } from '#contract/analytics/run-view-routes.js';
import { EXPORT_FORMATS, type ExportFormat } from '#domain/exports/formats.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { AnswerBytes } from '#jobs/tasks/files.js';
import type { RunViews } from '#services/runs/run-views.js';
import { CSV_CONTENT_TYPE, CSV_TYPE } from '#views/csv-table.js';
import { ARROW_TYPE } from '#views/arrow-type.js';
import type { Handlers, Reply } from '../handler.js';
import { askedRun } from '../asked-run.js';
import { contentTypeOf, exportFormat } from '../export-format.js';
import { viewReply } from '../view-reply.js';

export function runViewHandlers(views: RunViews): Handlers<typeof runViewRoutes> {
  return {
    listSummaries: async ({ query, signal }) => ({ json: await views.summaries(query, signal) }),
    getPerformance: async ({ params, query, signal }) =>
      viewReply(await views.performance(askedRun({ params, query }), query, signal)),
    listRebalances: async ({ params, query, signal }) =>
      viewReply(await views.rebalances(askedRun({ params, query }), signal)),
    getRebalance: async ({ params, query, signal }) =>
      viewReply(await views.rebalance(askedRun({ params, query }), params.date, signal)),
    async getIndexActions({ params, query, media, signal }) {
      const isCsv = media === CSV_TYPE;
      assertFile(query.table, isCsv ? 'csv' : 'json', ['csv']);
      const asked = { start: query.from, end: query.to, format: isCsv ? 'csv' : 'json', table: query.table } as const;
      const view = await views.actions(askedRun({ params, query }), asked, signal);
      return isCsv ? { bytes: view.bytes, type: CSV_CONTENT_TYPE } : viewReply(view);
    },
    getDividendPoints: async ({ params, query, signal }) =>
      viewReply(await views.dividendPoints(askedRun({ params, query }), query, signal)),
    async getExposures({ params, query, media, signal }) {
      const format = exposuresFormat(media);
      assertFile(query.table, format, ['csv', 'arrow']);
      const { bytes } = await views.exposures(askedRun({ params, query }), { ...query, format }, signal);
      return format === 'json' ? { bytes } : { bytes, type: contentTypeOf(format) };
    },
    async getLimits({ params, query, media, signal }) {
      const { format, table } = fileOf(query.table ?? null, media, 'state');
      const view = await views.limits(askedRun({ params, query }), { ...query, format, table }, signal);
      return fileReply(view, { name: `${params.index_id}-limits-${table}`, format });
    },
    async runScenarios({ params, query, media, body, signal }) {
      const { format, table } = fileOf(query.table ?? null, media, 'scenarios');
      const view = await views.scenarios(askedRun({ params, query }), { request: body(), format, table }, signal);
      return fileReply(view, { name: `${params.index_id}-scenarios-${table}`, format });
    },
    async watchLimits({ params, query, media, body, signal }) {
      const { format, table } = fileOf(query.table ?? null, media, 'state');
      const asked = { ...query, rows: body().rows, format, table };
      const view = await views.watchedLimits(askedRun({ params, query }), asked, signal);
      return fileReply(view, { name: `${params.index_id}-limits-${table}`, format });
    },
  };
}

/** Format and table of a file, where one is asked for. @param usual its table unless one is named */
function fileOf<T extends string>(
  table: T | null,
  media: string,
  usual: T,
): { readonly format: ExportFormat; readonly table: T } {
  const format = exportFormat(media);
  assertFile(table ?? undefined, format, ['csv', 'arrow', 'xlsx']);
  return { format, table: table ?? usual };
}

/** A table is what a file has: JSON is the whole answer. @throws Refusal VALIDATION_FAILED */
function assertFile(table: string | undefined, format: string, formats: readonly string[]): void {
  if (table === undefined || format !== 'json') return;
  const message = `table ${table} is of a file: format is required beside it, ${formats.join(' or ')}; JSON is the whole answer.`;
  throw refuseWithFindings('query', [
    { severity: 'error', code: 'REQUIRED', path: 'format', message, accepted: formats },
  ]);
}

/** A view, or a table of it as a file. @param name of the file, without its extension */
function fileReply(
  view: AnswerBytes,
  { name, format }: { readonly name: string; readonly format: ExportFormat },
): Reply {
  if (format === 'json') return viewReply(view);
  const headers = { 'Content-Disposition': `attachment; filename="${name}.${EXPORT_FORMATS[format].extension}"` };
  return { bytes: view.bytes, type: contentTypeOf(format), headers };
}

/** The format of the media type that is answered. */
function exposuresFormat(media: string): 'json' | 'csv' | 'arrow' {
  if (media === ARROW_TYPE) return 'arrow';
  return media === CSV_TYPE ? 'csv' : 'json';
}
