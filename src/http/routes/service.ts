import type { accessRoutes, principalRoutes } from '#contract/access.js';
import type { changelogRoutes, Health, healthRoutes, metricsRoutes } from '#contract/service.js';
import { LIMITS } from '#domain/base/limits.js';
import type { Access } from '#services/keys/access.js';
import type { Metrics } from '#services/shared/metrics.js';
import type { Changelog, HealthReport, HealthService } from '#services/shared/service.js';
import type { Handlers, Principal, Reply } from '../handler.js';

export function createAccessHandlers(access: Pick<Access, 'read' | 'share'>): Handlers<typeof accessRoutes> {
  return {
    getAccess: async ({ params }) => ({ json: await access.read({ kind: params.kind, id: params.document_id }) }),
    async putAccess(request) {
      const { params, body, authorship } = request;
      const subject = { kind: params.kind, id: params.document_id };
      await access.read(subject);
      return { json: await access.share(subject, body().shared_with, authorship()) };
    },
  };
}

export function createChangelogHandlers(changelog: Changelog): Handlers<typeof changelogRoutes> {
  return {
    getChangelog: ({ query }) => ({ json: changelog.read(query.since) }),
  };
}

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

export function createMetricsHandlers(metrics: Metrics): Handlers<typeof metricsRoutes> {
  return {
    async getMetrics() {
      const { text, type } = await metrics.expose();
      return { bytes: new TextEncoder().encode(text), type };
    },
  };
}

export const principalHandlers: Handlers<typeof principalRoutes> = {
  getPrincipal: ({ principal: { keyId, scopes } }) => ({ json: { key_id: keyId, scopes: [...scopes] } }),
};
