import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import { createColdState } from '#kernels/optimisation/active-set/active-state.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/kkt.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramResult } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { EvennessNumerator } from '../../objectives/goal.js';
import { computeEvenness } from '../../objectives/parity.js';
import type { Problem } from '../problem.js';
import { CURVED_ACCURACY, scaleSolution, setStart, type GoalSolution, type GoalOptions } from './goal-answer.js';
import { findLargestScale } from './largest-scale.js';
import { addLinearCost, computeCost, computePrices, scalePrices } from './prices.js';
import { addSeparableTerms, createBarrierTerm, createImpactTerm } from './separable.js';
import { computeVariance, solveRatio, type RatioPoint } from './solve-ratio.js';
import { solveSeparable } from './solve-separable.js';

/**
 * Maximum number of barrier prices that are tried until the price agrees with the resulting portfolio. Without costs,
 * one suffices.
 */
const ROUNDS_MAX = 40;

/** Relative change of a price below which it counts as converged. */
const PRICE_TOLERANCE = 1e-11;

/**
 * Solves risk budgets within rows. The portfolio with the largest evenness over volatility minimises half the variance
 * less a barrier. The barrier is the budget-weighted sum of the log weights times that portfolio's variance. Costs are
 * subtracted from the evenness, so the weights of barrier and costs depend on the solution and are iterated.
 */
export function solveParity(
  solver: Solver,
  problem: Problem,
  numerator: EvennessNumerator,
  rows: Program,
  options: GoalOptions,
): GoalSolution | undefined {
  const { costs } = problem;
  const { budgets, parity } = numerator;
  for (let i = 0; i < rows.n; i++) if (budgets[i]! > 0 && !(rows.upper[i]! > 0)) return undefined;
  const freeProgram = {
    ...rows,
    curvature: 1,
    centre: new Float64Array(rows.n),
    ridge: 0,
    linear: new Float64Array(rows.n),
  };
  const isFree = costs === null && computePrices(rows, parity) === 0 && (options.charge ?? 0) === 0;
  const scaledSolution = isFree ? scaleToParity(freeProgram, numerator) : undefined;
  if (scaledSolution !== undefined) return scaledSolution;
  const computeTotalCost = (x: Float64Array) => computeCost(costs, x) + computePrices(rows, x) + (options.charge ?? 0);
  let start = parity;
  let { variance } = numerator;
  let warm = options.warm;
  let totalCost = 0;
  let evenness = 1;
  let iterations = 0;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    // The gradient of evenness less costs is the evenness times the gradient of the logarithms, less the gradient of
    // the costs.
    const net = evenness - totalCost;
    if (!(net > 0)) return undefined;
    const solveAtPrice = (price: number, last: ActiveState | undefined): RatioPoint | undefined => {
      const program = scalePrices(addLinearCost(freeProgram, costs), price / net);
      const barrier = createBarrierTerm(budgets.map((budget) => (price * budget * evenness) / net));
      const parts = costs !== null && costs.impact > 0 ? [barrier, createImpactTerm(costs, price / net)] : [barrier];
      const result = solveSeparable(
        solver,
        program,
        addSeparableTerms(parts),
        setStart({ ...options, warm: last ?? warm }, start),
      );
      if (result === undefined) return undefined;
      start = result.answer.point.x;
      iterations += result.answer.iterations;
      return { ...result, price, variance: computeVariance(program, start), numerator: 1 };
    };
    const point = solveRatio(solveAtPrice, variance, CURVED_ACCURACY);
    if (point === undefined) return undefined;
    const { x } = point.answer.point;
    const before = evenness / net;
    variance = point.variance;
    warm = point.answer.state;
    totalCost = computeTotalCost(x);
    evenness = totalCost === 0 ? 1 : computeEvenness(budgets, x);
    if (Math.abs(before - evenness / (evenness - totalCost)) <= PRICE_TOLERANCE * before)
      return {
        program: point.program,
        answer: { ...point.answer, iterations },
        priceScale: 1 / variance,
        penaltyScale: variance / (evenness - totalCost),
      };
  }
  return undefined;
}

/**
 * Returns the parity weights as the solution if they satisfy the rows. No row then exerts a force. Otherwise returns
 * undefined.
 */
function scaleToParity(free: Program, { parity, budgets, variance }: EvennessNumerator): GoalSolution | undefined {
  const linear = Float64Array.from(budgets, (budget, i) => (budget === 0 ? 0 : (-variance * budget) / parity[i]!));
  const program = { ...free, linear };
  const state = createColdState(program);
  const point = {
    x: parity,
    rowMultipliers: new Float64Array(free.rows.count),
    kinkMultipliers: Float64Array.from(free.kinks, ({ limit }) => (limit === null ? 1 : 0)),
    normMultipliers: new Float64Array(free.norms.length),
  };
  const kkt = checkKkt(program, point);
  if (!isOptimal(kkt)) return undefined;
  const scale = findLargestScale(program, { point });
  const answer: ProgramResult = { status: 'solved', point, state, kkt, iterations: 1, route: 'active-set' };
  if (scale === 1) return { program, answer, priceScale: 1 / variance, penaltyScale: variance };
  const scaledSolution = scaleSolution(scale, { program, answer, price: variance, variance, numerator: 1 });
  return { ...scaledSolution, priceScale: 1 / (scale * scale * variance), penaltyScale: scale * scale * variance };
}
