import {
  createActiveSetWork,
  createEqualitySystem,
  type EqualitySystem,
  fixSecurities,
  type Work,
} from '../active-set/equality-problem.js';
import type { DenseAlgebra } from '../factors/algebra.js';
import { createCurvature } from '../factors/curvature.js';
import { equilibrate, type Equilibrated } from '../presolve.js';
import {
  type ActiveState,
  copyIterate,
  copyState,
  EQUAL,
  FREE,
  IDLE,
  type Iterate,
  LOWER,
  UPPER,
} from '../program/active-state.js';
import type { ProgramResult } from '../program/optimality.js';
import type { Program } from '../program/program.js';
import {
  type CertifiedPoint,
  computeExactGap,
  computeExactGradient,
  computeExactResiduals,
  computeExactRow,
  type ExactResiduals,
} from './residuals.js';

/** Smallest last digit, used for numbers near zero. */
const LAST_DIGIT_MIN = 2 ** -104;

/** Returns the distance of a number from the next larger double in magnitude. @cost proportional to its exponent */
function computeLastDigit(value: number): number {
  const size = Math.min(Math.abs(value), Number.MAX_VALUE);
  let digit = LAST_DIGIT_MIN;
  while (digit * 2 ** 52 <= size / 2) digit *= 2;
  return digit;
}

/** Maximum rounding error of the multiplier of a bound, below the tolerance of a solution. */
const ROUNDING_MAX = 5e-10;

/** Number of passes over the rows: the least multiplier of a row depends on those of other rows. */
const PASSES = 3;

/**
 * Makes the multipliers of rows without a free variable as small as possible while the multipliers of bounds keep their
 * signs. Otherwise these multipliers are not unique. If the feasible set has no interior, they grow to 1e9 in the
 * interior-point method, and the last digit of such a number exceeds the tolerance of a solution.
 * @cost  m n for each of three passes
 */
function solveLeastMultipliers(program: Program, state: ActiveState, { x, rowMultipliers }: Iterate): void {
  const { n, rows } = program;
  const looseRows = listRowsWithoutFree(program, state);
  for (let pass = 0; pass < PASSES && looseRows.length > 0; pass++) {
    const gradient = computeExactGradient(program, { x, rowMultipliers, boundMultipliers: new Float64Array(n) });
    for (const r of looseRows) {
      const [least, most] = findPermittedRange(program, state, gradient, r, rowMultipliers[r]!);
      if (least > most) continue;
      const change = Math.min(Math.max(0, least), most) - rowMultipliers[r]!;
      rowMultipliers[r]! += change;
      for (let i = 0; i < n; i++) gradient[i]! += rows.coefficients[r * n + i]! * change;
    }
  }
}

/**
 * Reduces the rounding error of the multiplier of a bound if the multiplier is so large that the error exceeds the
 * tolerance. Changes last digits of the multipliers of rows without a free variable until the multiplier of the bound
 * is almost exactly a double.
 * @param rowMultipliers  Multipliers of the rows, [m], updated in place.
 * @cost                  m n, and one pass over the program per move.
 */
function reduceRounding(program: Program, state: ActiveState, x: Float64Array, rowMultipliers: Float64Array): void {
  const { n, rows, lower, upper } = program;
  const boundMultipliers = new Float64Array(n);
  const computeGradient = () => computeExactGradient(program, { x, rowMultipliers, boundMultipliers });
  let gradient = computeGradient();
  if (!gradient.some((force) => computeLastDigit(force) > 2 * ROUNDING_MAX)) return;
  const looseRows = listRowsWithoutFree(program, state);
  for (let i = 0; i < n; i++) {
    const digit = computeLastDigit(gradient[i]!);
    if (!(digit > 2 * ROUNDING_MAX) || (state.names[i] === FREE && lower[i] !== upper[i])) continue;
    boundMultipliers[i] = -gradient[i]!;
    const remainder = computeGradient()[i]!;
    boundMultipliers[i] = 0;
    if (Math.abs(remainder) <= ROUNDING_MAX) continue;
    const r = looseRows.find(
      (row) =>
        computeLastDigit(rowMultipliers[row]!) * Math.abs(rows.coefficients[row * n + i]!) < ROUNDING_MAX &&
        rows.coefficients[row * n + i] !== 0,
    );
    if (r === undefined) continue;
    const [least, most] = findPermittedRange(program, state, gradient, r, rowMultipliers[r]!);
    const neededChange = [-remainder, digit - remainder, -digit - remainder]
      .map((force) => rowMultipliers[r]! + force / rows.coefficients[r * n + i]!)
      .find((multiplier) => multiplier >= least && multiplier <= most);
    if (neededChange === undefined) continue;
    rowMultipliers[r] = neededChange;
    gradient = computeGradient();
  }
}

