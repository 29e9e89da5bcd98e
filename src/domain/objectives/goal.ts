import type { TailGoal } from './tail.js';

/** Objective of the weights, in the terms of a solver; arrays follow the securities of the problem. */
export type Goal = QuadraticGoal | RatioGoal | TailGoal;

/** Minimise curvature/2 (w - centre)' M (w - centre) + linear'w. */
export interface QuadraticGoal {
  readonly form: 'quadratic';
  /** M: the covariance, or the matrix of its correlations. */
  readonly metric: 'covariance' | 'correlation';
  readonly curvature: number;
  /** [N] */
  readonly centre: Float64Array;
  /** [N] */
  readonly linear: Float64Array;
}

/** Maximise a concave numerator over the volatility. */
export interface RatioGoal {
  readonly form: 'ratio';
  readonly numerator: Numerator;
}

export type Numerator = LinearNumerator | EvennessNumerator;

/** slopes'w */
export interface LinearNumerator {
  readonly kind: 'linear';
  /** [N] */
  readonly slopes: Float64Array;
}

/** Product of (w_i / b_i)^b_i over the securities with a budget: 1 if the weights equal the budgets, less elsewhere. */
export interface EvennessNumerator {
  readonly kind: 'evenness';
  /** Risk budgets b, [N], not negative, with sum 1. */
  readonly budgets: Float64Array;
  /**
   * Weights whose contributions to the variance equal the budgets, with sum 1: the optimum without further rows, [N].
   */
  readonly parity: Float64Array;
  /** Variance there. */
  readonly variance: number;
  /** Logarithm of volatility over evenness at those weights. Only securities without a budget can lower it. */
  readonly least: number;
}

/** Costs of trades, as a fraction of value. */
export interface TradeCosts {
  /** Per unit of weight traded. */
  readonly linear: number;
  /** Per weight traded to the power of 3/2. */
  readonly impact: number;
  /** Weights held before the rebalance, [N]. */
  readonly reference: Float64Array;
  /** Cost of selling holdings of securities outside the problem. */
  readonly fixed: number;
}

/**
 * Returns true if only the distance from the index is minimised. Limits on the tracking error are then only checked.
 */
export function isPureTracking(goal: Goal, index: Float64Array, costs: TradeCosts | null): boolean {
  return (
    costs === null &&
    goal.form === 'quadratic' &&
    goal.metric === 'covariance' &&
    goal.centre === index &&
    goal.linear.every((value) => value === 0)
  );
}

/** Returns the goal of an index tracker: twice half the variance of the active weights. */
export function createTrackingGoal(index: Float64Array): QuadraticGoal {
  return {
    form: 'quadratic',
    metric: 'covariance',
    curvature: 2,
    centre: index,
    linear: new Float64Array(index.length),
  };
}
