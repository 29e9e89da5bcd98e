import type { simulationRoutes } from '#contract/simulations.js';
import type { Simulations } from '#services/runs/simulations.js';
import type { Handlers } from '../handler.js';

export function simulationHandlers(simulations: Simulations): Handlers<typeof simulationRoutes> {
  return {
    async simulateIndex({ params, body, origin }) {
      await simulations.assertRun(params.index_id);
      const status = await simulations.simulate(params.index_id, body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
  };
}
