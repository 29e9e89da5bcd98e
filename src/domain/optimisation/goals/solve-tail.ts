import { dot } from '../../numbers/dot.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/kkt.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramAnswer } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { outcomesAt, tailAverage, tailSize, valuesAt, type TailGoal } from '../../objectives/tail.js';
import type { Separable } from './separable.js';
import { solveSeparable } from './solve-separable.js';
import { amongAll, MANY, restingAt, withResting } from './resting-names.js';
import { tailForces, tailProgram, tailShares, type TailSet } from './tail-program.js';
import { metered } from '../work-meter.js';

/** The optimum of a tail with the programme whose conditions it meets: the scenarios as fixed forces on the weights. */
export interface TailAnswer {
  readonly program: Program;
  readonly answer: ProgramAnswer;
  /** The average over all scenarios, costs aside. */
  readonly value: number;
  /** What no weights within the rows can better, costs aside: the average that the forces prove. */
  readonly bound: number;
  /** What the proof puts on the returns of each scenario, [T]. */
  readonly shares: Float64Array;
  /** Where the search for similar weights begins. */
  readonly start: TailStart;
}

/** Weights and what they lose most in. */
export interface TailStart {
  readonly weights: Float64Array;
  readonly set: TailSet;
}

/** The same for a set of scenarios. */
type SetAnswer = Omit<TailAnswer, 'value' | 'start'>;

export interface TailTerms {
  readonly goal: TailGoal;
  /** The rows with linear costs, without an objective. */
  readonly rows: Program;
  /** Curved costs in the models that are tried, one null where there are none. */
  readonly curved: readonly (Separable | null)[];
  /** Weights whose tail the search begins with. */
  readonly near: Float64Array;
  /** Scenarios that it begins with instead, where similar weights have named some. */
  readonly first?: TailSet | undefined;
  /** Multiplications after which no better proof is looked for; those of the measure unless given. */
  readonly workMax?: number;
}

/** Sets of scenarios that are tried; two to five are usual. */
const ROUNDS_MAX = 60;

/** Scenarios up to which all of them take part at once. */
const SMALL = 400;

/** Scenarios of the first set, in sizes of the tail. */
const FIRST = 2;

/** Scenarios that weights name, in sizes of the tail, and beside them in names: those at the level are as many at most. */
const NAMED = 1.3;
const NAMED_BESIDE = 0.6;

/** Distance of the average from its bound, relative to it, at which both are the same. */
const CLOSED = 1e-9;

/** The same where no scenario is left to add: rows hold to 1e-10, and curved costs leave them no better. */
const CLOSED_BY_ALL = 1e-6;

/** Part of the value that the proof of an answer may leave open where the solver fails before the end of the work; it is told. */
const OPEN_MAX = 0.01;

/**
 * Multiplications after which no better proof is looked for, one to two minutes: what the best one leaves open is told.
 * Counted, not timed, so that the same request has the same answer.
 */
const WORK_MAX = { loss: 1e11, drawdown: 2e10 } as const;

/** Rough optima that name peaks before one is worked out; ten are usual. */
const ROUGH_ROUNDS_MAX = 20;

/** Units of the further variables that are tried, in sizes of a loss: rounding falls differently in each. */
const UNITS = [1, 8, 0.125, 2, 0.5];

/**
 * The least average of the worst scenarios within rows. Few scenarios decide: those of a set that grows by what the
 * last weights lose most in, until the average over all of them is the bound that the set proves. Of many names few are
 * held: those that rest at a bound at the weights it begins with take part once they would better the tail.
 *
 * @returns  undefined where no answer was found.
 * @cost     for each set of S scenarios about 20 factors of N^3 / 6 + S N^2 / 2, half as many for the first of losses.
 * @source   Rockafellar & Uryasev (2000), Journal of Risk 2(3), for the programme; Kuenzi-Bay & Mayer (2006),
 *   Computational aspects of minimizing conditional value-at-risk, Computational Management Science 3(1), for sets that
 *   grow; Dantzig & Wolfe (1960), Operations Research 8(1), for names that are priced.
 */
export function solveTail(solver: Solver, terms: TailTerms): TailAnswer | undefined {
  const resting = terms.curved.every((curved) => curved === null) ? restingAt(terms.rows, terms.near) : null;
  const found = resting === null ? undefined : solveGrowing(solver, terms, resting);
  return found ?? solveGrowing(solver, terms, null);
}

/**
 * @param resting  Names that stay where the weights of the terms have them until they would better the tail; none for
 *   null.
 */
