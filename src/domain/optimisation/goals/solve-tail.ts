import { computeDotProduct } from '../../numbers/dot.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/kkt.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramResult } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { computeOutcomes, computeTailAverage, countTailScenarios, type TailGoal } from '../../objectives/tail.js';
import type { SeparableFunction } from './separable.js';
import { solveSeparable } from './solve-separable.js';
import {
  expandSolution,
  SECURITIES_MIN,
  findSecuritiesAtBounds,
  restoreSecuritiesAtBounds,
} from './securities-at-bounds.js';
import { computeTailForces, createTailProgram, computeTailShares, type TailSet } from './tail-program.js';
import { isMuchLarger, isSame, findPeaks, findWorstScenarios, joinSets, selectWorst } from './tail-sets.js';
import { meterSolver } from '../work-meter.js';

/**
 * Optimum of a tail goal, with the program whose optimality conditions it satisfies. In this program the worst
 * scenarios are fixed forces on the weights.
 */
export interface TailSolution {
  readonly program: Program;
  readonly answer: ProgramResult;
  /** Tail average over all scenarios, without costs. */
  readonly value: number;
  /** Lower bound of the tail average within the rows, without costs. The forces prove it. */
  readonly bound: number;
  /** Multiplier of each scenario's returns in the proof, [T]. */
  readonly shares: Float64Array;
  /** Start for a search from similar weights. */
  readonly start: TailStart;
}

/** Weights with their worst scenarios. */
export interface TailStart {
  readonly weights: Float64Array;
  readonly set: TailSet;
}

/** Solution for a set of scenarios. */
type ScenarioSetSolution = Omit<TailSolution, 'value' | 'start'>;

export interface TailTerms {
  readonly goal: TailGoal;
  /** Rows, bounds and linear costs of the program, without an objective. */
  readonly rows: Program;
  /** Curved costs in the forms to try; a single null without curved costs. */
  readonly curved: readonly (SeparableFunction | null)[];
  /** Start weights, whose worst scenarios form the first set. */
  readonly near: Float64Array;
  /** First set of scenarios. Present if a solution at similar weights provides one. */
  readonly first?: TailSet | undefined;
  /** Number of multiplications after which the search for a better proof ends. Default: the limit of the measure. */
  readonly workMax?: number;
}

/** Maximum number of scenario sets; two to five are usual. */
const ROUNDS_MAX = 60;

/** Minimum size of the first set: up to this number, all scenarios are used. */
const ALL_SCENARIOS_MAX = 400;

/** Number of scenarios in the first set, as a multiple of the tail size. */
const FIRST_TAIL_SIZES = 2;

/** Relative difference of average and bound below which both count as equal. */
const GAP_TOLERANCE = 1e-9;

/**
 * Relative difference that counts as equal if no scenario is left to add. Rows are satisfied to 1e-10, and curved costs
 * are not more accurate.
 */
const GAP_TOLERANCE_COMPLETE = 1e-6;

/**
 * Maximum optimality gap, as a fraction of the value, that is accepted if the solver fails within the work limit. The
 * gap is reported.
 */
const GAP_MAX = 0.01;

/**
 * Number of multiplications after which the search for a better proof ends, one to two minutes. The remaining gap is
 * reported. Work is counted instead of time, so that equal requests have equal results.
 */
const WORK_MAX = { loss: 1e11, drawdown: 2e10 } as const;

/** Fraction of new scenarios in the first set of losses. If it is larger, the optimum is far from the known weights. */
const NEW_SCENARIOS_MAX = 0.5;

/** Maximum number of approximate optima that add scenarios before an exact solve; ten are usual. */
const ROUGH_ROUNDS_MAX = 20;

/** Units of the additional variables to try, relative to the size of a loss. Rounding depends on the unit. */
export const VARIABLE_UNITS = [1, 8, 0.125, 2, 0.5];

