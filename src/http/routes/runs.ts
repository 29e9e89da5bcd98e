import type { runDifferenceRoutes } from '#contract/analytics/run-differences.js';
import type { runRoutes } from '#contract/analytics/runs.js';
import type { RunDifferences } from '#services/runs/run-differences.js';
import type { StoredRunsService } from '#services/runs/stored-runs.js';
import type { Handlers } from '../handler.js';

export function createRunHandlers(runs: StoredRunsService): Handlers<typeof runRoutes> {
  return {
    listRuns: async ({ params, query, signal }) => ({ json: await runs.list(params.index_id, query, signal) }),
  };
}

export function createRunDifferenceHandlers(differences: RunDifferences): Handlers<typeof runDifferenceRoutes> {
  return {
    async diffRuns({ params, body, origin }) {
      const status = await differences.difference(params.index_id, body, origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
  };
}