function solveGrowing(inner: Solver, terms: TailTerms, resting: Uint8Array | null): TailAnswer | undefined {
  const { goal, near, rows, workMax = WORK_MAX[terms.goal.measure] } = terms;
  const solver = metered(inner);
  const isWithin = () => solver.spent() < workMax;
  const size = Math.max(tailSize(goal), 1);
  const unit = tailAverage(outcomesAt(goal, near).map(Math.abs), size) || 1;
  let among = { ...terms, rows: withResting(rows, resting, near) };
  let set = terms.first ?? firstSet(solver, among, unit);
  let best: Proven | undefined;
  for (let round = 0; round < ROUNDS_MAX && isWithin(); round++) {
    if (isDear(terms)) set = withPeaksNear(solver, { ...among, unit, isWithin }, set);
    const found = solveInUnits(solver, among, set, unit);
    const whole = found === undefined || resting === null ? found : amongAll(found, rows);
    if (found === undefined || whole === undefined) break;
    const { x } = found.answer.point;
    const value = tailAverage(outcomesAt(goal, x), size);
    const own = setAt(goal, x);
    const pulled = 'pulled' in whole ? whole.pulled : new Int32Array(0);
    const grown = united(set, own);
    const isWhole = isSame(grown, set);
    if (pulled.length === 0) {
      const { program, answer } = whole;
      const { bound, shares } = found;
      const least = goal.measure === 'drawdown' ? Math.max(bound, 0) : bound; // No drawdown is below zero.
      best = better(best, { program, answer, shares, value, bound: least, start: { weights: x, set: own } }, unit);
      if (best.open <= CLOSED || (isWhole && best.open <= CLOSED_BY_ALL)) return best.answer;
      if (isWhole) break;
    }
    set = grown;
    if (resting === null) continue;
    for (const i of pulled) resting[i] = 0;
    among = { ...terms, rows: withResting(rows, resting, near) };
  }
  return best !== undefined && (best.open <= OPEN_MAX || !isWithin()) ? best.answer : undefined;
}

/** An answer with the part of its value that its proof leaves open. */
interface Proven {
  readonly answer: TailAnswer;
  readonly open: number;
}

/** The answer of the lower value, with the higher bound of both. */
function better(best: Proven | undefined, found: TailAnswer, unit: number): Proven {
  const bound = Math.max(best?.answer.bound ?? -Infinity, found.bound);
  const least = best === undefined || found.value <= best.answer.value ? found : best.answer;
  return { answer: { ...least, bound }, open: (least.value - bound) / Math.max(Math.abs(least.value), unit) };
}

/** What some weights lose most in. */
export function setAt(goal: TailGoal, weights: Float64Array): TailSet {
  const size = Math.max(tailSize(goal), 1);
  const outcomes = outcomesAt(goal, weights);
  return {
    scenarios: worst(outcomes, Math.ceil(NAMED * size + NAMED_BESIDE * weights.length) + 1),
    peaks: peaksAt(goal, weights, worst(outcomes, Math.ceil(size) + 1)),
  };
}

/**
 * The set to begin with: of losses what weights near the optimum of the worst at known weights, curved costs aside, lose
 * most in. Where the value was highest depends on weights too much for that.
 */
function firstSet(solver: Solver, { goal, rows, near }: TailTerms, unit: number): TailSet {
  const size = Math.max(tailSize(goal), 1);
  const outcomes = outcomesAt(goal, near);
  const set: TailSet = {
    scenarios: worst(outcomes, Math.max(Math.ceil(FIRST * size), SMALL)),
    peaks: peaksAt(goal, near, worst(outcomes, 2 * Math.ceil(size))),
  };
  if (goal.measure === 'drawdown' || set.scenarios.length === goal.scenarios) return set;
  return setAt(goal, solver.nearly(tailProgram(goal, rows, set, unit).program).slice(0, rows.n));
}

function solveInUnits(solver: Solver, terms: TailTerms, set: TailSet, unit: number): SetAnswer | undefined {
  // That no drawdown is below zero helps where some weights have none at all, and hinders elsewhere: tried last, and once.
  for (const leastLevel of terms.goal.measure === 'drawdown' ? [-Infinity, 0] : [-Infinity]) {
    for (const effort of isDear(terms) ? (['quick', 'thorough'] as const) : (['thorough'] as const)) {
      for (const times of leastLevel === 0 ? UNITS.slice(0, 1) : UNITS) {
        for (const curved of terms.curved) {
          const found = solveSet(solver, { ...terms, curved, effort, leastLevel }, set, times * unit);
          if (found !== undefined) return found;
        }
      }
    }
  }
  return undefined;
}

