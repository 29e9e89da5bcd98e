import { NO_ROWS } from '#kernels/optimisation/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { findConstraintClass } from '../constraints/catalogue.js';
import type { Limit, ProgramRow } from '../constraints/program-row.js';
import { assembleProgram, type Change } from './assemble.js';
import type { Origin, Problem } from './problem.js';
import { gapOf, ownGapOf, proofOf, proofsByName, type Proof } from './proof.js';
import { solveProblem, type Solvers } from './search.js';
import { solveConvex } from './solve-convex.js';

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
export interface Movable {
  readonly origin: Origin;
  readonly parameter: string;
  readonly from: number;
  /** The way in which the row gives way. */
  readonly direction: 1 | -1;
  /** How far the class lets it move. */
  readonly room: number;
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

/** The parameters behind the convex limits of some rows; those of soft rows and of rows of priority 0 are left alone. */
export function movableIn({ rows }: Problem, origins: readonly Origin[]): Movable[] {
  const found = new Map<string, Movable>();
  for (const { origin, row } of rows) {
    if (!origins.includes(origin) || origin.priority === 0 || origin.soft !== null) continue;
    for (const { limit: { parameter, slope }, side } of limitsOf(row)) {
      const key = `${origin.index} ${parameter}`;
      if (parameter === null || slope === 0 || found.has(key)) continue;
      const from = origin.params[parameter] as number; // Parameters behind limits are numbers.
      const direction = slope > 0 === (side === 'upper') ? 1 : -1;
      found.set(key, { origin, parameter, from, direction, room: roomOf(origin, parameter, from, direction) });
    }
  }
  return [...found.values()];
}

interface SidedLimit {
  readonly limit: Limit;
  readonly side: 'lower' | 'upper';
}

function limitsOf(row: ProgramRow): SidedLimit[] {
  switch (row.form) {
    case 'name':
    case 'linear':
      return [...(row.lower === null ? [] : [{ limit: row.lower, side: 'lower' as const }]), ...(row.upper === null ? [] : [{ limit: row.upper, side: 'upper' as const }])];
    case 'distance':
    case 'norm':
      // A larger radius gives way, whichever side of the parameter that is.
      return [{ limit: row.limit, side: 'upper' }];
    default:
      return [];
  }
}

/** A move beyond this is no relaxation of a row but its absence. */
const ROOM_MAX = 1e4;

/** How far a parameter may move before its class refuses the value. */
function roomOf(origin: Origin, parameter: string, from: number, direction: 1 | -1): number {
  const accepts = (move: number) => isAccepted(origin, parameter, from + direction * move);
  if (accepts(ROOM_MAX)) return ROOM_MAX;
  let near = 0;
  let far = ROOM_MAX;
  for (let step = 0; step < 100 && far - near > 1e-12; step++) {
    const middle = (near + far) / 2;
    if (accepts(middle)) near = middle;
    else far = middle;
  }
  // Limits of classes are round numbers, which halving only approaches.
  const round = Math.round((from + direction * near) * 1e6) / 1e6;
  return accepts(Math.abs(round - from)) && Math.abs(round - from) > near ? Math.abs(round - from) : near;
}

/**
 * The least value of a parameter at which the rows hold together, undefined when moving it does not help. Every certificate
 * holds up to some value of the parameter; the next one is looked for there, until there is none.
 */
function leastValue(solver: Solver, problem: Problem, { origin, parameter, from, direction }: Movable): number | undefined {
  let to = from;
  for (let met = 0; met < CERTIFICATES_MAX; met++) {
    const changesAt = (nudge: number) => [{ origin, parameter, to: to + direction * nudge }];
    const { kind, nudge, proof } = standingAt(solver, problem, changesAt);
    if (kind === 'feasible') return to + direction * nudge;
    if (kind === 'undecided') return undefined;
    const next = endOf(problem, proof, changesAt(nudge)[0]!);
    if (next === undefined || !isAccepted(origin, parameter, next)) return undefined;
    to = next;
  }
  return undefined;
}

/** How far beyond a value that is just enough its standing is looked for, where rounding hides it at the value itself. */
const NUDGES = [0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4];

type Standing =
  | { readonly kind: 'feasible'; readonly nudge: number; readonly proof: null }
  | { readonly kind: 'impossible'; readonly nudge: number; readonly proof: Proof }
  | { readonly kind: 'undecided'; readonly nudge: number; readonly proof: null };

/** Whether the convex rows hold together with changes, or are proven not to; a little further out where neither can be told. */
function standingAt(solver: Solver, problem: Problem, changesAt: (nudge: number) => readonly Change[]): Standing {
  for (const nudge of NUDGES) {
    const changes = changesAt(nudge);
    if (!changes.every(({ origin, parameter, to }) => isAccepted(origin, parameter, to))) continue;
    const proof = proofOf(solver, problem, { changes });
    if (proof !== null) return { kind: 'impossible', nudge, proof };
    if (solveConvex(solver, problem, { changes }) !== undefined) return { kind: 'feasible', nudge, proof: null };
  }
  return { kind: 'undecided', nudge: 0, proof: null };
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
export function isAccepted({ type, params }: Origin, parameter: string, to: number): boolean {
  const entry = findConstraintClass(type);
  return entry !== undefined && entry.params.safeParse({ ...params, [parameter]: to }).success;
}

export interface Move {
  readonly movable: Pick<Movable, 'origin' | 'parameter' | 'from'>;
  readonly to: number;
}

/** Moves rounded outward to whole steps, a few more where needed, so that solving with all of them succeeds. */
export function roundedOutward(solvers: Solvers, problem: Problem, moves: readonly Move[]): Relaxation[] | undefined {
  for (const extra of OUTWARD) {
    const rounded = moves.map(({ movable, to }) => ({ movable, to: outward(movable.from, to, extra) }));
    if (!rounded.every(({ movable, to }) => isAccepted(movable.origin, movable.parameter, to))) return undefined;
    const changes = rounded.map(({ movable: { origin, parameter }, to }) => ({ origin, parameter, to }));
    // Solved as the client's own request will be: where rows leave a single point, the last bit of a bound decides.
    if (solveProblem(solvers, problem.withParameters(changes), { wanted: 'any' }).kind === 'solved') return rounded.map(toRelaxation);
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

/** Rounds of the joint relaxation: each adds certificates that the next moves have to void. */
const ROUNDS_MAX = 100;

/** Halvings towards the least of a sufficient move, where the rounds end without one. */
const HALVINGS = 40;

/**
 * The least total change of parameters that restores feasibility, rows of higher priority giving way first: the sum of the moves of the
 * lowest priority is made as small as it can be, then that of the next. Moves have to void every certificate met so far, until none is left.
 *
 * @returns  undefined when no moves of the rows that may give way are enough.
 */
export function jointRelaxation({ solver }: Solvers, problem: Problem): Move[] | undefined {
  const movables = movableIn(problem, problem.origins);
  const whole = Float64Array.from(movables, ({ room }) => room);
  if (movables.length === 0 || proofOf(solver, problem, { changes: toChanges(movables, whole) }) !== null) return undefined;
  const nudged = (moved: Float64Array, nudge: number) => moved.map((value, k) => (value > 0 ? Math.min(value + nudge, whole[k]!) : 0));
  const cuts: Cut[] = [];
  let moved: Float64Array = new Float64Array(movables.length);
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const at = moved;
    const { kind, nudge, proof } = standingAt(solver, problem, (step) => toChanges(movables, nudged(at, step)));
    if (kind === 'feasible') return toMoves(movables, nudged(at, nudge));
    const found = kind === 'undecided' ? [] : proofsByName(proof).flatMap((each) => cutOf(problem, each, movables, nudged(at, nudge)) ?? []);
    cuts.push(...found);
    const next = found.length === 0 ? undefined : leastMoves(solver, movables, cuts);
    if (next === undefined) break;
    moved = next;
  }
  const isEnough = (tried: Float64Array) => solveConvex(solver, problem, { changes: toChanges(movables, tried) }) !== undefined;
  return isEnough(whole) ? toMoves(movables, shrunk(movables, moved, whole, isEnough)) : undefined;
}

/** Sufficient moves none of which can be less: from all of them, first together towards the wanted ones, then those of the lowest priority first. */
function shrunk(movables: readonly Movable[], wanted: Float64Array, whole: Float64Array, isEnough: (moved: Float64Array) => boolean): Float64Array {
  let moved = nearest(wanted, whole, isEnough);
  const order = Array.from(movables.keys()).toSorted((a, b) => movables[a]!.origin.priority - movables[b]!.origin.priority || a - b);
  for (const k of order) {
    const without = moved.slice();
    without[k] = 0;
    moved = nearest(without, moved, isEnough);
  }
  return moved;
}

/** The point nearest to `from` on the way to `to` that is enough, as `to` is. */
function nearest(from: Float64Array, to: Float64Array, isEnough: (moved: Float64Array) => boolean): Float64Array {
  const at = (share: number) => from.map((value, k) => value + share * (to[k]! - value));
  if (isEnough(from)) return from;
  let near = 0;
  let far = 1;
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (near + far) / 2;
    if (isEnough(at(middle))) far = middle;
    else near = middle;
  }
  return at(far);
}

function toChanges(movables: readonly Movable[], moved: Float64Array): Change[] {
  return movables.flatMap(({ origin, parameter, from, direction }, k) => (moved[k] === 0 ? [] : [{ origin, parameter, to: from + direction * moved[k]! }]));
}

function toMoves(movables: readonly Movable[], moved: Float64Array): Move[] {
  return movables.flatMap((movable, k) => (moved[k]! > 0.5 / STEPS_PER_UNIT ? [{ movable, to: movable.from + movable.direction * moved[k]! }] : []));
}

/** slopes' moved >= least voids a certificate; slopes are not negative. */
interface Cut {
  readonly slopes: Float64Array;
  readonly least: number;
}

/** Share of the steepest slope of a certificate below which a move is rounding. */
const SLOPE_MIN = 1e-7;

function cutOf(problem: Problem, proof: Proof, movables: readonly Movable[], moved: Float64Array): Cut | undefined {
  const gapAt = (at: Float64Array) => ownGapOf(proof, assembleProgram(problem, { changes: toChanges(movables, at), withTracking: true }));
  const here = gapAt(moved);
  const slopes = Float64Array.from(movables, ({ from, room }, k) => {
    if (moved[k]! >= room) return 0;
    const step = Math.min(1e-6 * Math.max(Math.abs(from), 1e-2), room - moved[k]!);
    const there = moved.slice();
    there[k]! += step;
    const slope = (here - gapAt(there)) / step;
    return Number.isFinite(slope) ? Math.max(slope, 0) : 0;
  });
  const steepest = slopes.reduce((most, slope) => Math.max(most, slope), 0);
  if (!(steepest > 0)) return undefined;
  const clean = slopes.map((slope) => (slope < SLOPE_MIN * steepest ? 0 : slope / steepest));
  return { slopes: clean, least: here / steepest + clean.reduce((sum, slope, k) => sum + slope * moved[k]!, 0) };
}

/** The moves that void every cut, priority by priority from the lowest: each sum as small as those before it leave it. */
function leastMoves(solver: Solver, movables: readonly Movable[], cuts: readonly Cut[]): Float64Array | undefined {
  const levels = [...new Set(movables.map(({ origin }) => origin.priority))].toSorted((a, b) => a - b);
  const settled: { readonly members: Float64Array; readonly most: number }[] = [];
  let moved: Float64Array | undefined;
  for (const level of levels) {
    const members = Float64Array.from(movables, ({ origin }) => (origin.priority === level ? 1 : 0));
    moved = cheapest(solver, movables, cuts, members, settled);
    if (moved === undefined) return undefined;
    settled.push({ members, most: moved.reduce((sum, value, k) => sum + members[k]! * value, 0) });
  }
  return moved;
}

/** The moves of least cost under cuts and sums already settled, by a linear programme. */
function cheapest(solver: Solver, movables: readonly Movable[], cuts: readonly Cut[], cost: Float64Array, settled: readonly { readonly members: Float64Array; readonly most: number }[]): Float64Array | undefined {
  const n = movables.length;
  const count = cuts.length + settled.length;
  const coefficients = new Float64Array(count * n);
  cuts.forEach(({ slopes }, r) => coefficients.set(slopes, r * n));
  settled.forEach(({ members }, r) => coefficients.set(members, (cuts.length + r) * n));
  // The largest need of a cut bounds what any move can be good for.
  const reach = 2 * cuts.reduce((most, { least, slopes }) => Math.max(most, least / slopes.reduce((low, slope) => (slope > 0 ? Math.min(low, slope) : low), 1)), 0);
  const { point, status } = solver.solve({
    n,
    metric: null,
    curvature: 0,
    ridge: 0,
    centre: new Float64Array(n),
    linear: cost,
    lower: new Float64Array(n),
    upper: Float64Array.from(movables, ({ room }) => Math.min(room, Math.max(reach, 1e-6))),
    rows: {
      ...NO_ROWS,
      count,
      coefficients,
      lower: Float64Array.of(...cuts.map(({ least }) => least), ...settled.map(() => -Infinity)),
      upper: Float64Array.of(...cuts.map(() => Infinity), ...settled.map(({ most }) => most + SETTLED)),
      penalty: new Float64Array(count).fill(Infinity),
    },
    kinks: [],
    norms: [],
  });
  return status === 'solved' ? point.x.map((value) => Math.max(value, 0)) : undefined;
}

/** Room left to a sum that is settled: rounding of the linear programme that settled it. */
const SETTLED = 1e-11;
