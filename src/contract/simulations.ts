import { z } from 'zod';
import { defineObject, Id } from '#domain/base/schema.js';
import { SIMULATION_METHODS, SimulationRequest } from '#domain/analytics/simulation.js';
import { TableFrame } from './payloads.js';
import { createJobStatus } from './jobs.js';
import { defineRoutes } from './route.js';
import { runParameter } from './run.js';

export const DistributionPayload = defineObject(() => ({
  mean: z.number(),
  deviation: z.number().meta({ description: 'Standard deviation over the paths, ddof 1.' }),
  minimum: z.number(),
  maximum: z.number(),
  percentiles: z
    .record(z.string(), z.number())
    .meta({ description: 'Values by requested percentile, interpolated between order statistics.' }),
})).meta({ id: 'Distribution' });

export const SimulationView = defineObject(() => ({
  index_id: z.string(),
  method: z.enum(SIMULATION_METHODS),
  horizon: z.int(),
  paths: z.int(),
  seed: z.int(),
  observations: z.int().meta({ description: 'Number of returns of the run that the simulation uses.' }),
  observed_start: z.string().meta({ description: 'First date of the run.' }),
  observed_end: z.string().meta({ description: 'Last date of the run, which is the start of every path.' }),
  mean_return: z.number().meta({ description: 'Mean return of a session.' }),
  volatility: z.number().meta({ description: 'Annualised volatility of the drawn returns.' }),
  factor_share: z
    .number()
    .nullable()
    .meta({ description: 'Fraction of the variance that the factors explain; null for the bootstrap.' }),
  levels: TableFrame.meta({
    description:
      'Levels by date and percentile, 100 at the start, with an error of at most 0.6% of a standard deviation.',
  }),
  total_return: DistributionPayload,
  max_drawdown: DistributionPayload.meta({ description: 'Largest drawdown, at most 0.' }),
  time_under_water: DistributionPayload.meta({
    description: 'Number of sessions of the longest period below a previous high.',
  }),
  shortfall: z.strictObject({
    level: z.number().meta({ description: 'Last level as a multiple of the initial level.' }),
    at_end: z.number().meta({ description: 'Fraction of the paths that end below the level.' }),
    at_any_time: z
      .number()
      .meta({ description: 'Fraction of the paths that are below the level after at least one session.' }),
  }),
  precision: z
    .enum(['float64', 'float32'])
    .meta({ description: 'Precision of the levels of the paths: float32 on the tensorflow engine.' }),
})).meta({ id: 'SimulationView' });
export type SimulationView = z.infer<typeof SimulationView>;

const SimulationJobStatus = createJobStatus('SimulationJobStatus', 'simulate', SimulationView);

export const simulationRoutes = defineRoutes('analytics', {
  simulateIndex: {
    method: 'POST',
    path: '/analytics/{index_id}/simulate',
    scope: 'run',
    summary: 'Simulates the future level of a stored run, as a job.',
    description:
      'The result has percentiles by date, and the distributions of total return, largest drawdown and time under water. The result depends only on the request and the run, not on the number of workers.',
    params: defineObject(() => ({ index_id: Id })),
    query: z.strictObject(runParameter),
    body: { schema: SimulationRequest, optional: true, example: { horizon: 252, paths: 100_000, level: 0.9 } },
    success: { status: 202, description: 'The job; see Location.', schema: SimulationJobStatus },
    errors: [
      'INDEX_NOT_FOUND',
      'RUN_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'CALENDAR_NOT_COVERED',
      'NO_DATA_SOURCE',
      'STORE_MISMATCH',
      'JOB_RUNNING',
    ],
  },
});
