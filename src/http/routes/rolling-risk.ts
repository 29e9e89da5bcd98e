import type { rollingRiskRoutes } from '#contract/rolling-risk.js';
import type { RollingRiskService } from '#services/rolling-risk.js';
import type { Handlers } from '../handler.js';

export function rollingRiskHandlers(service: RollingRiskService): Handlers<typeof rollingRiskRoutes> {
  return {
    async getRollingRisk({ params, query, signal }) {
      const { bytes, sha256 } = await service.rolling(params.index_id, query, signal);
      return { bytes, etag: sha256 };
    },
  };
}
