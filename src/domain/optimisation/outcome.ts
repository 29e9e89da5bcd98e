import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import { dot } from '../numbers/dot.js';
import { computeReturnShortfall, computeWorstVariance } from '../objectives/robustness.js';
import { computeTailOutcome, type TailOutcome } from '../objectives/tail.js';
import { computeGoalValue } from './goals/goal-value.js';
import { computeCost } from './goals/prices.js';
import type { Problem } from './problem.js';
import { computeDistance } from './report.js';
import { computeTrackingVariance } from './tracking-variance.js';
import type { Solution } from './search.js';

/** Weights measured by their objective. */
export interface Outcome {
  /** Objective, and its lower bound within the rows. */
  readonly value: number;
  readonly bound: number;
  /** Annualised; null without expected returns. */
  readonly expectedReturn: number | null;
  /** Annualised. */
  readonly volatility: number;
  /** Costs of the trades, as a fraction of value; null if not requested. */
  readonly costs: number | null;
  /** Present for an objective on the worst scenarios. */
  readonly tail: TailOutcome | null;
  /** Present for uncertain estimates. */
  readonly worst: WorstCase | null;
}

/** Figures of the weights under the estimates and in their worst case. */
export interface WorstCase {
  /** Objective under the estimates. */
  readonly nominal: number;
  /** Annualised; null without expected returns. */
  readonly expectedReturn: number | null;
  /** Annualised. */
  readonly volatility: number;
}

/** @cost a few passes over the metric, or over the scenarios */
export function createOutcome(problem: Problem, { weights, objective, bound }: Solution): Outcome {
  const { metric, expectedReturns, costs, goal, robustness } = problem;
  const sign = problem.objective.entry.sense === 'maximise' ? -1 : 1;
  const expectedReturn = expectedReturns === null ? null : dot(expectedReturns, weights);
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

/** Figures of some weights in an optimisation: the index before it, or the optimised weights. */
export interface WeightFigures {
  /** Objective including costs; null if these weights have none. */
  readonly objectiveValue: number | null;
  /** Annualised; null without expected returns. */
  readonly expectedReturn: number | null;
  /** Annualised. */
  readonly volatility: number;
  readonly trackingError: number;
  /** One-way, against the index weights. */
  readonly turnover: number;
}

/** @cost a few passes over the metric, or over the scenarios */
export function computeFigures(problem: Problem, weights: Float64Array): WeightFigures {
  const sign = problem.objective.entry.sense === 'maximise' ? -1 : 1;
  const value = sign * computeGoalValue(problem, weights);
  return {
    objectiveValue: Number.isFinite(value) ? value : null,
    expectedReturn: problem.expectedReturns === null ? null : dot(problem.expectedReturns, weights),
    volatility: Math.sqrt(Math.max(0, computeMetricSquare(problem.metric, weights))),
    trackingError: Math.sqrt(Math.max(0, computeTrackingVariance(problem, weights))),
    turnover: computeDistance(problem.index, weights),
  };
}
