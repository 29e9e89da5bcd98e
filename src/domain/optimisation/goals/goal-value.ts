import { computeDotProduct } from '../../numbers/dot.js';
import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import { computeOutcomes, computeTailAverage, countTailScenarios } from '../../objectives/tail.js';
import { computeReturnShortfall, computeWorstVariance } from '../../objectives/robustness.js';
import { computeEvenness } from '../../objectives/parity.js';
import type { Problem } from '../problem.js';
import { computeCorrelation } from './correlation.js';
import { computeCost } from './prices.js';

/**
 * Returns the minimised objective at some weights, including costs and the worst case of uncertain estimates. It is a
 * variance, a negative utility, a negative ratio, or a tail average. For risk budgets, it is the logarithm of
 * volatility over evenness, less its value at parity; it is Infinity if a security with a budget has no weight.
 * @param priced penalty of violated soft rows.
 * @cost a pass over the metric, or over the scenarios
 */
export function computeGoalValue(problem: Problem, weights: Float64Array, priced = 0): number {
  const { goal, metric, costs, robustness } = problem;
  const totalCost = computeCost(costs, weights) + computeReturnShortfall(robustness?.returns ?? null, weights) + priced;
  if (goal.form === 'quadratic') {
    const { curvature, centre, linear } = goal;
    const offset = weights.map((weight, i) => weight - centre[i]!);
    const square =
      curvature === 0
        ? 0
        : goal.metric === 'covariance'
          ? computeWorstVariance(metric, robustness, offset)
          : computeMetricSquare(computeCorrelation(metric), offset);
    return (curvature / 2) * Math.max(0, square) + computeDotProduct(linear, weights) + totalCost;
  }
  if (goal.form === 'tail')
    return computeTailAverage(computeOutcomes(goal, weights), countTailScenarios(goal)) + totalCost;
  const volatility = Math.sqrt(computeWorstVariance(metric, robustness, weights));
  if (goal.numerator.kind === 'linear')
    return -(computeDotProduct(goal.numerator.slopes, weights) - totalCost) / volatility;
  const { budgets, least } = goal.numerator;
  return Math.log(volatility) - Math.log(Math.max(computeEvenness(budgets, weights) - totalCost, 0)) - least;
}
