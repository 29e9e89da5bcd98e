import type { strategyRoutes } from '#contract/strategies.js';
import type { Strategies } from '#services/indices/strategies.js';
import type { Handlers } from '../handler.js';

export function strategyHandlers(strategies: Strategies): Handlers<typeof strategyRoutes> {
  return {
    listStrategies: async ({ query }) => ({ json: await strategies.list(query) }),
    async createStrategy({ body }) {
      const { saved, etag } = await strategies.create(body());
      return { json: saved, etag };
    },
    validateStrategy: async ({ body }) => ({ json: await strategies.validate(body()) }),
    async getStrategy({ params }) {
      const { stored, etag } = await strategies.get(params.strategy_id);
      return { json: stored, etag };
    },
    async putStrategy({ params, body, precondition }) {
      const { saved, etag } = await strategies.replace(params.strategy_id, body(), precondition());
      return { json: saved, etag };
    },
    deleteStrategy: async ({ params, precondition }) => ({
      json: await strategies.remove(params.strategy_id, precondition()),
    }),
  };
}
