import type { strategyRoutes } from '#contract/strategies.js';
import type { Strategies } from '#services/strategies.js';
import type { Handlers } from '../handler.js';

export function strategyHandlers(strategies: Strategies): Handlers<typeof strategyRoutes> {
  return {
    listStrategies: ({ query }) => ({ json: strategies.list(query) }),
    async createStrategy({ body }) {
      const { saved, etag } = await strategies.create(body());
      return { json: saved, etag };
    },
    validateStrategy: ({ body }) => ({ json: strategies.validate(body()) }),
    getStrategy({ params }) {
      const { stored, etag } = strategies.get(params.strategy_id);
      return { json: stored, etag };
    },
    async putStrategy({ params, body, precondition }) {
      const { saved, etag } = await strategies.replace(params.strategy_id, body(), precondition());
      return { json: saved, etag };
    },
    deleteStrategy: async ({ params, precondition }) => ({ json: await strategies.remove(params.strategy_id, precondition()) }),
  };
}