/** Returns the active rows that contain no free variable. */
function listRowsWithoutFree({ n, rows, lower, upper }: Program, { names, rows: sides }: ActiveState): number[] {
  const looseRows: number[] = [];
  for (let r = 0; r < rows.count; r++) {
    if (sides[r] === IDLE) continue;
    let i = 0;
    while (i < n && (rows.coefficients[r * n + i] === 0 || names[i] !== FREE || lower[i] === upper[i])) i++;
    if (i === n) looseRows.push(r);
  }
  return looseRows;
}

/** Returns the smallest and the largest multiplier of a row at which the multipliers of bounds keep their signs. */
function findPermittedRange(
  { n, rows, lower, upper }: Program,
  { names, rows: sides }: ActiveState,
  gradient: Float64Array,
  r: number,
  multiplier: number,
): readonly [number, number] {
  let leastChange = sides[r] === UPPER ? 0 : -Infinity;
  let mostChange = sides[r] === LOWER ? 0 : Infinity;
  for (let i = 0; i < n; i++) {
    const entry = rows.coefficients[r * n + i]!;
    if (entry === 0 || lower[i] === upper[i]) continue;
    const end = multiplier - gradient[i]! / entry;
    if ((names[i] === LOWER) === entry > 0) leastChange = Math.max(leastChange, end);
    else mostChange = Math.min(mostChange, end);
  }
  return [leastChange, mostChange];
}

/** Maximum violation in a certified solution. It is also the maximum force of a multiplier with the wrong sign. */
const FAULT_MAX = 9e-10;

/**
 * Flips the state with the largest violation in the solution of its equality problem; returns false if no state is
 * violated. @cost m n
 */
function flipWorst(program: Program, state: ActiveState, iterate: Iterate): boolean {
  let largestFault = FAULT_MAX;
  let flip: (() => void) | undefined;
  const considerFault = (fault: number, change: () => void) => {
    if (!(fault > largestFault)) return;
    largestFault = fault;
    flip = change;
  };
  const { n, lower, upper, rows } = program;
  const { x, rowMultipliers } = iterate;
  const gradient = computeExactGradient(program, { x, rowMultipliers, boundMultipliers: new Float64Array(n) });
  for (let i = 0; i < n; i++) {
    if (lower[i] === upper[i]) continue;
    if (state.names[i] === FREE) {
      considerFault(lower[i]! - x[i]!, () => (state.names[i] = LOWER));
      considerFault(x[i]! - upper[i]!, () => (state.names[i] = UPPER));
    } else considerFault(state.names[i] === LOWER ? -gradient[i]! : gradient[i]!, () => (state.names[i] = FREE));
  }
  for (let r = 0; r < rows.count; r++) {
    const side = state.rows[r]!;
    if (side === EQUAL) continue;
    if (side === IDLE) {
      const [least, most] = [rows.lower[r]!, rows.upper[r]!];
      if (Number.isFinite(least)) considerFault(-computeExactRow(program, x, r, least), () => (state.rows[r] = LOWER));
      if (Number.isFinite(most)) considerFault(computeExactRow(program, x, r, most), () => (state.rows[r] = UPPER));
    } else {
      const force = rowMultipliers[r]! * findLargestEntry(program, r);
      considerFault(side === UPPER ? -force : force, () => {
        state.rows[r] = IDLE;
        rowMultipliers[r] = 0;
      });
    }
  }
  flip?.();
  return flip !== undefined;
}

