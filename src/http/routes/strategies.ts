import type { strategyRoutes } from '#contract/strategies.js';
import type { Strategies } from '#services/indices/strategies.js';
import type { Handlers } from '../handler.js';
import type { Removals } from '../removals.js';

export function createStrategyHandlers(strategies: Strategies, removals: Removals): Handlers<typeof strategyRoutes> {
  return {
    listStrategies: async ({ query }) => ({ json: await strategies.list(query) }),
    async createStrategy({ body, authorship }) {
      const { saved, etag } = await strategies.create(body(), authorship());
      return { json: saved, etag };
    },
    validateStrategy: async ({ body }) => ({ json: await strategies.validate(body()) }),
    async getStrategy({ params }) {
      const { stored, etag } = await strategies.get(params.strategy_id);
      return { json: stored, documentEtag: etag };
    },
    async putStrategy({ params, body, precondition, authorship }) {
      const { saved, etag } = await strategies.replace(params.strategy_id, body(), precondition(), authorship());
      return { json: saved, etag };
    },
    async deleteStrategy(request) {
      const { strategy_id } = request.params;
      const removal = await removals.of(request, { kind: 'strategy', id: strategy_id });
      if ('purgedRuns' in removal) {
        const { purgedRuns: runs } = removal;
        return { json: { strategy_id, backtest_record_deleted: runs > 0, backtest_results_deleted: runs } };
      }
      return { json: await strategies.remove(strategy_id, request.precondition(), removal) };
    },
  };
}
