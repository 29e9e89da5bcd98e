import { dot } from '../../numbers/dot.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/kkt.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramAnswer } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { computeOutcomes, computeTailAverage, countTailScenarios, type TailGoal } from '../../objectives/tail.js';
import type { Separable } from './separable.js';
import { solveSeparable } from './solve-separable.js';
import { expandAnswer, MANY, findSecuritiesAtBounds, restoreSecuritiesAtBounds } from './securities-at-bounds.js';
import { computeTailForces, createTailProgram, computeTailShares, type TailSet } from './tail-program.js';
import { isMuchLarger, isSame, findPeaks, setAt, unionSets, selectWorst } from './tail-sets.js';
import { meterSolver } from '../work-meter.js';

/**
 * Optimum of a tail, with the program whose optimality conditions it satisfies: the scenarios are fixed forces on the
 * weights.
 */
export interface TailAnswer {
  readonly program: Program;
  readonly answer: ProgramAnswer;
  /** Average over all scenarios, without costs. */
  readonly value: number;
  /** Lower bound within the rows, without costs: the average that the forces prove. */
  readonly bound: number;
  /** Multiplier of the returns of each scenario in the proof, [T]. */
  readonly shares: Float64Array;
  /** Start of a search for similar weights. */
  readonly start: TailStart;
}

/** Weights and their worst scenarios. */
export interface TailStart {
  readonly weights: Float64Array;
  readonly set: TailSet;
}

/** Result for a set of scenarios. */
type SetAnswer = Omit<TailAnswer, 'value' | 'start'>;

export interface TailTerms {
  readonly goal: TailGoal;
  /** Rows with linear costs, without an objective. */
  readonly rows: Program;
  /** Curved costs of the models to try; a single null if there are none. */
  readonly curved: readonly (Separable | null)[];
  /** Weights whose tail starts the search. */
  readonly near: Float64Array;
  /** Initial scenarios instead, if similar weights have provided some. */
  readonly first?: TailSet | undefined;
  /** Number of multiplications after which no better proof is sought. Default: the limit of the measure. */
  readonly workMax?: number;
}

/** Maximum number of sets of scenarios; two to five are usual. */
const ROUNDS_MAX = 60;

/** Number of scenarios up to which all are used at once. */
const SMALL = 400;

/** Number of scenarios in the first set, in sizes of the tail. */
const FIRST = 2;

/** Distance of the average from its bound, relative to it, at which both count as equal. */
const CLOSED = 1e-9;

/** Tolerance if no scenario is left to add: rows hold to 1e-10, and curved costs are not more accurate. */
const CLOSED_BY_ALL = 1e-6;

/** Largest open share of the value if the solver fails before the end of the work. The share is reported. */
const OPEN_MAX = 0.01;

/**
 * Number of multiplications after which no better proof is sought, one to two minutes. The remaining gap is reported.
 * Counted instead of timed, so that equal requests have equal results.
 */
const WORK_MAX = { loss: 1e11, drawdown: 2e10 } as const;

/** Share of new scenarios in the first set of losses from which on the optimum is far from the known weights. */
const GROWING_FIRST = 0.5;

/** Maximum number of rough optima that add peaks before one is solved exactly; ten are usual. */
const ROUGH_ROUNDS_MAX = 20;

/** Units of the additional variables to try, relative to the size of a loss, because rounding depends on the unit. */
export const UNITS = [1, 8, 0.125, 2, 0.5];

/**
 * Minimises the average of the worst scenarios within rows. Few scenarios determine the solution: a set grows by the
 * worst scenarios of the latest weights until the average over all scenarios equals the bound that the set proves. Few
 * of many securities are held: those at a bound in the initial weights enter once they would improve the tail.
 * @returns undefined if no solution was found.
 * @cost for each set of S scenarios about 20 factorisations of N^3 / 6 + S N^2 / 2, half as many for the first set of
 *   losses.
 * @source Rockafellar & Uryasev (2000), Journal of Risk 2(3), for the program; Kuenzi-Bay & Mayer (2006), Computational
 *   aspects of minimizing conditional value-at-risk, Computational Management Science 3(1), for growing sets; Dantzig &
 *   Wolfe (1960), Operations Research 8(1), for priced securities.
 */
export function solveTail(solver: Solver, terms: TailTerms): TailAnswer | undefined {
  const resting = terms.curved.every((curved) => curved === null)
    ? findSecuritiesAtBounds(terms.rows, terms.near)
    : null;
  const result = resting === null ? undefined : solveGrowing(solver, terms, resting);
  return result ?? solveGrowing(solver, terms, null);
}