function findLargestEntry({ n, rows }: Program, r: number): number {
  let largest = 0;
  for (let e = r * n; e < r * n + n; e++) largest = Math.max(largest, Math.abs(rows.coefficients[e]!));
  return largest;
}

export interface BlockingConstraint {
  /** Fraction of the step up to the bound or row. */
  readonly length: number;
  /** Activates the bound or row in the state. */
  hold(): void;
}

/** Returns the first bound or row that a step would violate; undefined if it violates none. @cost m n */
function findFirstBlock(
  { n, lower, upper, rows }: Program,
  state: ActiveState,
  x: Float64Array,
  dx: Float64Array,
): BlockingConstraint | undefined {
  let block: BlockingConstraint | undefined;
  const considerFault = (room: number, rate: number, hold: () => void) => {
    if (!(rate - room > FAULT_MAX)) return;
    const length = Math.max(room, 0) / rate;
    if (length < (block?.length ?? 1)) block = { length, hold };
  };
  for (let i = 0; i < n; i++) {
    if (state.names[i] !== FREE || lower[i] === upper[i]) continue;
    considerFault(x[i]! - lower[i]!, -dx[i]!, () => (state.names[i] = LOWER));
    considerFault(upper[i]! - x[i]!, dx[i]!, () => (state.names[i] = UPPER));
  }
  for (let r = 0; r < rows.count; r++) {
    if (state.rows[r] !== IDLE) continue;
    let [value, rate] = [0, 0];
    for (let i = 0, e = r * n; i < n; i++, e++) {
      value += rows.coefficients[e]! * x[i]!;
      rate += rows.coefficients[e]! * dx[i]!;
    }
    considerFault(value - rows.lower[r]!, -rate, () => (state.rows[r] = LOWER));
    considerFault(rows.upper[r]! - value, rate, () => (state.rows[r] = UPPER));
  }
  return block;
}

/**
 * Maximum entries of the gradient and maximum violations after the change of last digits. They are below the tolerance
 * of a solution.
 */
const DUAL_MAX = 9e-10;
const PRIMAL_MAX = 9e-10;

/** Multiplier or variable whose value may change. The residuals that it affects limit the change. */
interface Lever {
  readonly values: Float64Array;
  readonly at: number;
  /** Change of the gap per unit of the lever. */
  readonly effect: number;
  /** Returns the largest and the smallest change that the residuals permit from the current point. */
  room(): readonly [most: number, least: number];
  /** Changes the value and updates the residuals. */
  move(change: number): void;
}

/** Nonzero changes of residuals per unit of a lever, as pairs of position and rate. */
type Rates = readonly (readonly [number, number])[];

interface LeverRates {
  readonly effect: number;
  readonly duals: Rates;
  readonly rows: Rates;
  /** Largest and smallest value. */
  readonly range: readonly [number, number];
}

/** Residuals of a point, updated by the levers that change it. */
interface Residuals {
  /** [n] */
  readonly dual: Float64Array;
  /** Value of each row less its upper bound, [m]; -Infinity for a row without an upper bound. */
  readonly over: Float64Array;
  readonly under: Float64Array;
}

/**
 * Returns the multipliers and free variables whose last digits change the gap.
 * @param free  1 for variables that are not fixed at a bound, [n]
 * @cost        m n and n^2
 */
function findLevers(program: Program, point: CertifiedPoint, free: Uint8Array): Lever[] {
  const { n, rows } = program;
  const { x, rowMultipliers, boundMultipliers } = point;
  const residuals: Residuals = {
    dual: computeExactGradient(program, point),
    over: rows.upper.map((bound, r) => (Number.isFinite(bound) ? computeExactRow(program, x, r, bound) : -Infinity)),
    under: rows.lower.map((bound, r) => (Number.isFinite(bound) ? -computeExactRow(program, x, r, bound) : -Infinity)),
  };
  const slope = computeExactGradient(program, {
    x,
    rowMultipliers: new Float64Array(rows.count),
    boundMultipliers: new Float64Array(n),
  });
  const levers: Lever[] = [];
  const add = (values: Float64Array, position: number, rates: LeverRates) => {
    if (rates.effect !== 0 && Number.isFinite(rates.effect))
      levers.push(createLever(values, position, rates, residuals));
  };
  for (let i = 0; i < n; i++) {
    if (boundMultipliers[i] !== 0) add(boundMultipliers, i, computeBoundRates(program, boundMultipliers[i]!, i));
    if (free[i] === 1) add(x, i, computeVariableRates(program, x, slope[i]!, i));
  }
  for (let r = 0; r < rows.count; r++)
    if (rowMultipliers[r] !== 0 || rows.lower[r] === rows.upper[r])
      add(rowMultipliers, r, computeRowRates(program, rowMultipliers[r]!, r));
  return levers;
}

