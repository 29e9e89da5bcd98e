import type { sweepRoutes } from '#contract/sweeps.js';
import type { Sweeps } from '#services/runs/sweeps.js';
import type { Handlers } from '../handler.js';

export function createSweepHandlers(sweeps: Sweeps): Handlers<typeof sweepRoutes> {
  return {
    getSweepRows: async ({ params, query }) => ({ bytes: await sweeps.rows(params.sweep_id, query.block) }),
    async startSweep({ body, origin }) {
      const status = await sweeps.start(body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
  };
}
