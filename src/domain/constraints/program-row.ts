import type { TailGoal } from '../objectives/tail.js';

/**
 * One side of a row: its value in the program, and how that value follows the parameter a client wrote.
 * A relaxation moves `parameter`, the program sees `value + slope * change`.
 */
export interface Limit {
  readonly value: number;
  /** Parameter behind the limit; null when there is none to move (a budget of one, an exclusion). */
  readonly parameter: string | null;
  /** Change of `value` per unit of the parameter. */
  readonly slope: number;
  /** Further parameters behind the limit. */
  readonly further?: FurtherParameters;
}

/** Parameters that move a limit beside the one that states it. */
export interface FurtherParameters {
  /** Change of the value per unit of each. */
  readonly slopes: Readonly<Record<string, number>>;
  /** Value of the limit under the parameters of its row. */
  readonly valueOf: (params: Readonly<Record<string, unknown>>) => number;
}

/** The parameters behind a limit with the change of its value per unit of each. */
export function slopesOf({ parameter, slope, further }: Limit): readonly (readonly [string, number])[] {
  return [...(parameter === null ? [] : [[parameter, slope] as const]), ...Object.entries(further?.slopes ?? {})];
}

/** Whether no parameter moves a limit: it can only be widened. */
export function isStuck(limit: Limit): boolean {
  return slopesOf(limit).every(([, slope]) => slope === 0);
}

/** What a row is about when it expands: a group or an identifier; null for a row that does not. */
type Member = string | null;

/** Bounds on one weight. */
export interface NameRow {
  readonly form: 'name';
  /** Position of the name. */
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
   * Present where the client's bound multiplies the invested weight: the client's value is
   * numerator'w / denominator'w, and the row compares (numerator - bound * scale * denominator)'w with zero.
   * The slopes of its limits are those of a weight of one: the bound moves the coefficients and leaves the value.
   */
  readonly average?: Average;
}

/** A ratio of weighted sums, [N] each; the client's bound counts `scale` times. */
export interface Average {
  readonly numerator: Float64Array;
  readonly denominator: Float64Array;
  readonly scale: number;
}

/** One-way distance from a portfolio: 0.5 * (sum |w - reference| + fixed) <= limit. */
export interface DistanceRow {
  readonly form: 'distance';
  /** [N] */
  readonly reference: Float64Array;
  /** Weight of the reference in names outside the problem, which is traded whatever w is. */
  readonly fixed: number;
  readonly limit: Limit;
  readonly member: Member;
}

/** A second-order row: root of (w - centre)' M (w - centre) at most `radius`. */
export interface NormRow {
  readonly form: 'norm';
  /** M: the covariance of the problem, or the identity. */
  readonly metric: 'covariance' | 'identity';
  /** [N], or null for zero. */
  readonly centre: Float64Array | null;
  /** The radius; `parameter` and `slope` are local there: see `radiusOf`. */
  readonly limit: Limit;
  /** Radius for a value of the parameter, and back. */
  readonly radiusOf: (parameter: number) => number;
  readonly parameterOf: (radius: number) => number;
  /** Side of the parameter: a largest tracking error is an upper, a least effective number a lower bound. */
  readonly side: 'lower' | 'upper';
  readonly member: Member;
}

/** The average of the worst scenarios at most `limit`: losses, or drawdowns. */
export interface TailRow {
  readonly form: 'tail';
  readonly goal: TailGoal;
  readonly limit: Limit;
  readonly member: Member;
}

/** Number of held names among `members`, between `minimum` and `maximum`. */
export interface CountRow {
  readonly form: 'count';
  readonly members: Int32Array;
  readonly minimum: number;
  readonly maximum: number;
  readonly member: Member;
}

/** Every held name holds at least `threshold`. */
export interface ThresholdRow {
  readonly form: 'threshold';
  readonly threshold: number;
  readonly member: Member;
}

/** No name above `single`; the names above `trigger` sum to at most `aggregate`. */
export interface ConcentrationRow {
  readonly form: 'concentration';
  readonly single: number;
  readonly trigger: number;
  readonly aggregate: number;
  readonly member: Member;
}

/** Rows that no fixed linear rows state. */
export type CurvedRow = NormRow | TailRow;
export type ConvexRow = NameRow | LinearRow | DistanceRow | CurvedRow;
export type NonConvexRow = CountRow | ThresholdRow | ConcentrationRow;
export type ProgramRow = ConvexRow | NonConvexRow;

/** A limit that a parameter states directly. */
export const stated = (value: number, parameter: string, slope = 1): Limit => ({ value, parameter, slope });

/** A limit that no parameter moves. */
export const fixed = (value: number): Limit => ({ value, parameter: null, slope: 0 });