/**
 * Minimises the average of the worst scenarios within rows. Few scenarios determine the solution. A set grows by the
 * worst scenarios of the latest weights, until the average over all scenarios equals the bound that the set proves. Of
 * many securities only few are held. Securities at a bound in the start weights join once they would improve the tail.
 * @returns undefined if no solution was found.
 * @cost for each set of S scenarios about 20 factorisations of N^3 / 6 + S N^2 / 2, half as many for the first set of
 * losses.
 * @source Rockafellar & Uryasev (2000), Journal of Risk 2(3), for the program; Kuenzi-Bay & Mayer (2006), Computational
 * aspects of minimizing conditional value-at-risk, Computational Management Science 3(1), for growing sets; Dantzig &
 * Wolfe (1960), Operations Research 8(1), for priced securities.
 */
export function solveTail(solver: Solver, terms: TailTerms): TailSolution | undefined {
  const restingFlags = terms.curved.every((curved) => curved === null)
    ? findSecuritiesAtBounds(terms.rows, terms.near)
    : null;
  const result = restingFlags === null ? undefined : solveGrowing(solver, terms, restingFlags);
  return result ?? solveGrowing(solver, terms, null);
}

/**
 * Solves with a growing set of scenarios.
 * @param resting securities that stay at their start weights until they would improve the tail; null if there are none.
 */
function solveGrowing(inner: Solver, terms: TailTerms, resting: Uint8Array | null): TailSolution | undefined {
  const { goal, near, rows, workMax = WORK_MAX[terms.goal.measure] } = terms;
  const solver = meterSolver(inner);
  const isWithin = () => solver.spent() < workMax;
  const size = Math.max(countTailScenarios(goal), 1);
  const unit = computeTailAverage(computeOutcomes(goal, near).map(Math.abs), size) || 1;
  let restrictedTerms = { ...terms, rows: restoreSecuritiesAtBounds(rows, resting, near) };
  let { set, isFar: isGrowing } =
    terms.first === undefined
      ? createFirstSet(solver, restrictedTerms, unit)
      : { set: terms.first, isFar: isExpensive(terms) };
  if (isGrowing && !isExpensive(terms))
    restrictedTerms = { ...terms, rows: restoreSecuritiesAtBounds(rows, resting?.fill(0) ?? null, near) };
  let best: ProvenSolution | undefined;
  for (let round = 0; round < ROUNDS_MAX && isWithin(); round++) {
    if (isGrowing) set = addNearScenarios(solver, { ...restrictedTerms, unit, isWithin }, set);
    const result = solveInUnits(solver, restrictedTerms, set, unit);
    const wholeSolution = result === undefined || resting === null ? result : expandSolution(result, rows);
    if (result === undefined || wholeSolution === undefined) break;
    const { x } = result.answer.point;
    const outcomes = computeOutcomes(goal, x);
    const value = computeTailAverage(outcomes, size);
    const worstSet = findWorstScenarios(goal, x, outcomes);
    const pulledVariables = 'pulled' in wholeSolution ? wholeSolution.pulled : new Int32Array(0);
    const joinedSet = joinSets(set, worstSet);
    const isWhole = isSame(joinedSet, set);
    isGrowing = isExpensive(terms) || isMuchLarger(joinedSet, set);
    if (pulledVariables.length === 0) {
      const { program, answer } = wholeSolution;
      const { bound, shares } = result;
      const least = goal.measure === 'drawdown' ? Math.max(bound, 0) : bound; // no drawdown is below zero
      best = selectBetter(
        best,
        { program, answer, shares, value, bound: least, start: { weights: x, set: worstSet } },
        unit,
      );
      if (best.open <= GAP_TOLERANCE || (isWhole && best.open <= GAP_TOLERANCE_COMPLETE)) return best.answer;
      if (isWhole) break;
    }
    set = joinedSet;
    if (resting === null) continue;
    for (const i of pulledVariables) resting[i] = 0;
    if (isGrowing && !isExpensive(terms)) resting.fill(0);
    restrictedTerms = { ...terms, rows: restoreSecuritiesAtBounds(rows, resting, near) };
  }
  return best !== undefined && (best.open <= GAP_MAX || !isWithin()) ? best.answer : undefined;
}

