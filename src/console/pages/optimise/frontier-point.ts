import type { FrontierPayload, WeightRow } from '#clients/typescript/divisor.js';
import type { JsonObject } from '../../words/paths.js';

export type FrontierPoint = FrontierPayload['points'][number];

export const TANGENCY_POINT = 'tangency';

/** Point of the frontier that the address selects: its number from 1, or the tangency portfolio. */
export interface ChosenPoint {
  readonly label: string;
  /** Number of the point from 1; null for the tangency portfolio. */
  readonly number: number | null;
  readonly point: FrontierPoint;
}

/** Returns the selected point. Default: the first point. */
export function findChosenPoint({ points, tangency }: FrontierPayload, named: string | null): ChosenPoint | undefined {
  if (named === TANGENCY_POINT && tangency !== null) return { label: 'Tangency', number: null, point: tangency };
  const position = Math.max(0, Number(named ?? 1) - 1);
  const point = points[position];
  return point && { label: `Point ${position + 1} of ${points.length}`, number: position + 1, point };
}

/**
 * Returns the optimisation terms that give the same weights as a point of the frontier. These are maximum utility at
 * the point's risk aversion, with the expected returns of the frontier. If the point has no risk aversion, they are
 * minimum variance. Returns null if the run did not store risk aversions.
 */
export function findPointTerms({ risk_aversion: aversion }: FrontierPoint, terms: JsonObject): JsonObject | null {
  if (aversion === undefined) return null;
  if (aversion === null) return { ...terms, objective: { type: 'min_variance' } };
  return {
    ...terms,
    objective: { type: 'max_utility', risk_aversion: aversion },
    // By default, the frontier uses the historical means over the risk window.
    expected_returns: terms['expected_returns'] ?? { type: 'historical' },
  };
}

/** Returns the one-way turnover from the index to the weights of a point; null if the run did not store weights. */
export function computePointTurnover(
  { weights }: FrontierPoint,
  rows: readonly Pick<WeightRow, 'identifier' | 'index_weight'>[],
): number | null {
  if (weights === undefined) return null;
  const moves = rows.map(({ identifier, index_weight: index }) => Math.abs((weights[identifier] ?? 0) - index));
  return moves.reduce((sum, change) => sum + change, 0) / 2;
}

/** Maximum difference of two weights that count as equal. Solutions are more exact. */
const WEIGHT_TOLERANCE = 1e-6;

export const isAtLimit = (value: number, limits: readonly number[]): boolean =>
  limits.some((limit) => Math.abs(limit - value) < WEIGHT_TOLERANCE);

/** Row of the weights of a frontier point, with the weight of the solution. */
export interface PointRow extends WeightRow {
  readonly solution_weight: number;
}

/**
 * Returns the weights of a frontier point. A weight is at a bound if it equals the weight of a security that the same
 * bound limits in the solution; points do not store their own binding bounds.
 */
export function createPointRows(
  rows: readonly WeightRow[],
  weights: Readonly<Record<string, number>>,
): readonly PointRow[] {
  const listLimits = (side: string) => rows.flatMap(({ weight, at_bound: bound }) => (bound === side ? [weight] : []));
  const [lower, upper] = [listLimits('lower'), listLimits('upper')];
  return rows.map((row) => {
    const weight = weights[row.identifier] ?? 0;
    return {
      ...row,
      weight,
      active_weight: weight - row.index_weight,
      solution_weight: row.weight,
      at_bound: isAtLimit(weight, upper) ? 'upper' : isAtLimit(weight, lower) ? 'lower' : null,
    };
  });
}
