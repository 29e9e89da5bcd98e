import type { Metric } from '#kernels/optimisation/program/metric.js';
import type { Reference, ReferencePortfolio, RowContext } from '../constraints/constraint-class.js';
import { listMissingValues, describeLackingValues } from '../constraints/missing-values.js';
import { applyMetric } from './apply-metric.js';

/** Access to datapoints of the securities as of the rebalance. */
export type Datapoints = Pick<RowContext, 'numbers' | 'categories' | 'medianValueTraded'>;

/** Data from which the rows of a problem are created. */
export interface ContextInput {
  /** Securities in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Index weights, [N]. */
  readonly index: Float64Array;
  /** Weights of the previous solution; null if there is none yet. */
  readonly previous: ReferencePortfolio | null;
  /** Weights just before the trades; null if there are no holdings yet. Default: the index weights. */
  readonly held?: ReferencePortfolio | null;
  /** Annualised expected returns, [N]; null if there are none. */
  readonly expectedReturns?: Float64Array | null;
  /** Annualised covariance. */
  readonly metric: Metric;
  readonly datapoints: Datapoints;
}

interface RowReports extends Pick<RowContext, 'tail'> {
  /** Receives a message about missing values of a row. */
  warn(message: string): void;
}

/** Creates the context from which constraint classes create the rows of a problem. */
export function createRowContext(
  { identifiers, index, previous, held, expectedReturns = null, metric, datapoints }: ContextInput,
  { tail, warn }: RowReports,
): RowContext {
  let product: Float64Array | undefined;
  const indexPortfolio: ReferencePortfolio = { weights: index, outside: 0 };
  const portfolios: Record<Reference, ReferencePortfolio | null> = {
    index: indexPortfolio,
    previous: previous ?? indexPortfolio,
    held: held === undefined ? indexPortfolio : held,
  };
  return {
    ...datapoints,
    identifiers,
    index,
    reference: (reference) => portfolios[reference],
    covarianceTimesIndex: () => (product ??= applyMetric(metric, index)),
    expectedReturns() {
      if (expectedReturns === null) warn('The constraint has no effect, because there are no expected returns.');
      return expectedReturns;
    },
    tail,
    missing(lack) {
      const missingSecurities = listMissingValues(lack, { identifiers, weights: index });
      if (missingSecurities.identifiers.length === 0) return;
      warn(describeLackingValues(lack, missingSecurities, { count: identifiers.length, whole: 'the index' }));
    },
  };
}
