import type { runViewRoutes } from '#contract/analytics/run-view-routes.js';
import type { RunViews } from '#services/runs/run-views.js';
import { CSV_CONTENT_TYPE, CSV_TYPE } from '#views/csv-table.js';
import { ARROW_TYPE } from '#views/arrow-type.js';
import type { Handlers } from '../handler.js';
import { askedRun } from '../asked-run.js';
import { contentTypeOf } from '../export-format.js';
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
      const asked = { start: query.from, end: query.to, format: isCsv ? 'csv' : 'json', table: query.table } as const;
      const view = await views.actions(askedRun({ params, query }), asked, signal);
      return isCsv ? { bytes: view.bytes, type: CSV_CONTENT_TYPE } : viewReply(view);
    },
    getDividendPoints: async ({ params, query, signal }) =>
      viewReply(await views.dividendPoints(askedRun({ params, query }), query, signal)),
    async getExposures({ params, query, media, signal }) {
      const format = exposuresFormat(media);
      const { bytes } = await views.exposures(askedRun({ params, query }), { ...query, format }, signal);
      return format === 'json' ? { bytes } : { bytes, type: contentTypeOf(format) };
    },
    getLimits: async ({ params, query, signal }) =>
      viewReply(await views.limits(askedRun({ params, query }), query, signal)),
    runScenarios: async ({ params, query, body, signal }) =>
      viewReply(await views.scenarios(askedRun({ params, query }), body(), signal)),
    watchLimits: async ({ params, query, body, signal }) =>
      viewReply(await views.watchedLimits(askedRun({ params, query }), { ...query, rows: body().rows }, signal)),
  };
}

/** The format of the media type that is answered. */
function exposuresFormat(media: string): 'json' | 'csv' | 'arrow' {
  if (media === ARROW_TYPE) return 'arrow';
  return media === CSV_TYPE ? 'csv' : 'json';
}