/** Drawdowns of many names: a solve takes seconds, a rough one a fraction of them, and another unit helps sooner than effort. */
function isDear({ goal, rows }: Pick<TailTerms, 'goal' | 'rows'>): boolean {
  return goal.measure === 'drawdown' && rows.n >= MANY;
}

/** The terms with one model of curved costs. */
interface ModelledTerms extends Omit<TailTerms, 'curved'> {
  readonly curved: Separable | null;
  readonly effort: 'quick' | 'thorough';
  readonly leastLevel: number;
}

function solveSet(solver: Solver, terms: ModelledTerms, set: TailSet, unit: number): SetAnswer | undefined {
  const { goal, rows, curved, leastLevel } = terms;
  const { program: open, rowsBefore } = tailProgram(goal, rows, set, unit);
  const program = { ...open, lower: open.lower.with(rows.n, leastLevel) };
  const answer = solveWith(solver, program, terms);
  if (answer === undefined || answer.status !== 'solved') return undefined;
  const { n } = rows;
  const shares = tailShares(goal, set, answer.point.rowMultipliers.subarray(rowsBefore));
  const forces = tailForces(goal, shares, n);
  const { point, state } = firstVariables(program, answer, n, rowsBefore);
  const weights = point.x;
  const slope = rows.linear.slice();
  curved?.addModel(weights, { slope, curvature: new Float64Array(n) });
  const tangent = { ...rows, curvature: 0, linear: slope.map((value, i) => value + forces[i]!) };
  const kkt = checkKkt(tangent, point);
  if (!isOptimal(kkt)) return undefined;
  return { program: tangent, answer: { ...answer, point, state, kkt }, bound: dot(forces, weights), shares };
}

/** An answer to a programme with further variables and rows, without these. */
export function firstVariables(program: Program, answer: ProgramAnswer, n: number, rows: number): ProgramAnswer {
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

/** The programme of a set, with the curved costs of the weights among its variables. */
function solveWith(
  solver: Solver,
  program: Program,
  { curved, rows, near, effort }: ModelledTerms,
): ProgramAnswer | undefined {
  if (curved === null) return solver.solve(program, { effort });
  const start = new Float64Array(program.n);
  start.set(near);
  return solveSeparable(solver, program, widened(curved, rows.n), { start, effort })?.answer;
}

/** A function of the first variables, of all of them. */
function widened(curved: Separable, n: number): Separable {
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

/** Positions of the largest values, ascending. */
function worst(values: Float64Array, count: number): Int32Array {
  const order = Int32Array.from(values.keys()).sort((a, b) => values[b]! - values[a]! || a - b);
  return order.subarray(0, Math.min(count, order.length)).toSorted((a, b) => a - b);
}

interface NearTerms extends TailTerms {
  readonly unit: number;
  /** Whether any work is left. */
  readonly isWithin: () => boolean;
}

/**
 * A set with the peaks that weights near the optimum of it have, and near that of the larger set, until there are none
 * further: found at a fraction of the cost of an optimum.
 */
function withPeaksNear(solver: Solver, { goal, rows, unit, isWithin }: NearTerms, first: TailSet): TailSet {
  let set = first;
  for (let round = 0; round < ROUGH_ROUNDS_MAX && isWithin(); round++) {
    const near = solver.nearly(tailProgram(goal, rows, set, unit).program).slice(0, rows.n);
    const grown = united(set, setAt(goal, near));
    if (isSame(grown, set)) break;
    set = grown;
  }
  return set;
}

/** All of both. */
export function united(a: TailSet, b: TailSet): TailSet {
  return { scenarios: union(a.scenarios, b.scenarios), peaks: union(a.peaks, b.peaks) };
}

/** Of sets one of which has all of the other. */
export function isSame(a: TailSet, b: TailSet): boolean {
  return a.scenarios.length === b.scenarios.length && a.peaks.length === b.peaks.length;
}

function union(a: Int32Array, b: Int32Array): Int32Array {
  return Int32Array.from(new Set([...a, ...b])).toSorted((x, y) => x - y);
}

/** For drawdowns where the value was highest before each of some scenarios, the start aside, ascending. */
function peaksAt(goal: TailGoal, weights: Float64Array, of: Int32Array): Int32Array {
  if (goal.measure === 'loss') return new Int32Array(0);
  const wanted = new Set(of);
  const found = new Set<number>();
  let peak = 0;
  let at = -1;
  for (const [t, value] of valuesAt(goal, weights).entries()) {
    if (value > peak) [peak, at] = [value, t];
    if (at >= 0 && wanted.has(t)) found.add(at);
  }
  return Int32Array.from(found).toSorted((x, y) => x - y);
}
