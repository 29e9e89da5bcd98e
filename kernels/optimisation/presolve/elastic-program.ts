import { computeMetricDiagonal } from '../program/metric.js';
import type { Program } from '../program/program.js';

/**
 * Penalty per unit of violation in the program with a penalty on every row, as a multiple of the mean curvature or of
 * the largest linear coefficient, whichever is larger. It exceeds the multipliers of practical portfolios.
 */
const ELASTIC_PRICE = 1e3;

/**
 * Returns the program with a price on every row and limit. This program has an interior even if no point satisfies the
 * original rows.
 * @cost    A copy of the penalties.
 * @source  Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 17.2, for exact penalties.
 */
export function createElasticProgram(program: Program): Program {
  const { metric, curvature, ridge, linear, n } = program;
  const mean =
    metric === null ? 0 : computeMetricDiagonal(metric).reduce((sum, value) => sum + value, 0) / Math.max(n, 1);
  const price = ELASTIC_PRICE * Math.max(curvature * mean + ridge, ...linear.map(Math.abs), Number.MIN_VALUE);
  return {
    ...program,
    rows: { ...program.rows, penalty: program.rows.penalty.map((penalty) => Math.min(penalty, price)) },
    kinks: program.kinks.map((kink) =>
      kink.limit === null ? kink : { ...kink, penalty: Math.min(kink.penalty, price) },
    ),
  };
}
