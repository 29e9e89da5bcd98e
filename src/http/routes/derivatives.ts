import type { derivativeRoutes } from '#contract/derivatives.js';
import type { Derivatives } from '#services/derivatives/derivatives.js';
import type { Handlers } from '../handler.js';

export function createDerivativeHandlers(derivatives: Derivatives): Handlers<typeof derivativeRoutes> {
  return {
    priceFutures: async (request) => ({ json: await derivatives.priceFutures(request.body()) }),
    priceTrs: async (request) => ({ json: await derivatives.priceTrs(request.body()) }),
    getRoll: async ({ params, query }) => ({ json: await derivatives.roll(params.index_id, query) }),
    getTermStructure: async ({ params, query }) => ({ json: await derivatives.termStructure(params.index_id, query) }),
  };
}