/**
 * @param resting Securities fixed at their initial weights until they would improve the tail; null if there are none.
 */
function solveGrowing(inner: Solver, terms: TailTerms, resting: Uint8Array | null): TailAnswer | undefined {
  const { goal, near, rows, workMax = WORK_MAX[terms.goal.measure] } = terms;
  const solver = meterSolver(inner);
  const isWithin = () => solver.spent() < workMax;
  const size = Math.max(countTailScenarios(goal), 1);
  const unit = computeTailAverage(computeOutcomes(goal, near).map(Math.abs), size) || 1;
  let among = { ...terms, rows: restoreSecuritiesAtBounds(rows, resting, near) };
  let { set, isFar: isGrowing } =
    terms.first === undefined ? createFirstSet(solver, among, unit) : { set: terms.first, isFar: isExpensive(terms) };
  if (isGrowing && !isExpensive(terms))
    among = { ...terms, rows: restoreSecuritiesAtBounds(rows, resting?.fill(0) ?? null, near) };
  let best: Proven | undefined;
  for (let round = 0; round < ROUNDS_MAX && isWithin(); round++) {
    if (isGrowing) set = addNearScenarios(solver, { ...among, unit, isWithin }, set);
    const result = solveInUnits(solver, among, set, unit);
    const whole = result === undefined || resting === null ? result : expandAnswer(result, rows);
    if (result === undefined || whole === undefined) break;
    const { x } = result.answer.point;
    const outcomes = computeOutcomes(goal, x);
    const value = computeTailAverage(outcomes, size);
    const own = setAt(goal, x, outcomes);
    const pulled = 'pulled' in whole ? whole.pulled : new Int32Array(0);
    const grown = unionSets(set, own);
    const isWhole = isSame(grown, set);
    isGrowing = isExpensive(terms) || isMuchLarger(grown, set);
    if (pulled.length === 0) {
      const { program, answer } = whole;
      const { bound, shares } = result;
      const least = goal.measure === 'drawdown' ? Math.max(bound, 0) : bound; // No drawdown is below zero.
      best = better(best, { program, answer, shares, value, bound: least, start: { weights: x, set: own } }, unit);
      if (best.open <= CLOSED || (isWhole && best.open <= CLOSED_BY_ALL)) return best.answer;
      if (isWhole) break;
    }
    set = grown;
    if (resting === null) continue;
    for (const i of pulled) resting[i] = 0;
    if (isGrowing && !isExpensive(terms)) resting.fill(0);
    among = { ...terms, rows: restoreSecuritiesAtBounds(rows, resting, near) };
  }
  return best !== undefined && (best.open <= OPEN_MAX || !isWithin()) ? best.answer : undefined;
}

/** Solution with the gap of its proof. */
interface Proven {
  readonly answer: TailAnswer;
  readonly open: number;
}

/** Returns the solution with the lower value, and the higher bound of both. */
function better(best: Proven | undefined, found: TailAnswer, unit: number): Proven {
  const bound = Math.max(best?.answer.bound ?? -Infinity, found.bound);
  const least = best === undefined || found.value <= best.answer.value ? found : best.answer;
  return { answer: { ...least, bound }, open: (least.value - bound) / Math.max(Math.abs(least.value), unit) };
}

interface FirstSet {
  readonly set: TailSet;
  /** True if approximate optima add scenarios before a program is solved exactly. */
  readonly isFar: boolean;
}

/**
 * Returns the initial set. For losses, these are the worst scenarios of weights near the optimum over the worst
 * scenarios at known weights, without curved costs. Peaks of drawdowns depend too much on the weights for that.
 */
function createFirstSet(solver: Solver, { goal, rows, near }: TailTerms, unit: number): FirstSet {
  const size = Math.max(countTailScenarios(goal), 1);
  const outcomes = computeOutcomes(goal, near);
  const known: TailSet = {
    scenarios: selectWorst(outcomes, Math.max(Math.ceil(FIRST * size), SMALL)),
    peaks: findPeaks(goal, near, selectWorst(outcomes, 2 * Math.ceil(size))),
  };
  if (goal.measure === 'drawdown' || known.scenarios.length === goal.scenarios)
    return { set: known, isFar: isExpensive({ goal, rows }) };
  const set = setAt(goal, solver.nearly(createTailProgram(goal, rows, known, unit).program).slice(0, rows.n));
  const isNew = unionSets(known, set).scenarios.length - known.scenarios.length;
  return { set, isFar: isNew > GROWING_FIRST * set.scenarios.length };
}

