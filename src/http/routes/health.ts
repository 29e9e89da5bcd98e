import type { Health, healthRoutes } from '#contract/health.js';
import { LIMITS } from '#domain/limits.js';
import type { HealthService } from '#services/operations/health.js';
import type { Handlers } from '../handler.js';
import { keptText } from '../kept-text.js';

const live = { text: JSON.stringify({ status: 'live' }) };

/** @param limits that are in force in this process */
export function healthHandlers(
  health: HealthService,
  limits: Health['limits'] = LIMITS,
): Handlers<typeof healthRoutes> {
  return {
    getHealth: async () => ({ text: keptText(await health.health(), (read) => withLimits(read, limits)) }),
    getLiveness: () => live,
    getReadiness: () => ({ json: { status: 'ready', checks: health.readiness() } }),
  };
}

/** The limits are two thirds of the text and always the same. */
function withLimits(health: Omit<Health, 'limits'>, limits: Health['limits']): string {
  return `${JSON.stringify(health).slice(0, -1)},"limits":${keptText(limits)}}`;
}
