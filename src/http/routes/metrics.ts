import type { metricsRoutes } from '#contract/metrics.js';
import type { Handlers } from '../handler.js';
import type { Metrics } from '../metrics.js';

export function createMetricsHandlers(metrics: Metrics): Handlers<typeof metricsRoutes> {
  return {
    async getMetrics() {
      const { text, type } = await metrics.expose();
      return { bytes: new TextEncoder().encode(text), type };
    },
  };
}
