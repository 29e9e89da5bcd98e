import { computeMetricSquare, selectMetric } from '#kernels/optimisation/program/metric.js';
import { solveRiskBudgetWeights } from '#kernels/weighting/risk-budgets.js';
import type { EvennessNumerator } from './goal.js';
import type { GoalContext } from './objective-class.js';

/**
 * Returns the numerator for risk budgets, together with the weights that meet the budgets.
 * @cost of `solveRiskBudgetWeights`
 */
export function createParityNumerator(
  budgets: Float64Array,
  { algebra, metric }: Pick<GoalContext, 'algebra' | 'metric'>,
): EvennessNumerator {
  const names = Int32Array.from(budgets.keys()).filter((i) => budgets[i]! > 0);
  const result = new Float64Array(names.length);
  const nameBudgets = Float64Array.from(names, (i) => budgets[i]!);
  const budgetedMetric = names.length === budgets.length ? metric : selectMetric(metric, names);
  solveRiskBudgetWeights(algebra, budgetedMetric, nameBudgets, result);
  const parity = new Float64Array(budgets.length);
  names.forEach((i, p) => (parity[i] = result[p]!));
  const variance = Math.max(0, computeMetricSquare(metric, parity));
  return {
    kind: 'evenness',
    budgets,
    parity,
    variance,
    least: Math.log(variance) / 2 - Math.log(computeEvenness(budgets, parity)),
  };
}

/** Returns the product of (w_i / b_i)^b_i over the securities with a budget. */
export function computeEvenness(budgets: Float64Array, weights: Float64Array): number {
  let total = 0;
  for (let i = 0; i < budgets.length; i++)
    if (budgets[i]! > 0) total += budgets[i]! * Math.log(Math.max(weights[i]!, 0) / budgets[i]!);
  return Math.exp(total);
}
