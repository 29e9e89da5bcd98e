import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import { computeLagrangianSlopes } from '#kernels/optimisation/program/optimality.js';
import { computeDotProduct, sumDifferences } from '../base/numbers.js';
import type { LinearRow, SecurityRow } from '../definition/constraint-class.js';
import { computeReturnShortfall, computeWorstVariance } from '../definition/objectives.js';
import { computeTailOutcome, type TailOutcome } from '../definition/tail-risk.js';
import { computeRowNorm, measureRow } from './assembly.js';
import type { ConvexSolution } from './convex-solve.js';
import { computeGoalValue } from './goals.js';
import { computeCost, computeTrackingVariance, describeRow, type Problem, type RowWithOrigin } from './problem.js';
import type { Solution } from './search.js';

export interface RowSide {
  readonly placed: RowWithOrigin;
  readonly side: 'lower' | 'upper' | 'eq';
  readonly label: string;
  /** Measure of the row at the weights, and the bound on this side, in the unit of the row. */
  readonly value: number;
  readonly limit: number;
  /** Distance to the bound in the row's unit, at least 0. */
  readonly slack: number;
  readonly isBinding: boolean;
  /** Shadow price: change of the objective per unit of the bound. */
  readonly shadowPrice: number;
}

/**
 * Maximum slack of a binding side. Such a slack is rounding. An effective number of securities has a separate maximum.
 */
const BINDING_TOLERANCE = 1e-7;
const BINDING_TOLERANCE_EFFECTIVE_NUMBER = 1e-6;

/** Returns every side of every row at the weights, in row order, lower side first. */
export function listRowSides(problem: Problem, solution: ConvexSolution): RowSide[] {
  const prices = computePrices(problem, solution);
  return problem.rows.flatMap((rowWithOrigin) => listSides(problem, rowWithOrigin, solution.weights, prices));
}

/**
 * Violation of a soft limit below which the limit counts as satisfied. For a fraction it is a hundredth of a basis
 * point.
 */
const EXCESS_MIN = 1e-6;

/** Returns the sides of soft rows whose bound the solution violates, in row order. */
export const listExceededSides = (sides: readonly RowSide[]): RowSide[] =>
  sides.filter((side) => side.placed.origin.soft !== null && computeExcess(side) > EXCESS_MIN);

/**
 * Returns how far the measure of a side is beyond its bound, in the unit of the row. It is negative inside the bound.
 */
function computeExcess({ side, value, limit }: RowSide): number {
  if (side === 'eq') return Math.abs(value - limit);
  return side === 'upper' ? value - limit : limit - value;
}

/** Shadow prices of bounds by row. The price of a weight bound belongs to the first row that sets the bound. */
interface Prices {
  lower(rowWithOrigin: RowWithOrigin): number;
  upper(rowWithOrigin: RowWithOrigin): number;
}

function computePrices(problem: Problem, { assembled, answer, weights, priceScale }: ConvexSolution): Prices {
  const { point } = answer;
  const { program } = assembled;
  const { left, right } = computeLagrangianSlopes(program, point);
  // Factor from the units of the program to those of the reported objective.
  const scale = problem.objective.entry.sense === 'maximise' ? -priceScale : priceScale;
  const activeBounds = new Set<string>();
  const pricesByRow = new Map<RowWithOrigin, { lower: number; upper: number }>();
  for (const rowWithOrigin of problem.rows) {
    const { row, origin } = rowWithOrigin;
    if (row.form !== 'name' || origin.soft !== null) continue;
    const i = row.name;
    const price = { lower: 0, upper: 0 };
    // If the restriction holds a security and not its own bound, the bound has no price. Moving it would have no
    // effect.
    const isSetBy = (bound: number | undefined, effective: number, side: string) => {
      if (
        bound === undefined ||
        bound !== effective ||
        Math.abs(weights[i]! - bound) > BINDING_TOLERANCE ||
        activeBounds.has(`${side} ${i}`)
      )
        return false;
      activeBounds.add(`${side} ${i}`);
      return true;
    };
    if (origin.kind === 'eq')
      price.lower = isSetBy(row.lower?.value, program.lower[i]!, 'lower') ? (left[i]! + right[i]!) / 2 : 0;
    else {
      if (isSetBy(row.lower?.value, program.lower[i]!, 'lower')) price.lower = Math.max(right[i]!, 0);
      if (isSetBy(row.upper?.value, program.upper[i]!, 'upper')) price.upper = Math.min(left[i]!, 0);
    }
    pricesByRow.set(rowWithOrigin, price);
  }
  const findMultiplier = (rowWithOrigin: RowWithOrigin): number => {
    if (rowWithOrigin.row.form === 'tail')
      return assembled.linear.reduce(
        (sum, ownRowWithOrigin, r) => (ownRowWithOrigin === rowWithOrigin ? sum + point.rowMultipliers[r]! : sum),
        0,
      );
    const r = assembled.linear.indexOf(rowWithOrigin);
    if (r >= 0) return point.rowMultipliers[r]!;
    const k = assembled.kinks.indexOf(rowWithOrigin);
    if (k >= 0) return point.kinkMultipliers[k]!;
    const q = assembled.norms.indexOf(rowWithOrigin);
    return q >= 0 ? point.normMultipliers[q]! : 0;
  };
  return {
    lower: (rowWithOrigin) => removeNegativeZero(scale * findPrice(rowWithOrigin, 'lower')),
    upper: (rowWithOrigin) => removeNegativeZero(scale * findPrice(rowWithOrigin, 'upper')),
  };

  function findPrice(rowWithOrigin: RowWithOrigin, side: 'lower' | 'upper'): number {
    const { row, origin } = rowWithOrigin;
    switch (row.form) {
      case 'name':
        return pricesByRow.get(rowWithOrigin)?.[side] ?? 0;
      case 'linear': {
        const y = findMultiplier(rowWithOrigin);
        const sideMultiplier = origin.kind === 'eq' ? y : side === 'upper' ? Math.max(y, 0) : Math.min(y, 0);
        return sideMultiplier === 0 ? 0 : -sideMultiplier * computeBoundScale(row, weights);
      }
      case 'distance':
        return side === 'upper' ? removeNegativeZero(-findMultiplier(rowWithOrigin) / row.scale) : 0;
      case 'tail':
        return side === 'upper' ? removeNegativeZero(-findMultiplier(rowWithOrigin)) : 0;
      case 'norm': {
        if (side !== row.side) return 0;
        return removeNegativeZero(-findMultiplier(rowWithOrigin) * row.limit.value * row.limit.slope);
      }
      default:
        return 0;
    }
  }
}

