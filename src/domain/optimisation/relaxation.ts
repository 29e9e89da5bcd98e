import { NO_ROWS } from '#kernels/optimisation/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { findConstraintClass } from '../constraints/catalogue.js';
import type { Limit, ProgramRow } from '../constraints/program-row.js';
import { assembleProgram, type Change } from './assemble.js';
import type { Origin, Problem } from './problem.js';
import { gapOf, proofOf, type Proof } from './proof.js';
import { solveProblem, type Solvers } from './search.js';

/** A change of one parameter that restores feasibility. */
export interface Relaxation {
  readonly id: string;
  readonly index: number | null;
  readonly type: string;
  readonly parameter: string;
  readonly from: number;
  readonly to: number;
  readonly change: number;
}

/** Relaxed parameters are told in whole steps of one part in so many. */
const STEPS_PER_UNIT = 1e9;

/** Certificates met on the way to one relaxation: each rules out a stretch of the parameter for good. */
const CERTIFICATES_MAX = 40;

/** Steps outward tried where the least value itself is infeasible by rounding. */
const OUTWARD = [0, 1, 2, 10, 100, 1000, 10_000];

/** Gaps up to this are rounding. */
const ROUNDING = 1e-15;

/** Doublings of a parameter in search of a value at which a proof loses its force. */
const DOUBLINGS_MAX = 60;

/** A parameter of a row that a relaxation may move. */
interface Movable {
  readonly origin: Origin;
  readonly parameter: string;
  readonly from: number;
}

/**
 * For each parameter of the given rows the least change that restores feasibility by itself, proven by solving again,
 * cheapest first. Rows of priority 0 never move.
 */
export function singleRelaxations(solvers: Solvers, problem: Problem, origins: readonly Origin[]): Relaxation[] {
  return movableIn(problem, origins)
    .flatMap((movable) => {
      const least = leastValue(solvers.solver, problem, movable);
      const relaxation = least === undefined ? undefined : roundedOutward(solvers, problem, [{ movable, to: least }]);
      return relaxation ?? [];
    })
    .toSorted((a, b) => Math.abs(a.change) - Math.abs(b.change) || (a.index ?? Infinity) - (b.index ?? Infinity));
}

function movableIn({ rows }: Problem, origins: readonly Origin[]): Movable[] {
  const found = new Map<string, Movable>();
  for (const { origin, row } of rows) {
    if (!origins.includes(origin) || origin.priority === 0 || origin.soft !== null) continue;
    for (const { parameter } of limitsOf(row)) {
      if (parameter !== null) found.set(`${origin.index} ${parameter}`, { origin, parameter, from: origin.params[parameter] as number }); // Parameters behind limits are numbers.
    }
  }
  return [...found.values()];
}

function limitsOf(row: ProgramRow): Limit[] {
  switch (row.form) {
    case 'name':
    case 'linear':
      return [row.lower, row.upper].filter((limit) => limit !== null);
    case 'distance':
    case 'norm':
      return [row.limit];
    default:
      return [];
  }
}

/**
 * The least value of a parameter at which the rows hold together, undefined when moving it does not help. Every certificate
 * holds up to some value of the parameter; the next one is looked for there, until there is none.
 */
function leastValue(solver: Solver, problem: Problem, { origin, parameter, from }: Movable): number | undefined {
  let to = from;
  for (let met = 0; met < CERTIFICATES_MAX; met++) {
    const proof = proofOf(solver, problem, { changes: [{ origin, parameter, to }] });
    if (proof === null) return to;
    const next = endOf(problem, proof, { origin, parameter, to });
    if (next === undefined || !isAccepted(origin, parameter, next)) return undefined;
    to = next;
  }
  return undefined;
}

/** Where a proof loses its force as the parameter moves either way, undefined when it never does. */
function endOf(problem: Problem, proof: Proof, at: Change): number | undefined {
  const gap = (to: number) => gapOf(proof, assembleProgram(problem, { changes: [{ ...at, to }], withTracking: true }));
  const here = gap(at.to);
  const reach = 1e-3 * Math.max(Math.abs(at.to), 1e-2);
  const side = gap(at.to + reach) < here ? 1 : gap(at.to - reach) < here ? -1 : 0;
  if (side === 0) return undefined;
  let near = 0;
  let far = reach;
  for (let doublings = 0; gap(at.to + side * far) > 0; doublings++) {
    if (doublings === DOUBLINGS_MAX) return undefined;
    near = far;
    far *= 2;
  }
  // The gap is nearly linear in the parameter: the secant is exact, and bisection guards it where the gap ends in a plateau.
  for (let step = 0; step < 100 && far - near > 1e-15 * (Math.abs(at.to) + far); step++) {
    const low = gap(at.to + side * near);
    const high = gap(at.to + side * far);
    const secant = near + ((far - near) * low) / (low - high);
    const tried = step % 2 === 0 && secant > near && secant < far ? secant : (near + far) / 2;
    if (gap(at.to + side * tried) > ROUNDING) near = tried;
    else far = tried;
  }
  return at.to + side * far;
}

/** Whether the class takes the value. */
function isAccepted({ type, params }: Origin, parameter: string, to: number): boolean {
  const entry = findConstraintClass(type);
  return entry !== undefined && entry.params.safeParse({ ...params, [parameter]: to }).success;
}

interface Move {
  readonly movable: Movable;
  readonly to: number;
}

