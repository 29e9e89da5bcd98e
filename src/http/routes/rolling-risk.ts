import type { rollingRiskRoutes } from '#contract/rolling-risk.js';
import type { RollingRiskService } from '#services/runs/rolling-risk.js';
import type { Handlers } from '../handler.js';

export function rollingRiskHandlers(service: RollingRiskService): Handlers<typeof rollingRiskRoutes> {
  return {
    getRollingRisk: ({ params, query, signal }) => service.rolling(params.index_id, query, signal),
  };
}