const removeNegativeZero = (value: number): number => (value === 0 ? 0 : value);

/**
 * Returns the change of the program's bound per unit of the bound in the request. For an average, this is the invested
 * weight.
 */
function computeBoundScale({ average }: LinearRow, weights: Float64Array): number {
  if (average === undefined) return 1;
  return computeDotProduct(average.denominator, weights);
}

function listSides(problem: Problem, rowWithOrigin: RowWithOrigin, weights: Float64Array, prices: Prices): RowSide[] {
  const { origin, row } = rowWithOrigin;
  const createSide: MakeSide = (which, value, limit, threshold = BINDING_TOLERANCE) => {
    const slack = which === 'upper' ? limit - value : value - limit;
    return {
      placed: rowWithOrigin,
      side: which,
      label: describeRow(rowWithOrigin, which),
      value,
      limit,
      slack: which === 'eq' ? 0 : Math.max(0, slack),
      isBinding: which === 'eq' || slack <= threshold,
      shadowPrice: which === 'upper' ? prices.upper(rowWithOrigin) : prices.lower(rowWithOrigin),
    };
  };
  switch (row.form) {
    case 'name':
      return createBoundSides(row, weights[row.name]!, origin.kind, createSide);
    case 'linear': {
      const value = computeDotProduct(row.coefficients, weights);
      if (row.average === undefined) return createBoundSides(row, value, origin.kind, createSide);
      const { denominator, numerator, scale } = row.average;
      const investedWeight = computeDotProduct(denominator, weights);
      const average = investedWeight === 0 ? 0 : computeDotProduct(numerator, weights) / investedWeight;
      const side = row.lower === null ? 'upper' : 'lower';
      return [createSide(side, average, (origin.params[side] as number) * scale)]; // the row exists because this parameter is set
    }
    case 'distance':
      return [createSide('upper', row.scale * (sumDifferences(row.reference, weights) + row.fixed), row.limit.value)];
    case 'tail':
      return [createSide('upper', measureRow(problem, row, weights), row.limit.value)];
    case 'norm': {
      const value = row.parameterOf(computeRowNorm(problem, row, weights));
      const limit = row.parameterOf(row.limit.value);
      if (row.side === 'upper') return [createSide('upper', value, limit)];
      return [createSide('lower', value, limit, BINDING_TOLERANCE_EFFECTIVE_NUMBER)];
    }
    case 'count': {
      const heldCount = row.members.reduce((count, name) => count + (weights[name] !== 0 ? 1 : 0), 0);
      return [createSide('lower', heldCount, row.minimum, 0), createSide('upper', heldCount, row.maximum, 0)];
    }
    case 'threshold': {
      const least = weights.reduce(
        (smallest, weight) => (weight > 0 ? Math.min(smallest, weight) : smallest),
        Infinity,
      );
      return [createSide('lower', least === Infinity ? row.threshold : least, row.threshold)];
    }
    case 'concentration': {
      let largest = 0;
      let sumAbove = 0;
      for (const weight of weights) {
        largest = Math.max(largest, weight);
        if (weight > row.trigger + BINDING_TOLERANCE) sumAbove += weight;
      }
      return [
        row.single - largest <= row.aggregate - sumAbove
          ? createSide('upper', largest, row.single)
          : createSide('upper', sumAbove, row.aggregate),
      ];
    }
  }
}

type MakeSide = (which: RowSide['side'], value: number, limit: number, threshold?: number) => RowSide;

function createBoundSides(
  { lower, upper }: SecurityRow | LinearRow,
  value: number,
  kind: 'eq' | 'ineq',
  side: MakeSide,
): RowSide[] {
  if (kind === 'eq') return [side('eq', value, (lower ?? upper)!.value)]; // an equality has a bound
  return [
    ...(lower === null ? [] : [side('lower', value, lower.value)]),
    ...(upper === null ? [] : [side('upper', value, upper.value)]),
  ];
}

/** Returns half the sum of absolute differences. */
export const computeDistance = (reference: Float64Array, weights: Float64Array): number =>
  sumDifferences(reference, weights) / 2;

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
