import type { runRoutes } from '#contract/analytics/runs.js';
import type { StoredRunsService } from '#services/runs/stored-runs.js';
import type { Handlers } from '../handler.js';

export function runHandlers(runs: StoredRunsService): Handlers<typeof runRoutes> {
  return {
    listRuns: async ({ params, query, signal }) => ({ json: await runs.list(params.index_id, query, signal) }),
  };
}
