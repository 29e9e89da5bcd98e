import type { optimiseRoutes } from '#contract/optimise.js';
import type { Indices } from '#services/indices/indices.js';
import type { Optimise } from '#services/optimisation/optimise.js';
import type { Handlers } from '../handler.js';
import type { Removals } from '../removals.js';

export function createOptimiseHandlers(
  optimise: Optimise,
  indices: Pick<Indices, 'derive'>,
  removals: Removals,
): Handlers<typeof optimiseRoutes> {
  return {
    listConstraintSets: async ({ query }) => ({ json: await optimise.listSets(query) }),
    async createConstraintSet({ body, authorship }) {
      const { saved, etag } = await optimise.createSet(body(), authorship());
      return { json: saved, etag };
    },
    validateConstraintSet: ({ body }) => ({ json: optimise.validateSet(body()) }),
    async getConstraintSet({ params }) {
      const { set, etag } = await optimise.getSet(params.constraint_set_id);
      return { json: set, etag };
    },
    async putConstraintSet({ params, body, precondition, authorship }) {
      const id = params.constraint_set_id;
      const { saved, etag } = await optimise.replaceSet(id, body(), precondition(), authorship());
      return { json: saved, etag };
    },
    async deleteConstraintSet(request) {
      const id = request.params.constraint_set_id;
      const removal = await removals.of(request, { kind: 'constraint-set', id });
      if (!('purgedRuns' in removal)) await optimise.removeSet(id, request.precondition(), removal);
      return {};
    },
    listConstraintTypes: () => ({ json: optimise.types() }),
    listObjectiveTypes: () => ({ json: optimise.objectiveTypes() }),
    async startOptimisation({ body, origin }) {
      const status = await optimise.start(body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
    previewOptimisation: async ({ body, signal }) => ({ bytes: await optimise.preview(body(), signal) }),
    async getOptimisation({ params }) {
      const { length, etag, open } = await optimise.result(params.run_id);
      return { stream: await open(), length, etag };
    },
    async optimiseIndex({ params, body, authorship }) {
      const { saved, etag } = await indices.derive(params.index_id, body, authorship());
      return { json: saved, etag };
    },
  };
}
