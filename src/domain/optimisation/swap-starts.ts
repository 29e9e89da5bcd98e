import { searchSwaps } from '#kernels/optimisation/choices/swap-search.js';
import { computeMetricDiagonal, createMetricMatrix, multiplyMetric } from '#kernels/optimisation/program/metric.js';
import type { CountRow } from '../constraints/program-row.js';
import { markRequiredSecurities } from './drop-securities.js';
import { computeFixedSum } from './move-costs.js';
import { isFixedQuadratic } from './neighbour-bound.js';
import type { SearchInput } from './restricted-solves.js';
import { findThreshold } from './restriction.js';
import type { Solvers } from './solvers.js';

/** Maximum number of securities. The search reads the whole covariance. */
const SECURITIES_MAX = 1500;

/**
 * Returns the choice with the best optimum that swaps of securities find. Considers only the count rows, the bounds and
 * a fixed sum of the weights. Searches start at the largest weights of the relaxation, and at the largest weights
 * relative to the risk of a security.
 * @param workMax maximum number of multiplications
 * @returns undefined for objectives that are not a fixed quadratic, for more than `SECURITIES_MAX` securities, and if a
 *   security is in no count row
 */
export function findSwapStart(
  { algebra }: Solvers,
  { problem, rows, relaxation }: Pick<SearchInput, 'problem' | 'rows' | 'relaxation'>,
  workMax: number,
): Uint8Array | undefined {
  const { weights, assembled } = relaxation;
  const { n, metric, curvature, centre, linear, lower, upper, rows: linearRows } = assembled.program;
  const counts = rows.filter((row): row is CountRow => row.form === 'count');
  const isCounted = new Uint8Array(n);
  for (const { members } of counts) for (const i of members) isCounted[i] = 1;
  if (n > SECURITIES_MAX || metric === null || !(curvature > 0) || isCounted.includes(0) || !isFixedQuadratic(problem))
    return undefined;
  const slopes = new Float64Array(n);
  multiplyMetric(metric, centre, slopes);
  const threshold = findThreshold(rows);
  const requiredFlags = markRequiredSecurities(assembled.program);
  const quadratic = {
    n,
    matrix: createMetricMatrix(metric),
    linear: slopes.map((slope, i) => slope - linear[i]! / curvature),
    sum: computeFixedSum(linearRows, n),
    // A security that can only have weight zero is never held.
    lower: lower.map((bound, i) => (bound < 0 ? bound : upper[i]! > 0 ? Math.max(bound, threshold) : Infinity)),
    upper,
    needed: requiredFlags,
    counts,
  };
  const deviations = computeMetricDiagonal(metric).map(Math.sqrt);
  const orders = [weights.map(Math.abs), weights.map((weight, i) => Math.abs(weight) / deviations[i]!)].map((sizes) =>
    Array.from(sizes.keys()).toSorted((a, b) => sizes[b]! - sizes[a]! || a - b),
  );
  return searchSwaps(algebra, quadratic, orders, workMax)?.chosen;
}