/** Solution with its optimality gap. */
interface ProvenSolution {
  readonly answer: TailSolution;
  readonly open: number;
}

/** Returns the solution with the lower value, combined with the higher of both bounds. */
function selectBetter(best: ProvenSolution | undefined, tailSolution: TailSolution, unit: number): ProvenSolution {
  const bound = Math.max(best?.answer.bound ?? -Infinity, tailSolution.bound);
  const least = best === undefined || tailSolution.value <= best.answer.value ? tailSolution : best.answer;
  return { answer: { ...least, bound }, open: (least.value - bound) / Math.max(Math.abs(least.value), unit) };
}

interface InitialScenarioSet {
  readonly set: TailSet;
  /** True if approximate optima add scenarios before an exact solve. */
  readonly isFar: boolean;
}

/**
 * Returns the first set of scenarios. For losses, it consists of the worst scenarios of weights near the optimum. These
 * weights minimise the average over the worst scenarios at the start weights, without curved costs. The peaks of
 * drawdowns depend too much on the weights for this.
 */
function createFirstSet(solver: Solver, { goal, rows, near }: TailTerms, unit: number): InitialScenarioSet {
  const size = Math.max(countTailScenarios(goal), 1);
  const outcomes = computeOutcomes(goal, near);
  const tailSet: TailSet = {
    scenarios: selectWorst(outcomes, Math.max(Math.ceil(FIRST_TAIL_SIZES * size), ALL_SCENARIOS_MAX)),
    peaks: findPeaks(goal, near, selectWorst(outcomes, 2 * Math.ceil(size))),
  };
  if (goal.measure === 'drawdown' || tailSet.scenarios.length === goal.scenarios)
    return { set: tailSet, isFar: isExpensive({ goal, rows }) };
  const worstSet = findWorstScenarios(
    goal,
    solver.nearly(createTailProgram(goal, rows, tailSet, unit).program).slice(0, rows.n),
  );
  const isNew = joinSets(tailSet, worstSet).scenarios.length - tailSet.scenarios.length;
  return { set: worstSet, isFar: isNew > NEW_SCENARIOS_MAX * worstSet.scenarios.length };
}

function solveInUnits(solver: Solver, terms: TailTerms, set: TailSet, unit: number): ScenarioSetSolution | undefined {
  // The bound that no drawdown is below zero helps only if some weights have no drawdown. It slows down all other
  // cases, so it is tried once, as the last attempt.
  for (const leastLevel of terms.goal.measure === 'drawdown' ? [-Infinity, 0] : [-Infinity]) {
    for (const effort of isExpensive(terms) ? (['quick', 'thorough'] as const) : (['thorough'] as const)) {
      for (const times of leastLevel === 0 ? VARIABLE_UNITS.slice(0, 1) : VARIABLE_UNITS) {
        for (const curvedTerm of terms.curved) {
          const result = solveSet(solver, { ...terms, curved: curvedTerm, effort, leastLevel }, set, times * unit);
          if (result !== undefined) return result;
        }
      }
    }
  }
  return undefined;
}

/**
 * Returns true for drawdowns of many securities. A solve then takes seconds, and an approximate solve a fraction of
 * that. Another unit is therefore tried before more iterations.
 */
function isExpensive({ goal, rows }: Pick<TailTerms, 'goal' | 'rows'>): boolean {
  return goal.measure === 'drawdown' && rows.n >= SECURITIES_MIN;
}

/** Terms with one form of the curved costs. */
interface ModelledTerms extends Omit<TailTerms, 'curved'> {
  readonly curved: SeparableFunction | null;
  readonly effort: 'quick' | 'thorough';
  readonly leastLevel: number;
}