function createLever(
  values: Float64Array,
  position: number,
  { effect, duals, rows, range }: LeverRates,
  { dual, over, under }: Residuals,
): Lever {
  return {
    values,
    at: position,
    effect,
    room() {
      let changeMax = range[0] - values[position]!;
      let changeMin = range[1] - values[position]!;
      const narrowRange = (rate: number, above: number, below: number) => {
        const ends = [Math.max(above, 0) / rate, -Math.max(below, 0) / rate] as const;
        changeMax = Math.min(changeMax, Math.max(...ends));
        changeMin = Math.max(changeMin, Math.min(...ends));
      };
      for (const [i, rate] of duals) narrowRange(rate, DUAL_MAX - dual[i]!, DUAL_MAX + dual[i]!);
      for (const [r, rate] of rows) narrowRange(rate, PRIMAL_MAX - over[r]!, PRIMAL_MAX - under[r]!);
      return [changeMax, changeMin];
    },
    move(change) {
      values[position]! += change;
      for (const [i, rate] of duals) dual[i]! += rate * change;
      for (const [r, rate] of rows) {
        over[r]! += rate * change;
        under[r]! -= rate * change;
      }
    },
  };
}

/**
 * Returns the largest and the smallest value of a multiplier. It keeps its sign unless the bounds are equal, because
 * the opposite sign belongs to the opposite bound.
 */
function findSignRange(multiplier: number, isFixed: boolean): readonly [number, number] {
  if (isFixed) return [Infinity, -Infinity];
  return multiplier > 0 ? [Infinity, 0] : [0, -Infinity];
}

function computeBoundRates({ lower, upper }: Program, multiplier: number, i: number): LeverRates {
  const effect = multiplier > 0 ? upper[i]! : lower[i]!;
  return { effect, duals: [[i, 1]], rows: [], range: findSignRange(multiplier, lower[i] === upper[i]) };
}

function computeRowRates({ n, rows }: Program, multiplier: number, r: number): LeverRates {
  const duals: [number, number][] = [];
  for (let i = 0; i < n; i++) if (rows.coefficients[r * n + i] !== 0) duals.push([i, rows.coefficients[r * n + i]!]);
  const effect = multiplier > 0 ? rows.upper[r]! : rows.lower[r]!;
  return { effect, duals, rows: [], range: findSignRange(multiplier, rows.lower[r] === rows.upper[r]) };
}

function computeVariableRates(program: Program, x: Float64Array, slope: number, i: number): LeverRates {
  const { n, metric, curvature, ridge, rows, lower, upper } = program;
  const duals: [number, number][] = [];
  let curvedSlope = ridge * x[i]!;
  for (let j = 0, e = i * n; j < n; j++, e++) {
    const entry = (metric?.form === 'dense' ? curvature * metric.matrix[e]! : 0) + (i === j ? ridge : 0);
    if (entry === 0) continue;
    duals.push([j, entry]);
    if (metric?.form === 'dense') curvedSlope += curvature * metric.matrix[e]! * x[j]!;
  }
  const rates: [number, number][] = [];
  for (let r = 0; r < rows.count; r++)
    if (rows.coefficients[r * n + i] !== 0) rates.push([r, rows.coefficients[r * n + i]!]);
  return { effect: slope + curvedSlope, duals, rows: rates, range: [upper[i]! + PRIMAL_MAX, lower[i]! - PRIMAL_MAX] };
}

