import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Health } from '#contract/health.js';
import type { Answered } from './app.js';

export interface Metrics {
  observe(answer: Answered): void;
  /** Everything measured, in the exposition format. */
  expose(): Promise<{ readonly text: string; readonly type: string }>;
}

/** From an answer out of memory to the longest poll. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** What Prometheus can ask of the service. @param jobs  jobs that are not finished, counted when asked */
export function createMetrics(version: string, jobs: () => Health['jobs']): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'divisor_http_request_seconds',
    help: 'Time from the headers of a request to the head of its answer.',
    labelNames: ['operation', 'status'],
    buckets: SECONDS,
    registers: [registry],
  });
  registry.registerMetric(jobsGauge(jobs));
  registry.registerMetric(buildGauge(version));
  return {
    observe: ({ operation = 'none', status, seconds }) => requests.observe({ operation, status }, seconds),
    expose: async () => ({ text: await registry.metrics(), type: registry.contentType }),
  };
}

function jobsGauge(jobs: () => Health['jobs']): Gauge {
  return new Gauge({
    name: 'divisor_jobs',
    help: 'Jobs that are not finished, by state.',
    labelNames: ['state'],
    registers: [],
    collect() {
      const { pending, running } = jobs();
      this.set({ state: 'pending' }, pending);
      this.set({ state: 'running' }, running);
    },
  });
}

function buildGauge(version: string): Gauge {
  const gauge = new Gauge({ name: 'divisor_build_info', help: 'The running engine version, as a label.', labelNames: ['version'], registers: [] });
  gauge.set({ version }, 1);
  return gauge;
}
