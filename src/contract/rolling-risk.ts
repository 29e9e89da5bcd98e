import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { RISK_REFERENCES } from '#domain/analytics/rolling-risk.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { BenchmarkName } from '#domain/documents/benchmark-ref.js';
import { Id } from '#domain/schema/shape.js';
import { compositionErrors, Finding, TableFrame } from './common.js';
import { defineRoutes } from './route.js';
import { runState, runQuery } from './run-state.js';

export const RollingRiskView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  window: z.int().nullable().meta({ description: 'Number of returns of a window; null with a half-life.' }),
  half_life: z
    .number()
    .nullable()
    .meta({ description: 'Sessions after which the weight of a return halves; null with a window.' }),
  against: z
    .enum(RISK_REFERENCES)
    .meta({ description: 'Reference of the comparison: the tracked index, or a benchmark.' }),
  benchmark_id: z.string().nullable().meta({ description: 'Id of the benchmark; null if the index is the reference.' }),
  findings: z.array(Finding).meta({
    description: '`WINDOW_CUT`: the benchmark lacks dates of the run.',
  }),
  risk: TableFrame.meta({
    description:
      'Annualised figures by date: volatility of the run and of its reference (`index_volatility` or `benchmark_volatility`), tracking error, and beta and correlation to the reference. A benchmark is compared on the common dates.',
  }),
})).meta({ id: 'RollingRiskView' });
export type RollingRiskView = z.infer<typeof RollingRiskView>;

export const rollingRiskRoutes = defineRoutes({
  getRollingRisk: {
    method: 'GET',
    path: '/analytics/{index_id}/rolling',
    scope: 'read',
    tag: 'analytics',
    summary: 'Returns volatility, tracking error, beta and correlation of a run over time.',
    description:
      'The figures use a window of returns, or all returns with weights that halve every `half_life` sessions. The first figure uses twenty returns.',
    params: defineObject(() => ({ index_id: Id })),
    query: defineObject(() => ({
      ...runQuery,
      window: z.coerce
        .number()
        .int()
        .min(2)
        .max(LIMITS.MAX_SIMULATION_SESSIONS)
        .optional()
        .meta({ description: 'Number of returns of a window. Default: 63, if there is no half-life.' }),
      against: z.enum(RISK_REFERENCES).optional().meta({
        description:
          'Reference of the comparison: the tracked index, or the benchmark of the run. Replaces `benchmark`. Default: the index.',
      }),
      benchmark: BenchmarkName.optional(),
      half_life: z.coerce
        .number()
        .min(1)
        .max(1e6)
        .optional()
        .meta({ description: 'Half-life in sessions. Replaces the window.' }),
    })),
    view: { name: 'rolling-risk', needs: ['memory'] },
    success: {
      status: 200,
      description: 'The table. It has no rows if the run is shorter than the window.',
      schema: RollingRiskView,
    },
    errors: [
      'INDEX_NOT_FOUND',
      'RUN_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'NUMERIC_FAILURE',
      'STORE_MISMATCH',
      'RISK_INSUFFICIENT_DATA',
      'BENCHMARK_NOT_FOUND',
      'NO_DATA_AT_DATE',
      ...compositionErrors,
    ],
  },
});