function solveInUnits(solver: Solver, terms: TailTerms, set: TailSet, unit: number): SetAnswer | undefined {
  // The bound that no drawdown is below zero helps if some weights have no drawdown and slows down other cases, so it
  // is tried once, last.
  for (const leastLevel of terms.goal.measure === 'drawdown' ? [-Infinity, 0] : [-Infinity]) {
    for (const effort of isExpensive(terms) ? (['quick', 'thorough'] as const) : (['thorough'] as const)) {
      for (const times of leastLevel === 0 ? UNITS.slice(0, 1) : UNITS) {
        for (const curved of terms.curved) {
          const result = solveSet(solver, { ...terms, curved, effort, leastLevel }, set, times * unit);
          if (result !== undefined) return result;
        }
      }
    }
  }
  return undefined;
}

/**
 * Returns true for drawdowns of many securities. A solve takes seconds and an approximate one a fraction of that, so
 * another unit helps sooner than more iterations.
 */
function isExpensive({ goal, rows }: Pick<TailTerms, 'goal' | 'rows'>): boolean {
  return goal.measure === 'drawdown' && rows.n >= MANY;
}

/** Terms with one model of curved costs. */
interface ModelledTerms extends Omit<TailTerms, 'curved'> {
  readonly curved: Separable | null;
  readonly effort: 'quick' | 'thorough';
  readonly leastLevel: number;
}

function solveSet(solver: Solver, terms: ModelledTerms, set: TailSet, unit: number): SetAnswer | undefined {
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
  return { program: tangent, answer: { ...answer, point, state, kkt }, bound: dot(forces, weights), shares };
}

/** Removes the additional variables and rows from a solution. */
export function selectFirstVariables(program: Program, answer: ProgramAnswer, n: number, rows: number): ProgramAnswer {
  const { x, rowMultipliers } = answer.point;
  const { names, sides, rows: held } = answer.state;
  return {
    ...answer,
    point: { ...answer.point, x: x.slice(0, n), rowMultipliers: rowMultipliers.slice(0, rows) },
    state: {
      ...answer.state,
      names: names.slice(0, n),
      sides: Int8Array.from(
        { length: program.kinks.length * n },
        (_, e) => sides[Math.floor(e / n) * program.n + (e % n)]!,
      ),
      rows: held.slice(0, rows),
    },
  };
}

/** Solves the program of a set, with the curved costs of the weights among its variables. */
function solveWith(
  solver: Solver,
  program: Program,
  { curved, rows, near, effort }: ModelledTerms,
): ProgramAnswer | undefined {
  if (curved === null) return solver.solve(program, { effort });
  const start = new Float64Array(program.n);
  start.set(near);
  return solveSeparable(solver, program, widen(curved, rows.n), { start, effort })?.answer;
}

/** Extends a function of the first variables to all. */
function widen(curved: Separable, n: number): Separable {
  const own = (values: Float64Array) => values.subarray(0, n);
  return {
    valueAt: (x) => curved.valueAt(own(x)),
    addModel: (x, { slope, curvature }) => curved.addModel(own(x), { slope: own(slope), curvature: own(curvature) }),
    settle(x, { left, right, stiffness }) {
      const settled = x.slice();
      if (curved.settle !== undefined)
        settled.set(curved.settle(own(x), { left: own(left), right: own(right), stiffness: own(stiffness) }));
      return settled;
    },
  };
}

interface NearTerms extends TailTerms {
  readonly unit: number;
  /** Returns true if the work limit is not reached. */
  readonly isWithin: () => boolean;
}

/**
 * Adds scenarios of weights near the optimum of a set, and of the enlarged set: peaks until there are no more, or worst
 * losses until few are new. This costs a fraction of an optimum.
 */
function addNearScenarios(solver: Solver, { goal, rows, unit, isWithin }: NearTerms, first: TailSet): TailSet {
  let set = first;
  for (let round = 0; round < ROUGH_ROUNDS_MAX && isWithin(); round++) {
    const near = solver.nearly(createTailProgram(goal, rows, set, unit).program).slice(0, rows.n);
    const grown = unionSets(set, setAt(goal, near));
    const isMore = goal.measure === 'drawdown' ? !isSame(grown, set) : isMuchLarger(grown, set);
    set = grown;
    if (!isMore) break;
  }
  return set;
}
