import type { Health, healthRoutes } from '#contract/health.js';
import { LIMITS } from '#domain/refusals/limits.js';
import type { HealthReport, HealthService } from '#services/operations/health.js';
import type { Handlers, Principal, Reply } from '../handler.js';

const liveReply = { text: JSON.stringify({ status: 'live' }) };

/** @param limits limits of this process */
export function createHealthHandlers(
  health: HealthService,
  limits: Health['limits'] = LIMITS,
): Handlers<typeof healthRoutes> {
  const createReply = (healthReport: HealthReport): Reply => ({ json: { ...healthReport, limits } });
  return {
    getHealth({ principal }) {
      if (isAnonymous(principal)) return { json: { status: 'live', version: health.version } };
      const read = health.health();
      return read instanceof Promise ? read.then(createReply) : createReply(read);
    },
    getLiveness: () => liveReply,
    getReadiness({ principal }) {
      const checks = health.readiness();
      return { json: { status: 'ready', checks: isAnonymous(principal) ? [] : checks } };
    },
  };
}

/** Returns true for an unauthenticated client. */
const isAnonymous = ({ scopes }: Principal): boolean => scopes.size === 0;
