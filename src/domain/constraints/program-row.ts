import type { TailGoal } from '../objectives/tail.js';

/**
 * One side of a row: its value in the program, and its dependence on the parameter in the request. A relaxation moves
 * `parameter`; the program uses `value + slope * change`.
 */
export interface Limit {
  readonly value: number;
  /** Parameter of the limit; null if no parameter can change it (a budget of one, an exclusion). */
  readonly parameter: string | null;
  /** Change of `value` per unit of the parameter. */
  readonly slope: number;
  /** Further parameters of the limit. */
  readonly further?: FurtherParameters;
}

/** Parameters that move a limit in addition to the main one. */
export interface FurtherParameters {
  /** Change of the value per unit of each. */
  readonly slopes: Readonly<Record<string, number>>;
  /** Returns the value of the limit for the parameters of its row. */
  readonly valueOf: (params: Readonly<Record<string, unknown>>) => number;
}

/** Returns the parameters behind a limit with the change of its value per unit of each. */
export function computeSlopes({ parameter, slope, further }: Limit): readonly (readonly [string, number])[] {
  return [...(parameter === null ? [] : [[parameter, slope] as const]), ...Object.entries(further?.slopes ?? {})];
}

/** Returns true if no parameter changes the limit, so that it can only be widened. */
export function isStuck(limit: Limit): boolean {
  return computeSlopes(limit).every(([, slope]) => slope === 0);
}

/** Subject of an expanded row: a group or an identifier; null for other rows. */
type Member = string | null;

/** Bounds on one weight. */
export interface NameRow {
  readonly form: 'name';
  /** Position of the security. */
  readonly name: number;
  readonly lower: Limit | null;
  readonly upper: Limit | null;
  readonly member: Member;
}

/** lower <= coefficients' w <= upper. */
export interface LinearRow {
  readonly form: 'linear';
  /** [N] */
  readonly coefficients: Float64Array;
  readonly lower: Limit | null;
  readonly upper: Limit | null;
  readonly member: Member;
  /**
   * Present if the client's bound multiplies the invested weight: the client's value is numerator'w / denominator'w,
   * and the row compares (numerator - bound * scale * denominator)'w with zero. The slopes of its limits are those at
   * weight 1, because the bound changes the coefficients and not the value.
   */
  readonly average?: Average;
}

/** Ratio of weighted sums, [N] each; the client's bound is multiplied by `scale`. */
export interface Average {
  readonly numerator: Float64Array;
  readonly denominator: Float64Array;
  readonly scale: number;
}

/** One-way distance from a portfolio: 0.5 * (sum |w - reference| + fixed) <= limit. */
export interface DistanceRow {
  readonly form: 'distance';
  /** Weights of the reference portfolio, [N]. */
  readonly reference: Float64Array;
  /** Weight of the reference in securities outside the problem, which is traded in any case. */
  readonly fixed: number;
  readonly limit: Limit;
  readonly member: Member;
}

/** Second-order row: root of (w - centre)' M (w - centre) at most `radius`. */
export interface NormRow {
  readonly form: 'norm';
  /** M: the covariance of the problem, or the identity. */
  readonly metric: 'covariance' | 'identity';
  /** [N], or null for zero. */
  readonly centre: Float64Array | null;
  /** The radius; `parameter` and `slope` are local to it: see `radiusOf`. */
  readonly limit: Limit;
  /** Returns the radius for a value of the parameter, and the inverse. */
  readonly radiusOf: (parameter: number) => number;
  readonly parameterOf: (radius: number) => number;
  /** Side of the parameter: a maximum tracking error is an upper bound, a minimum effective number a lower one. */
  readonly side: 'lower' | 'upper';
  readonly member: Member;
}

/** Row that limits the average of the worst scenarios, losses or drawdowns to at most `limit`. */
export interface TailRow {
  readonly form: 'tail';
  readonly goal: TailGoal;
  readonly limit: Limit;
  readonly member: Member;
}

/** Number of held securities among `members`, between `minimum` and `maximum`. */
export interface CountRow {
  readonly form: 'count';
  readonly members: Int32Array;
  readonly minimum: number;
  readonly maximum: number;
  readonly member: Member;
}

/** Every held security has a weight of at least `threshold`. */
export interface ThresholdRow {
  readonly form: 'threshold';
  readonly threshold: number;
  readonly member: Member;
}

/** No weight is above `single`, and weights above `trigger` sum to at most `aggregate`. */
export interface ConcentrationRow {
  readonly form: 'concentration';
  readonly single: number;
  readonly trigger: number;
  readonly aggregate: number;
  readonly member: Member;
}

/** Rows that fixed linear rows cannot express. */
export type CurvedRow = NormRow | TailRow;
export type ConvexRow = NameRow | LinearRow | DistanceRow | CurvedRow;
export type NonConvexRow = CountRow | ThresholdRow | ConcentrationRow;
export type ProgramRow = ConvexRow | NonConvexRow;

/** Returns a limit that equals a parameter. */
export const state = (value: number, parameter: string, slope = 1): Limit => ({ value, parameter, slope });

/** Returns a limit that no parameter moves. */
export const createFixedLimit = (value: number): Limit => ({ value, parameter: null, slope: 0 });
