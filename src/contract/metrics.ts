import { routes } from './route.js';

export const metricsRoutes = routes({
  getMetrics: {
    method: 'GET',
    path: '/metrics',
    scope: 'read',
    withoutMarket: true,
    tag: 'service',
    summary: 'Counters and gauges for Prometheus.',
    description:
      'Text in the exposition format of Prometheus: durations of requests by operation and status, jobs by state, and the process (memory, processor, event loop, garbage collection).',
    openQuery: true,
    success: { status: 200, description: 'The exposition format, version 0.0.4.', media: ['text/plain'] },
    errors: [],
  },
});
