import { API } from '#contract/api.js';
import type { ViewRoute, ViewRoutes } from '#contract/analytics/run-view-questions.js';
import type { Route } from '#contract/route.js';
import { EXPORT_FORMATS, type ExportFormat } from '#domain/exports/formats.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { RunViews } from '#services/runs/run-views.js';
import type { Handler, Handlers } from '../handler.js';
import { readRunParameters, type RunParameters } from '../run-parameters.js';
import { getContentType, parseExportFormat } from '../export-format.js';

type Summaries = Pick<typeof API, 'listSummaries'>;

/** Creates a handler for every route that is a view of a stored run. */
export function createRunViewHandlers(views: RunViews): Handlers<ViewRoutes<typeof API> & Summaries> {
  const handlers: Record<string, Handler<ViewRoute>> = {};
  for (const [id, route] of Object.entries<Route>(API))
    if (isView(route)) handlers[id] = createViewHandler(route, views);
  return {
    ...(handlers as unknown as Handlers<ViewRoutes<typeof API>>), // the loop adds a handler for each view route
    listSummaries: async ({ query, signal }) => ({ json: await views.summaries(query, signal) }),
  };
}

const isView = (route: Route): route is ViewRoute => route.view !== undefined;

function createViewHandler({ view, success }: ViewRoute, views: RunViews): Handler<ViewRoute> {
  return async ({ params, query: parameters, media, body, signal }: Parameters<Handler<ViewRoute>>[0]) => {
    const runParameters = { params, query: parameters } as unknown as RunParameters; // each view route declares these parameters
    const query: Readonly<Record<string, unknown>> = { ...parameters, ...params };
    const format = media === '' ? 'json' : parseExportFormat(media);
    assertFile(query.table as string | undefined, format, success.media);
    const question = { terms: view, name: readRunParameters(runParameters), query, format, body };
    const { bytes, etag } = await views.show(question, signal);
    if (format === 'json') return { bytes, etag };
    const name = [runParameters.params.index_id, view.name, ...(query.table === undefined ? [] : [query.table])].join(
      '-',
    );
    const headers = { 'Content-Disposition': `attachment; filename="${name}.${EXPORT_FORMATS[format].extension}"` };
    return { bytes, etag, type: getContentType(format), headers };
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
