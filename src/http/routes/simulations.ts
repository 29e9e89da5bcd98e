import type { simulationRoutes } from '#contract/simulations.js';
import type { Simulations } from '#services/runs/simulations.js';
import { readRunParameters } from '../run-parameters.js';
import type { Handlers } from '../handler.js';

export function createSimulationHandlers(simulations: Simulations): Handlers<typeof simulationRoutes> {
  return {
    async simulateIndex({ params, query, body, origin }) {
      const run = readRunParameters({ params, query });
      await simulations.assertRun(run);
      const status = await simulations.simulate(run, body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
  };
}
