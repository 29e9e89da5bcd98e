import type { runViewRoutes } from '#contract/run-views.js';
import type { RunViews } from '#services/runs/run-views.js';
import type { Handlers } from '../handler.js';

export function runViewHandlers(views: RunViews): Handlers<typeof runViewRoutes> {
  return {
    listSummaries: async ({ query, signal }) => ({ json: await views.summaries(query, signal) }),
  };
}
