import type { overrideRoutes } from '#contract/stores/overrides.js';
import type { PriceOverriding } from '#services/datasets/price-overrides.js';
import type { Handlers } from '../handler.js';

export const createOverrideHandlers = (priceOverrides: PriceOverriding): Handlers<typeof overrideRoutes> => ({
  listPriceOverrides: async ({ params }) => ({ json: await priceOverrides.list(params.store_id) }),
  overridePrice: async ({ params, body, authorship, origin }) => ({
    json: await priceOverrides.override(params.store_id, body(), { by: authorship(), origin }),
  }),
});
