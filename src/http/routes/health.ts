import type { healthRoutes } from '#contract/health.js';
import type { HealthService } from '#services/operations/health.js';
import type { Handlers } from '../handler.js';

const live = { json: { status: 'live' } };

export function healthHandlers(health: HealthService): Handlers<typeof healthRoutes> {
  return {
    getHealth: async () => ({ json: await health.health() }),
    getLiveness: () => live,
    getReadiness: () => ({ json: { status: 'ready', checks: health.readiness() } }),
  };
}
