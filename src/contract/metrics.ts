import { defineRoutes } from './route.js';

export const metricsRoutes = defineRoutes({
  getMetrics: {
    method: 'GET',
    path: '/metrics',
    scope: 'read',
    withoutMarket: true,
    tag: 'service',
    summary: 'Returns counters and gauges for Prometheus.',
    description:
      'Text in the Prometheus exposition format: request durations by operation and status, jobs by state, and figures of the process (memory, processor, event loop, garbage collection).',
    openQuery: true,
    success: { status: 200, description: 'Metrics in version 0.0.4 of the exposition format.', media: ['text/plain'] },
    errors: [],
  },
});
