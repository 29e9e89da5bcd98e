import type { runViewRoutes } from '#contract/analytics/run-view-routes.js';
import type { RunViews } from '#services/runs/run-views.js';
import { CSV_CONTENT_TYPE, CSV_TYPE } from '#views/csv-table.js';
import type { Handlers } from '../handler.js';
import { JSON_TYPE, negotiate } from '../negotiate.js';
import { viewReply } from '../view-reply.js';

export function runViewHandlers(views: RunViews): Handlers<typeof runViewRoutes> {
  return {
    listSummaries: async ({ query, signal }) => ({ json: await views.summaries(query, signal) }),
    getPerformance: async ({ params, query, signal }) =>
      viewReply(await views.performance(params.index_id, query, signal)),
    listRebalances: async ({ params, signal }) => viewReply(await views.rebalances(params.index_id, signal)),
    getRebalance: async ({ params, signal }) => viewReply(await views.rebalance(params.index_id, params.date, signal)),
    getDividendPoints: async ({ params, query, signal }) =>
      viewReply(await views.dividendPoints(params.index_id, query, signal)),
    async getExposures({ params, query, header, signal }) {
      const isCsv = negotiate(header('accept'), [JSON_TYPE, CSV_TYPE]) === CSV_TYPE;
      const asked = { ...query, format: isCsv ? 'csv' : 'json' } as const;
      const { bytes } = await views.exposures(params.index_id, asked, signal);
      return isCsv ? { bytes, type: CSV_CONTENT_TYPE } : { bytes };
    },
    getLimits: async ({ params, query, signal }) => viewReply(await views.limits(params.index_id, query, signal)),
    runScenarios: async ({ params, body, signal }) => viewReply(await views.scenarios(params.index_id, body(), signal)),
    watchLimits: async ({ params, query, body, signal }) =>
      viewReply(await views.watchedLimits(params.index_id, { ...query, rows: body().rows }, signal)),
  };
}
