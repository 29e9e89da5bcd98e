import type { dataVersionRoutes } from '#contract/stores/data-versions.js';
import type { DataVersions } from '#services/datasets/data-versions.js';
import type { Handlers } from '../handler.js';

export function createDataVersionHandlers(versions: DataVersions): Handlers<typeof dataVersionRoutes> {
  return {
    listDataVersions: async ({ params, query }) => ({ json: await versions.list(params.store_id, query) }),
    diffDataVersions: async ({ params, query, signal }) => ({
      bytes: await versions.difference(params.store_id, query, signal),
    }),
  };
}