/** Moves rounded outward to whole steps, a few more where needed, so that solving with all of them succeeds. */
export function roundedOutward(solvers: Solvers, problem: Problem, moves: readonly Move[]): Relaxation[] | undefined {
  for (const extra of OUTWARD) {
    const rounded = moves.map(({ movable, to }) => ({ movable, to: outward(movable.from, to, extra) }));
    if (!rounded.every(({ movable, to }) => isAccepted(movable.origin, movable.parameter, to))) return undefined;
    const changes = rounded.map(({ movable: { origin, parameter }, to }) => ({ origin, parameter, to }));
    if (solveProblem(solvers, problem, { changes }).kind === 'solved') return rounded.map(toRelaxation);
  }
  return undefined;
}

function outward(from: number, to: number, extra: number): number {
  const side = to >= from ? 1 : -1;
  // A tenth of a step is rounding of the value itself; the solve that follows decides.
  const steps = Math.ceil(side * to * STEPS_PER_UNIT - 0.1) + extra;
  return steps === 0 ? 0 : (side * steps) / STEPS_PER_UNIT;
}

function toRelaxation({ movable: { origin, parameter, from }, to }: Move): Relaxation {
  const exact = to - from;
  const change = Math.round(exact * STEPS_PER_UNIT) / STEPS_PER_UNIT;
  return { id: origin.id, index: origin.index, type: origin.type, parameter, from, to, change: Math.abs(change - exact) < 1e-12 ? change : exact };
}

/** Rounds of the joint relaxation: each adds a certificate that the next moves have to void. */
const CUTS_MAX = 80;

/** Cost of a unit of change, by priority: a row gives way only where those of higher priority cannot make up for it. */
const COST_RATIO = 100;

/**
 * The least total change of parameters that restores feasibility, rows of higher priority giving way first: moves that void
 * every certificate met so far, until none is left.
 */
export function jointRelaxation(solvers: Solvers, problem: Problem): Relaxation[] {
  const movables = movableIn(problem, problem.origins);
  if (movables.length === 0) return [];
  const cuts: Cut[] = [];
  let moved: Float64Array = new Float64Array(movables.length);
  for (let round = 0; round < CUTS_MAX; round++) {
    const changes = toChanges(movables, moved);
    const proof = proofOf(solvers.solver, problem, { changes });
    if (proof === null) {
      const moves = movables.flatMap((movable, k) => (Math.abs(moved[k]!) > 0.5 / STEPS_PER_UNIT ? [{ movable, to: movable.from + moved[k]! }] : []));
      return moves.length === 0 ? [] : (roundedOutward(solvers, problem, moves) ?? []);
    }
    const cut = cutOf(problem, proof, movables, moved);
    if (cut === undefined) return [];
    cuts.push(cut);
    const next = cheapest(solvers.solver, movables, cuts);
    if (next === undefined) return [];
    moved = next;
  }
  return [];
}

function toChanges(movables: readonly Movable[], moved: Float64Array): Change[] {
  return movables.flatMap(({ origin, parameter, from }, k) => (moved[k] === 0 ? [] : [{ origin, parameter, to: from + moved[k]! }]));
}

/** slopes' moved >= least voids a certificate. */
interface Cut {
  readonly slopes: Float64Array;
  readonly least: number;
}

function cutOf(problem: Problem, proof: Proof, movables: readonly Movable[], moved: Float64Array): Cut | undefined {
  const gapAt = (at: Float64Array) => gapOf(proof, assembleProgram(problem, { changes: toChanges(movables, at), withTracking: true }));
  const here = gapAt(moved);
  const slopes = movables.map(({ from }, k) => {
    const step = 1e-6 * Math.max(Math.abs(from), 1e-2);
    const there = moved.slice();
    there[k]! += step;
    const forward = gapAt(there);
    there[k]! -= 2 * step;
    const slope = (gapAt(there) - forward) / (2 * step);
    return Number.isFinite(slope) ? slope : 0;
  });
  const steepest = Math.max(...slopes.map(Math.abs));
  if (!(steepest > 0)) return undefined;
  const clean = Float64Array.from(slopes, (slope) => (Math.abs(slope) < 1e-7 * steepest ? 0 : slope / steepest));
  return { slopes: clean, least: here / steepest + clean.reduce((sum, slope, k) => sum + slope * moved[k]!, 0) };
}

/** The moves of least cost that void every cut, by a linear program with a price on either side of nought. */
function cheapest(solver: Solver, movables: readonly Movable[], cuts: readonly Cut[]): Float64Array | undefined {
  const n = movables.length;
  const coefficients = new Float64Array(cuts.length * n);
  cuts.forEach(({ slopes }, r) => coefficients.set(slopes, r * n));
  const first = Math.min(...movables.map(({ origin }) => origin.priority));
  const cost = Float64Array.from(movables, ({ origin }) => COST_RATIO ** (first - origin.priority));
  const { point, status } = solver.solve({
    n,
    metric: null,
    curvature: 0,
    ridge: 0,
    centre: new Float64Array(n),
    linear: new Float64Array(n),
    lower: new Float64Array(n).fill(-1e6),
    upper: new Float64Array(n).fill(1e6),
    rows: {
      ...NO_ROWS,
      count: cuts.length,
      coefficients,
      lower: Float64Array.from(cuts, ({ least }) => least),
      upper: new Float64Array(cuts.length).fill(Infinity),
      penalty: new Float64Array(cuts.length).fill(Infinity),
    },
    kinks: [{ at: new Float64Array(n), left: cost.map((value) => -value), right: cost, limit: null, penalty: 1 }],
    norms: [],
  });
  return status === 'solved' ? point.x : undefined;
}