function solveSet(solver: Solver, terms: ModelledTerms, set: TailSet, unit: number): ScenarioSetSolution | undefined {
  const { goal, rows, curved, leastLevel } = terms;
  const { program: open, rowsBefore } = createTailProgram(goal, rows, set, unit);
  const program = { ...open, lower: open.lower.with(rows.n, leastLevel) };
  const answer = solveWith(solver, program, terms);
  if (answer === undefined || answer.status !== 'solved') return undefined;
  const { n } = rows;
  const shares = computeTailShares(goal, set, answer.point.rowMultipliers.subarray(rowsBefore));
  const forces = computeTailForces(goal, shares, n);
  const { point, state } = selectFirstVariables(program, answer, n, rowsBefore);
  const weights = point.x;
  const slope = rows.linear.slice();
  curved?.addModel(weights, { slope, curvature: new Float64Array(n) });
  const tangent = { ...rows, curvature: 0, linear: slope.map((value, i) => value + forces[i]!) };
  const kkt = checkKkt(tangent, point);
  if (!isOptimal(kkt)) return undefined;
  return {
    program: tangent,
    answer: { ...answer, point, state, kkt },
    bound: computeDotProduct(forces, weights),
    shares,
  };
}

/** Removes the additional variables and rows of a tail program from a solution. */
export function selectFirstVariables(
  program: Program,
  answer: ProgramResult,
  n: number,
  rowCount: number,
): ProgramResult {
  const { x, rowMultipliers } = answer.point;
  const { names, sides, rows: rowSides } = answer.state;
  return {
    ...answer,
    point: { ...answer.point, x: x.slice(0, n), rowMultipliers: rowMultipliers.slice(0, rowCount) },
    state: {
      ...answer.state,
      names: names.slice(0, n),
      sides: Int8Array.from(
        { length: program.kinks.length * n },
        (_, e) => sides[Math.floor(e / n) * program.n + (e % n)]!,
      ),
      rows: rowSides.slice(0, rowCount),
    },
  };
}

/** Solves the program of a scenario set, with the curved costs of the weights in its objective. */
function solveWith(
  solver: Solver,
  program: Program,
  { curved, rows, near, effort }: ModelledTerms,
): ProgramResult | undefined {
  if (curved === null) return solver.solve(program, { effort });
  const start = new Float64Array(program.n);
  start.set(near);
  return solveSeparable(solver, program, extendToAllVariables(curved, rows.n), { start, effort })?.answer;
}

/** Extends a function of the first n variables to all variables. */
function extendToAllVariables(curved: SeparableFunction, n: number): SeparableFunction {
  const selectOwnVariables = (values: Float64Array) => values.subarray(0, n);
  return {
    valueAt: (x) => curved.valueAt(selectOwnVariables(x)),
    addModel: (x, { slope, curvature }) =>
      curved.addModel(selectOwnVariables(x), {
        slope: selectOwnVariables(slope),
        curvature: selectOwnVariables(curvature),
      }),
    settle(x, { left, right, stiffness }) {
      const settledPoint = x.slice();
      if (curved.settle !== undefined)
        settledPoint.set(
          curved.settle(selectOwnVariables(x), {
            left: selectOwnVariables(left),
            right: selectOwnVariables(right),
            stiffness: selectOwnVariables(stiffness),
          }),
        );
      return settledPoint;
    },
  };
}

interface ApproximateSolveTerms extends TailTerms {
  readonly unit: number;
  /** Returns true while the work limit is not reached. */
  readonly isWithin: () => boolean;
}

/**
 * Adds the worst scenarios at approximate optima of a growing set. Peaks are added until no more appear, losses until
 * few are new. Each approximate optimum costs a fraction of an exact one.
 */
function addNearScenarios(
  solver: Solver,
  { goal, rows, unit, isWithin }: ApproximateSolveTerms,
  first: TailSet,
): TailSet {
  let tailSet = first;
  for (let round = 0; round < ROUGH_ROUNDS_MAX && isWithin(); round++) {
    const nearWeights = solver.nearly(createTailProgram(goal, rows, tailSet, unit).program).slice(0, rows.n);
    const joinedSet = joinSets(tailSet, findWorstScenarios(goal, nearWeights));
    const isMore = goal.measure === 'drawdown' ? !isSame(joinedSet, tailSet) : isMuchLarger(joinedSet, tailSet);
    tailSet = joinedSet;
    if (!isMore) break;
  }
  return tailSet;
}
