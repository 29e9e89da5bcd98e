import { metricSquare } from '#kernels/optimisation/program/metric.js';
import { dot } from '../numbers/dot.js';
import { returnShortfall, worstVariance } from '../objectives/robustness.js';
import { tailOutcome, type TailOutcome } from '../objectives/tail.js';
import { goalValue } from './goals/goal-value.js';
import { costOf } from './goals/prices.js';
import type { Problem } from './problem.js';
import type { Solution } from './search.js';

/** The weights measured by their objective. */
export interface Outcome {
  /** The objective in its own terms, and what no weights within the rows can better. */
  readonly value: number;
  readonly bound: number;
  /** Annualised; null without expected returns. */
  readonly expectedReturn: number | null;
  /** Annualised. */
  readonly volatility: number;
  /** Of the trades, as a fraction of value; null where none were asked for. */
  readonly costs: number | null;
  /** Of an objective about the worst of scenarios. */
  readonly tail: TailOutcome | null;
  /** Of estimates that may be wrong. */
  readonly worst: WorstCase | null;
}

/** The weights by the estimates, and by the worst that may be true instead. */
export interface WorstCase {
  /** The objective by the estimates, in its own terms. */
  readonly nominal: number;
  /** Annualised; null without expected returns. */
  readonly expectedReturn: number | null;
  /** Annualised. */
  readonly volatility: number;
}

/** @cost a few passes over the metric, or over the scenarios */
export function outcomeOf(problem: Problem, { weights, objective, bound }: Solution): Outcome {
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
            nominal: sign * goalValue({ ...problem, robustness: null }, weights),
            expectedReturn:
              expectedReturn === null ? null : expectedReturn - returnShortfall(robustness.returns, weights),
            volatility: Math.sqrt(worstVariance(metric, robustness, weights)),
          },
    volatility: Math.sqrt(Math.max(0, metricSquare(metric, weights))),
    costs: costs === null ? null : costOf(costs, weights),
    tail: goal.form === 'tail' ? tailOutcome(goal, weights) : null,
  };
}
