import type { rollingRiskRoutes } from '#contract/rolling-risk.js';
import type { RollingRiskService } from '#services/runs/rolling-risk.js';
import { askedRun } from '../asked-run.js';
import type { Handlers } from '../handler.js';

export function rollingRiskHandlers(service: RollingRiskService): Handlers<typeof rollingRiskRoutes> {
  return {
    getRollingRisk: ({ params, query, signal }) => service.rolling(askedRun({ params, query }), query, signal),
  };
}
