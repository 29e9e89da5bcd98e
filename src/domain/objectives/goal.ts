import type { TailGoal } from './tail.js';

/** Objective in the form that a solver minimises or maximises. Arrays follow the securities of the problem. */
export type Goal = QuadraticGoal | RatioGoal | TailGoal;

/** Goal: minimise curvature/2 (w - centre)' M (w - centre) + linear'w. */
export interface QuadraticGoal {
  readonly form: 'quadratic';
  /** Matrix M: the covariance, or the corresponding correlation matrix. */
  readonly metric: 'covariance' | 'correlation';
  readonly curvature: number;
  /** [N] */
  readonly centre: Float64Array;
  /** [N] */
  readonly linear: Float64Array;
}

/** Goal: maximise a concave numerator over the volatility. */
export interface RatioGoal {
  readonly form: 'ratio';
  readonly numerator: Numerator;
}

export type Numerator = LinearNumerator | EvennessNumerator;

/** Numerator slopes'w. */
export interface LinearNumerator {
  readonly kind: 'linear';
  /** [N] */
  readonly slopes: Float64Array;
}

/**
 * Numerator: product of (w_i / b_i)^b_i over the securities with a budget. For weights with sum 1, it is 1 if they
 * equal the budgets, otherwise less.
 */
export interface EvennessNumerator {
  readonly kind: 'evenness';
  /** Risk budgets b, [N], not negative, with sum 1. */
  readonly budgets: Float64Array;
  /**
   * Weights, [N], with sum 1. The variance contributions equal the budgets. Without further rows, these weights are the
   * optimum.
   */
  readonly parity: Float64Array;
  /** Variance of the weights `parity`. */
  readonly variance: number;
  /**
   * Logarithm of volatility over evenness at the weights `parity`. Only holdings of securities without a budget can
   * lower it.
   */
  readonly least: number;
}

/** Trading costs as a fraction of the portfolio value. */
export interface TradeCosts {
  /** Cost per unit of weight traded. */
  readonly linear: number;
  /** Cost per weight traded to the power of 3/2. */
  readonly impact: number;
  /** Weights held before the rebalance, [N]. */
  readonly reference: Float64Array;
  /** Cost of selling holdings of securities outside the problem. */
  readonly fixed: number;
}

/**
 * Returns true if the goal only minimises the distance from the index. Limits on the tracking error are then checked
 * after the solve and are not part of it.
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

/** Returns the goal of an index tracker: minimise the variance of the active weights. */
export function createTrackingGoal(index: Float64Array): QuadraticGoal {
  return {
    form: 'quadratic',
    metric: 'covariance',
    curvature: 2,
    centre: index,
    linear: new Float64Array(index.length),
  };
}