/**
 * Gap that counts as closed: below the tolerance of a solution and above the rounding errors of its double-double sums.
 */
const GAP_TOLERANCE = 5e-10;

/** Maximum number of successive moves of levers; a dozen are usual. */
const MOVES_MAX = 200;

/**
 * Maximum number of levers that are combined in threes if no single lever is fine enough. A lever is a multiplier or a
 * variable that may change.
 */
const COMBINED_LEVERS_MAX = 40;

/**
 * Fraction of the levers that each further attempt excludes. The levers with the largest effects are excluded first.
 */
const EXCLUDED_SHARE = 0.1;

/**
 * Closes the duality gap of a point within tolerance by changing the last digits of multipliers and free variables.
 * (Rounding a multiplier of 1e4 of a bound at 1e5 causes a gap of 1e-7.)
 *
 * @param point    Point, updated in place.
 * @param free     1 for variables that are not fixed at a bound, [n].
 * @param attempt  0 uses all levers; each further attempt excludes the coarsest ones.
 * @returns        Remaining gap.
 * @cost           One pass over the program per move.
 */
function closeGap(program: Program, point: CertifiedPoint, free: Uint8Array, attempt: number): number {
  const levers = findLevers(program, point, free).toSorted((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  levers.splice(0, Math.floor(EXCLUDED_SHARE * attempt * levers.length));
  let gap = computeExactGap(program, point);
  for (let moves = 0; moves < MOVES_MAX && Math.abs(gap) > GAP_TOLERANCE; moves++) {
    if (!moveSingleLever(levers, gap) && !moveThreeLevers(levers, gap)) break;
    gap = computeExactGap(program, point);
  }
  return gap;
}

/**
 * Returns the permitted change of a lever that brings the gap nearest to zero. Accounts for the rounding of the value.
 */
function findBestChange({ values, at, effect, room }: Lever, gap: number): number {
  const [most, least] = room();
  const value = values[at]!;
  const change = value + Math.min(Math.max(-gap / effect, least), most) - value;
  return change > most || change < least ? 0 : change;
}

/** Moves the lever that leaves the smallest gap; returns false if no lever reduces the gap by at least a tenth. */
function moveSingleLever(levers: readonly Lever[], gap: number): boolean {
  let bestLever: Lever | undefined;
  let bestChange = 0;
  let smallestGap = 0.9 * Math.abs(gap);
  for (const lever of levers) {
    const change = findBestChange(lever, gap);
    const newGap = Math.abs(gap + lever.effect * change);
    if (!(change !== 0 && newGap < smallestGap)) continue;
    [bestLever, bestChange, smallestGap] = [lever, change, newGap];
    if (smallestGap <= GAP_TOLERANCE) break;
  }
  bestLever?.move(bestChange);
  return bestLever !== undefined;
}

/**
 * Moves up to three levers by one last digit each; returns false if no combination reduces the gap by at least a tenth.
 */
function moveThreeLevers(levers: readonly Lever[], gap: number): boolean {
  const steps = levers
    .flatMap((lever) => {
      const [most, least] = lever.room();
      const digit = computeLastDigit(lever.values[lever.at]!);
      return [digit, -digit]
        .filter((change) => change <= most && change >= least)
        .map((change) => ({ lever, change, effect: lever.effect * change }));
    })
    .toSorted((a, b) => Math.abs(a.effect) - Math.abs(b.effect))
    .slice(0, 2 * COMBINED_LEVERS_MAX);
  let bestSteps: readonly (typeof steps)[number][] = [];
  let smallestGap = 0.9 * Math.abs(gap);
  for (let a = 0; a < steps.length; a++) {
    for (let b = a + 1; b < steps.length; b++) {
      const pair = gap + steps[a]!.effect + steps[b]!.effect;
      if (Math.abs(pair) < smallestGap) [bestSteps, smallestGap] = [[steps[a]!, steps[b]!], Math.abs(pair)];
      for (let c = b + 1; c < steps.length; c++) {
        const newGap = Math.abs(pair + steps[c]!.effect);
        if (newGap < smallestGap) [bestSteps, smallestGap] = [[steps[a]!, steps[b]!, steps[c]!], newGap];
      }
    }
  }
  for (const { lever, change } of bestSteps) lever.move(change);
  return bestSteps.length > 0;
}

/** Maximum residual of a certified solution, absolute, in the units of the program. */
export const CERTIFIED_MAX = 1e-9;

/**
 * Maximum and minimum number of corrections of the equality problem. Three or four are usual; a singular curvature
 * needs more.
 */
const CORRECTIONS_MAX = 12;

const CORRECTIONS_MIN = 3;

/**
 * Maximum number of states that are corrected. The solver accepted their wrong signs, because its tolerance is relative
 * to the largest force.
 */
const FLIPS_MAX = 40;

/** Distance to a finite bound, relative to 1 + |bound|, within which a free variable is moved onto the bound. */
const CONTACT_TOLERANCE = 1e-10;

/**
 * Distance to a bound for a solution of the interior-point method. Its variables are near their bounds but never at
 * them.
 */
const CONTACT_UNPOLISHED = 1e-7;

/**
 * Proximal terms, relative to the mean curvature, that are tried in order if the curvature is singular on the free
 * variables.
 */
const PROXIMAL_SHARES = [0, 1e-9, 1e-6];

export interface CertifiedSolution {
  readonly point: CertifiedPoint;
  readonly residuals: ExactResiduals;
  /** True if all residuals are at most `CERTIFIED_MAX`. */
  readonly isCertified: boolean;
}

const findLargest = ({ primal, dual, gap }: ExactResiduals): number => Math.max(primal, dual, Math.abs(gap));

/**
 * Improves a solution to absolute residuals of 1e-9, regardless of the size of its numbers. Corrects the equality
 * problem of the active set by residuals with 106 bits. Then changes last digits of the point to close the gap that
 * rounding leaves.
 * @param program  Program with a dense metric or no metric, without kinks, norms and penalties.
 * @cost           One factorisation of the free variables, and a dozen passes over the program in double-double
 *                 arithmetic.
 * @source         Wilkinson (1963), Rounding errors in algebraic processes, section 3: refinement with residuals of
 *                 twice the precision.
 */
export function certify(program: Program, answer: ProgramResult, algebra: DenseAlgebra): CertifiedSolution {
  const state = createFixedState(program, answer);
  const iterate = copyIterate(answer.point);
  const scaledForm = equilibrate(program);
  let bestSolution: CertifiedSolution | undefined;
  for (let flip = 0; flip <= FLIPS_MAX; flip++) {
    solveLeastMultipliers(program, state, iterate);
    const corrections = createCorrections({ program, scaled: scaledForm }, state, iterate, algebra);
    let step: Correction = 'done';
    for (let correction = 1; correction <= CORRECTIONS_MAX && step === 'done'; correction++) {
      step = corrections.correct();
      if (correction < CORRECTIONS_MIN || step !== 'done') continue;
      const ownCertifiedSolution = closePoint(program, state, iterate, correction - CORRECTIONS_MIN);
      if (
        bestSolution === undefined ||
        findLargest(ownCertifiedSolution.residuals) < findLargest(bestSolution.residuals)
      )
        bestSolution = ownCertifiedSolution;
      if (bestSolution.isCertified) return bestSolution;
    }
    if (step !== 'blocked' && !flipWorst(program, state, iterate)) break;
  }
  return bestSolution ?? closePoint(program, state, iterate, 0);
}

/**
 * Returns the active set of a solution, with variables near a bound fixed at it. For a solution that was not polished,
 * all other variables are free.
 */
function createFixedState({ n, lower, upper }: Program, { state, point: { x }, route }: ProgramResult): ActiveState {
  const activeState = copyState(state);
  const contact = route === 'interior-point-unpolished' ? CONTACT_UNPOLISHED : CONTACT_TOLERANCE;
  for (let i = 0; i < n; i++) {
    const isTouching = (bound: number) =>
      Number.isFinite(bound) && Math.abs(x[i]! - bound) <= contact * (1 + Math.abs(bound));
    if (isTouching(lower[i]!)) activeState.names[i] = LOWER;
    else if (isTouching(upper[i]!)) activeState.names[i] = UPPER;
    else if (contact === CONTACT_UNPOLISHED) activeState.names[i] = FREE;
  }
  return activeState;
}

/**
 * Result of a correction. `blocked`: a bound or row limits the step and is active from now on. `singular`: the equality
 * problem cannot be factored.
 */
type Correction = 'done' | 'blocked' | 'singular';

interface Corrections {
  /** Performs one Newton step on the equality problem, as far as bounds and rows permit. */
  correct(): Correction;
}

/**
 * Creates corrections from residuals in the units of the program. The corrections use scaled units, in which all
 * columns have similar size. Scales are powers of two.
 */
function createCorrections(
  { program, scaled }: { readonly program: Program; readonly scaled: Equilibrated | null },
  state: ActiveState,
  iterate: Iterate,
  algebra: DenseAlgebra,
): Corrections {
  const ownProgram = scaled?.program ?? program;
  const units = scaled?.units ?? new Float64Array(program.n).fill(1);
  const work: Work = createActiveSetWork(ownProgram);
  const curvatures = [createCurvature(algebra), createCurvature(algebra)] as const;
  const system: EqualitySystem = createEqualitySystem(ownProgram, curvatures, work);
  fixSecurities(program, state, iterate, work);
  const isFactored = PROXIMAL_SHARES.some((share) => system.factor(state, iterate, share));
  const { free, active, step, change } = work;
  return {
    correct() {
      if (!isFactored) return 'singular';
      const gradient = computeExactGradient(program, createPoint(iterate));
      for (let p = 0; p < work.freeCount; p++) step[p] = -gradient[free[p]!]! * units[free[p]!]!;
      for (let a = 0; a < work.activeCount; a++) {
        const r = active[a]!;
        const bound = state.rows[r] === LOWER ? program.rows.lower[r]! : program.rows.upper[r]!;
        change[a] = -computeExactRow(program, iterate.x, r, bound);
      }
      system.solve(step, change);
      const dx = new Float64Array(program.n);
      for (let p = 0; p < work.freeCount; p++) dx[free[p]!] = step[p]! * units[free[p]!]!;
      if (!dx.every(Number.isFinite)) return 'singular';
      const block = findFirstBlock(program, state, iterate.x, dx);
      const length = block?.length ?? 1;
      for (let i = 0; i < program.n; i++) iterate.x[i]! += length * dx[i]!;
      for (let a = 0; a < work.activeCount; a++) iterate.rowMultipliers[active[a]!]! += length * change[a]!;
      block?.hold();
      return block === undefined ? 'done' : 'blocked';
    },
  };
}

function createPoint({ x, rowMultipliers }: Pick<Iterate, 'x' | 'rowMultipliers'>): CertifiedPoint {
  return { x, rowMultipliers, boundMultipliers: new Float64Array(x.length) };
}

/** Returns the point with multipliers of its bounds and a closed gap, and its residuals. */
function closePoint(program: Program, state: ActiveState, iterate: Iterate, attempt: number): CertifiedSolution {
  const { n, lower, upper, rows } = program;
  const rowMultipliers = iterate.rowMultipliers.map((y, r) => {
    if (state.rows[r] === IDLE) return 0;
    return state.rows[r] === EQUAL || Number.isFinite((y > 0 ? rows.upper : rows.lower)[r]!) ? y : 0;
  });
  reduceRounding(program, state, iterate.x, rowMultipliers);
  const point = createPoint({ x: iterate.x.slice(), rowMultipliers });
  const gradient = computeExactGradient(program, point);
  const isFree = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const isHeld = state.names[i] !== FREE || lower[i] === upper[i];
    isFree[i] = isHeld ? 0 : 1;
    const z = -gradient[i]!;
    const bound = z > 0 ? upper[i]! : lower[i]!;
    if (isHeld && point.x[i] === bound) point.boundMultipliers[i] = z;
  }
  closeGap(program, point, isFree, attempt);
  const residuals = computeExactResiduals(program, point);
  return { point, residuals, isCertified: findLargest(residuals) <= CERTIFIED_MAX };
}
