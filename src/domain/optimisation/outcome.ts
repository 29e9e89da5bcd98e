import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import { computeDotProduct } from '../numbers/dot.js';
import { computeReturnShortfall, computeWorstVariance } from '../objectives/robustness.js';
import { computeTailOutcome, type TailOutcome } from '../objectives/tail.js';
import { computeGoalValue } from './goals/goal-value.js';
import { computeCost } from './goals/prices.js';
import type { Problem } from './problem.js';
import { computeDistance } from './report.js';
import { computeTrackingVariance } from './tracking-variance.js';
import type { Solution } from './search.js';

/** Figures of solved weights. */
export interface Outcome {
  /**
   * Value of the objective, and its bound within the rows: a lower bound of a minimised objective, an upper bound of a
   * maximised one.
   */
  readonly value: number;
  readonly bound: number;
  /** Annualised expected return; null without expected returns. */
  readonly expectedReturn: number | null;
  /** Annualised volatility. */
  readonly volatility: number;
  /** Costs of the trades as a fraction of the portfolio value; null if not requested. */
  readonly costs: number | null;
  /** Details of the tail; only for an objective on the worst scenarios. */
  readonly tail: TailOutcome | null;
  /** Figures in the worst case; only for uncertain estimates. */
  readonly worst: WorstCase | null;
}

/** Figures of the weights at the estimates and in the worst case. */
export interface WorstCase {
  /** Objective at the estimates. */
  readonly nominal: number;
  /** Annualised expected return in the worst case; null without expected returns. */
  readonly expectedReturn: number | null;
  /** Annualised volatility in the worst case. */
  readonly volatility: number;
}

/**
 * Computes the figures of a solution.
 * @cost a few passes over the metric, or over the scenarios
 */
export function createOutcome(problem: Problem, { weights, objective, bound }: Solution): Outcome {
  const { metric, expectedReturns, costs, goal, robustness } = problem;
  const sign = problem.objective.entry.sense === 'maximise' ? -1 : 1;
  const expectedReturn = expectedReturns === null ? null : computeDotProduct(expectedReturns, weights);
  return {
    value: sign * objective,
    bound: sign * bound,
    expectedReturn,
    worst:
      robustness === null
        ? null
        : {
            nominal: sign * computeGoalValue({ ...problem, robustness: null }, weights),
            expectedReturn:
              expectedReturn === null ? null : expectedReturn - computeReturnShortfall(robustness.returns, weights),
            volatility: Math.sqrt(computeWorstVariance(metric, robustness, weights)),
          },
    volatility: Math.sqrt(Math.max(0, computeMetricSquare(metric, weights))),
    costs: costs === null ? null : computeCost(costs, weights),
    tail: goal.form === 'tail' ? computeTailOutcome(goal, weights) : null,
  };
}

/** Figures of some weights in an optimisation, for the index or the optimised weights. */
export interface WeightFigures {
  /** Value of the objective including costs; null if it is undefined at these weights. */
  readonly objectiveValue: number | null;
  /** Annualised expected return; null without expected returns. */
  readonly expectedReturn: number | null;
  /** Annualised volatility. */
  readonly volatility: number;
  readonly trackingError: number;
  /** One-way turnover from the index weights. */
  readonly turnover: number;
}

/**
 * Computes the figures of given weights.
 * @cost a few passes over the metric, or over the scenarios
 */
export function computeFigures(problem: Problem, weights: Float64Array): WeightFigures {
  const sign = problem.objective.entry.sense === 'maximise' ? -1 : 1;
  const value = sign * computeGoalValue(problem, weights);
  return {
    objectiveValue: Number.isFinite(value) ? value : null,
    expectedReturn: problem.expectedReturns === null ? null : computeDotProduct(problem.expectedReturns, weights),
    volatility: Math.sqrt(Math.max(0, computeMetricSquare(problem.metric, weights))),
    trackingError: Math.sqrt(Math.max(0, computeTrackingVariance(problem, weights))),
    turnover: computeDistance(problem.index, weights),
  };
}
