import type { optimiseRoutes } from '#contract/optimise.js';
import type { Indices } from '#services/indices/indices.js';
import type { Optimise } from '#services/optimisation/optimise.js';
import type { Handlers } from '../handler.js';

export function optimiseHandlers(
  optimise: Optimise,
  indices: Pick<Indices, 'derive'>,
): Handlers<typeof optimiseRoutes> {
  return {
    listConstraintSets: async ({ query }) => ({ json: await optimise.listSets(query) }),
    async createConstraintSet({ body }) {
      const { saved, etag } = await optimise.createSet(body());
      return { json: saved, etag };
    },
    validateConstraintSet: ({ body }) => ({ json: optimise.validateSet(body()) }),
    async getConstraintSet({ params }) {
      const { set, etag } = await optimise.getSet(params.constraint_set_id);
      return { json: set, etag };
    },
    async putConstraintSet({ params, body, precondition }) {
      const { saved, etag } = await optimise.replaceSet(params.constraint_set_id, body(), precondition());
      return { json: saved, etag };
    },
    async deleteConstraintSet({ params, precondition }) {
      await optimise.removeSet(params.constraint_set_id, precondition());
      return {};
    },
    listConstraintTypes: () => ({ json: optimise.types() }),
    listObjectiveTypes: () => ({ json: optimise.objectiveTypes() }),
    async startOptimisation({ body, origin }) {
      const status = await optimise.start(body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
    async getOptimisation({ params }) {
      const { length, etag, open } = await optimise.result(params.run_id);
      return { stream: open(), length, etag };
    },
    async optimiseIndex({ params, body }) {
      const { saved, etag } = await indices.derive(params.index_id, body);
      return { json: saved, etag };
    },
  };
}
