import type { TailGoal } from '../objectives/tail.js';

/**
 * One side of a row: its value in the program, and how it depends on a parameter of the request. A relaxation changes
 * `parameter`; the program then uses `value + slope * change`.
 */
export interface Limit {
  readonly value: number;
  /** Parameter that sets the limit. Null if no parameter can change it, as for a budget of one or an exclusion. */
  readonly parameter: string | null;
  /** Change of `value` per unit of the parameter. */
  readonly slope: number;
  /** Further parameters on which the limit depends. */
  readonly further?: FurtherParameters;
}

/** Parameters on which a limit depends besides the main one. */
export interface FurtherParameters {
  /** Change of the value per unit of each parameter. */
  readonly slopes: Readonly<Record<string, number>>;
  /** Returns the value of the limit for the parameters of its row. */
  readonly valueOf: (params: Readonly<Record<string, unknown>>) => number;
}

/** Returns the parameters on which a limit depends, each with the change of the limit per unit. */
export function computeSlopes({ parameter, slope, further }: Limit): readonly (readonly [string, number])[] {
  return [...(parameter === null ? [] : [[parameter, slope] as const]), ...Object.entries(further?.slopes ?? {})];
}

/** Returns true if no parameter changes the limit, so that it can only be widened. */
export function hasNoParameter(limit: Limit): boolean {
  return computeSlopes(limit).every(([, slope]) => slope === 0);
}

/** Group or identifier for which a class that covers several members created the row. Null for other rows. */
type Member = string | null;

/** Bounds on one weight. */
export interface SecurityRow {
  readonly form: 'name';
  /** Position of the security in the problem. */
  readonly name: number;
  readonly lower: Limit | null;
  readonly upper: Limit | null;
  readonly member: Member;
}

/** Row lower <= coefficients'w <= upper. */
export interface LinearRow {
  readonly form: 'linear';
  /** [N] */
  readonly coefficients: Float64Array;
  readonly lower: Limit | null;
  readonly upper: Limit | null;
  readonly member: Member;
  /**
   * Present if the client's bound is multiplied by the invested weight. The client's value is numerator'w /
   * denominator'w. The row compares (numerator - bound * scale * denominator)'w with zero. The slopes of the limits
   * apply to an invested weight of 1, because the bound changes the coefficients and not the value.
   */
  readonly average?: Average;
}

/** Ratio of weighted sums, [N] each. The client's bound is multiplied by `scale`. */
export interface Average {
  readonly numerator: Float64Array;
  readonly denominator: Float64Array;
  readonly scale: number;
}

/** Distance from a reference portfolio: scale * (sum |w - reference| + fixed) <= limit. */
export interface DistanceRow {
  readonly form: 'distance';
  /** Weights of the reference portfolio, [N]. */
  readonly reference: Float64Array;
  /** Reference weight in securities outside the problem, which is traded in any case. */
  readonly fixed: number;
  /** Factor of the sum: `ONE_WAY` counts half of it, because purchases equal sales. */
  readonly scale: number;
  readonly limit: Limit;
  readonly member: Member;
}

/** Scale of a one-way distance. */
export const ONE_WAY = 0.5;

/** Second-order cone row: the root of (w - centre)' M (w - centre) is at most `radius`. */
export interface NormRow {
  readonly form: 'norm';
  /** Matrix M: the covariance of the problem, or the identity. */
  readonly metric: 'covariance' | 'identity';
  /** Centre, [N]; null for zero. */
  readonly centre: Float64Array | null;
  /** Radius as a limit. `parameter` and `slope` apply only near the current radius; see `radiusOf`. */
  readonly limit: Limit;
  /** Returns the radius for a parameter value. */
  readonly radiusOf: (parameter: number) => number;
  readonly parameterOf: (radius: number) => number;
  /** Side of the parameter: `upper` for a maximum tracking error, `lower` for a minimum effective number. */
  readonly side: 'lower' | 'upper';
  readonly member: Member;
}

/** Row that limits the average of the worst scenarios (losses or drawdowns) to at most `limit`. */
export interface TailRow {
  readonly form: 'tail';
  readonly goal: TailGoal;
  readonly limit: Limit;
  readonly member: Member;
}

/** Row that limits the number of held securities among `members` to between `minimum` and `maximum`. */
export interface CountRow {
  readonly form: 'count';
  readonly members: Int32Array;
  readonly minimum: number;
  readonly maximum: number;
  readonly member: Member;
}

/** Row that requires a weight of at least `threshold` for every held security. */
export interface ThresholdRow {
  readonly form: 'threshold';
  readonly threshold: number;
  readonly member: Member;
}

/** Row that limits each weight to `single`, and the sum of weights above `trigger` to `aggregate`. */
export interface ConcentrationRow {
  readonly form: 'concentration';
  readonly single: number;
  readonly trigger: number;
  readonly aggregate: number;
  readonly member: Member;
}

/** Row that cannot be expressed by a fixed number of linear rows. */
export type CurvedRow = NormRow | TailRow;
export type ConvexRow = SecurityRow | LinearRow | DistanceRow | CurvedRow;
export type NonConvexRow = CountRow | ThresholdRow | ConcentrationRow;
export type ProgramRow = ConvexRow | NonConvexRow;

/** Creates a limit that depends on one parameter. */
export const createParameterLimit = (value: number, parameter: string, slope = 1): Limit => ({
  value,
  parameter,
  slope,
});

/** Creates a limit that no parameter changes. */
export const createFixedLimit = (value: number): Limit => ({ value, parameter: null, slope: 0 });
