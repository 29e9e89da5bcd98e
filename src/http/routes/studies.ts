import type { studyRoutes } from '#contract/studies.js';
import type { Studies } from '#services/optimisation/studies.js';
import type { Handlers } from '../handler.js';

export function createStudyHandlers(studies: Studies): Handlers<typeof studyRoutes> {
  return {
    getStudyRows: async ({ params, query }) => ({ bytes: await studies.rows(params.study_id, query.block) }),
    async startStudy({ body, origin }) {
      const status = await studies.start(body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
  };
}
