import type { rerunRoutes } from '#contract/reruns.js';
import type { Reruns } from '#services/runs/reruns.js';
import type { Handlers } from '../handler.js';

export function createRerunHandlers(reruns: Reruns): Handlers<typeof rerunRoutes> {
  return {
    getRerunRows: async ({ params, query }) => ({ bytes: await reruns.rows(params.rerun_id, query.block) }),
    async startRerun({ body, origin }) {
      const status = await reruns.start(body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
  };
}
