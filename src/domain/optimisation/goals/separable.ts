import { raiseToPower } from '#kernels/power.js';
import type { TradeCosts } from '../../objectives/goal.js';

/** Sum of smooth convex functions of single weights, with value and quadratic model. */
export interface SeparableFunction {
  valueAt(x: Float64Array): number;
  /** Adds the first and second derivatives at x to the model. */
  addModel(x: Float64Array, model: SeparableModel): void;
  /**
   * Returns a point near x for the next model. Each weight is at its optimum while the other weights are fixed.
   * Default: x.
   */
  settle?(x: Float64Array, rest: RemainingDerivatives): Float64Array;
  /** Returns the smallest weights that a step from x may reach, [N]. Absent if the function is defined everywhere. */
  leastFrom?(x: Float64Array): Float64Array;
}

/** Derivatives of the remaining objective at a point, by weight. */
export interface RemainingDerivatives {
  /**
   * First derivatives, including the forces of rows, [N]: `left` for a decrease, `right` for an increase. They differ
   * at a kink.
   */
  readonly left: Float64Array;
  readonly right: Float64Array;
  /** Second derivatives, [N]. */
  readonly stiffness: Float64Array;
}

export interface SeparableModel {
  /** [N] */
  readonly slope: Float64Array;
  /** [N] */
  readonly curvature: Float64Array;
}

/** Smallest trade size at which the curvature is evaluated, because it is infinite at zero. */
const TRADE_MIN = 1e-14;

/**
 * Creates the market impact cost: scale times coefficient times |w - reference|^1.5.
 * @param least trade size. Smaller trades have the curvature of this size. Settled steps do not depend on it.
 */
export function createImpactTerm(
  { impact, reference }: TradeCosts,
  scale: number,
  least = TRADE_MIN,
): SeparableFunction {
  const coefficient = scale * impact;
  return {
    valueAt: (x) =>
      x.reduce((sum, value, i) => sum + coefficient * raiseToPower(Math.abs(value - reference[i]!), 1.5), 0),
    addModel(x, { slope, curvature }) {
      for (let i = 0; i < x.length; i++) {
        const trade = x[i]! - reference[i]!;
        slope[i]! += 1.5 * coefficient * Math.sign(trade) * Math.sqrt(Math.abs(trade));
        curvature[i]! += (0.75 * coefficient) / Math.sqrt(Math.max(Math.abs(trade), least));
      }
    },
    settle: (x, { left, right, stiffness }) =>
      x.map((value, i) => {
        const trade = value - reference[i]!;
        const costSlope = 1.5 * coefficient * Math.sign(trade) * Math.sqrt(Math.abs(trade));
        const slope = left[i]! + costSlope > 0 ? left[i]! : right[i]! + costSlope < 0 ? right[i]! : null;
        if (slope === null) return value;
        return reference[i]! + solveSingleTrade(stiffness[i]! * trade - slope, stiffness[i]!, 1.5 * coefficient);
      }),
  };
}

/** Returns the trade d that solves: stiffness times d plus steepness times the root of |d| equals the pull. */
function solveSingleTrade(pull: number, stiffness: number, steepness: number): number {
  const size = Math.abs(pull);
  const root = (2 * size) / (steepness + Math.sqrt(steepness * steepness + 4 * stiffness * size));
  return Math.sign(pull) * root * root;
}

/** Minimum fraction of a weight that remains after one step. */
const REMAINING_MIN = 0.1;

/** Creates the barrier - sum of shares_i log x_i over the securities with a share. */
export function createBarrierTerm(shares: Float64Array): SeparableFunction {
  return {
    valueAt: (x) =>
      x.reduce((sum, value, i) => (shares[i] === 0 ? sum : sum - shares[i]! * Math.log(Math.max(value, 0))), 0),
    addModel(x, { slope, curvature }) {
      for (let i = 0; i < x.length; i++) {
        if (shares[i] === 0) continue;
        slope[i]! -= shares[i]! / x[i]!;
        curvature[i]! += shares[i]! / (x[i]! * x[i]!);
      }
    },
    leastFrom: (x) => x.map((value, i) => (shares[i] === 0 ? Number.NEGATIVE_INFINITY : REMAINING_MIN * value)),
  };
}

/** Creates the sum of separable functions. */
export function addSeparableTerms(parts: readonly SeparableFunction[]): SeparableFunction {
  const [first, ...otherSeparableFunctions] = parts;
  if (first === undefined || otherSeparableFunctions.length === 0)
    return first ?? { valueAt: () => 0, addModel: () => {} };
  const boundedParts = parts.filter((part) => part.leastFrom !== undefined);
  return {
    valueAt: (x) => parts.reduce((sum, part) => sum + part.valueAt(x), 0),
    addModel(x, model) {
      for (const part of parts) part.addModel(x, model);
    },
    ...(boundedParts.length === 0 ? {} : { leastFrom: (x: Float64Array) => boundedParts[0]!.leastFrom!(x) }),
  };
}
