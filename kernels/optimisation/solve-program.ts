import { coldState, runActiveSet, type ActiveState, type Iterate } from './active-set.js';
import type { DenseAlgebra } from './algebra.js';
import { createCurvature, type Curvature } from './curvature.js';
import { withoutFixedNames } from './fixed-names.js';
import { runInteriorPoint } from './interior-point.js';
import { equilibrate } from './equilibrate.js';
import { checkKkt, isOptimal, type KktReport } from './kkt.js';
import { assertProgram, type Point, type Program } from './program.js';

/** A solver with the arrays it works in: kept by whoever solves a sequence of programmes. */
export interface Solver {
  solve(program: Program, options?: SolveOptions): ProgramAnswer;
}

export interface SolveOptions {
  /** Active set of a similar programme: begins there instead of with every name free. */
  readonly warm?: ActiveState | undefined;
  /** `thorough` tries other units of the names where the first attempts fail; `quick` gives up. */
  readonly effort?: 'quick' | 'thorough';
}

export interface ProgramAnswer {
  /** `solved` means that the conditions of optimality hold; `failed` leaves open whether there is an answer. */
  readonly status: 'solved' | 'failed';
  readonly point: Point;
  readonly state: ActiveState;
  readonly kkt: KktReport;
  readonly iterations: number;
  /** How it was found. */
  readonly route: 'centre' | 'active-set' | 'interior-point' | 'interior-point-unpolished';
}

/** Iterations of block pivoting from a cold or warm state; three to six are usual. */
const COLD_ITERATIONS = 24;

/** Violation at which the centre still counts as feasible: rounding of its own sums. */
const CENTRE_TOLERANCE = 1e-14;

/** Iterations of the polish behind the interior point; one to three are usual. */
const POLISHES = [[40, 'interior-point'], [1, 'interior-point'], [0, 'interior-point-unpolished']] as const;

export function createSolver(algebra: DenseAlgebra): Solver {
  const curvature = createCurvature(algebra);
  return { solve: (program, options = {}) => solveProgram(program, curvature, options) };
}

/** Active set first, interior point and polish as the safety net, the conditions of optimality as the judge. */
function solveProgram(program: Program, curvature: Curvature, options: SolveOptions): ProgramAnswer {
  assertProgram(program);
  const atCentre = tryCentre(program);
  if (atCentre !== undefined) return atCentre;
  const reduced = withoutFixedNames(program);
  if (reduced === null) return solveFree(program, curvature, options);
  const warm = options.warm === undefined ? undefined : reduced.stateToReduced(options.warm);
  const answer = solveFree(reduced.program, curvature, { ...options, warm });
  return { ...answer, point: reduced.toFull(answer.point), state: reduced.stateToFull(answer.state) };
}

function solveFree(program: Program, curvature: Curvature, { warm, effort = 'thorough' }: SolveOptions): ProgramAnswer {
  const state = warm === undefined ? coldState(program) : copyState(warm);
  const iterate = newIterate(program);
  let iterations = 0;
  if (program.curvature > 0 || program.ridge > 0) {
    const outcome = runActiveSet(program, curvature, state, iterate, { iterationsMax: COLD_ITERATIONS, nearby: false });
    iterations += outcome.iterations;
    const answer = judge(program, state, iterate, iterations, 'active-set');
    if (outcome.status === 'solved' && answer.status === 'solved') return answer;
  }
  const answer = solveInside(program, curvature, iterations, 'near');
  if (answer.status === 'solved' || effort === 'quick') return answer;
  const scaled = equilibrate(program);
  if (scaled === null) return answer;
  const other = solveInside(scaled.program, curvature, answer.iterations, 'far');
  const again = judge(program, other.state, scaled.toOriginal(other.point), other.iterations, other.route);
  return worst(again.kkt) < worst(answer.kkt) ? again : answer;
}

const worst = ({ primal, stationarity, multipliers }: KktReport) => Math.max(primal, stationarity, multipliers);

/** The interior point, polished: with states that may change, else as they are, else not at all. */
function solveInside(program: Program, curvature: Curvature, before: number, beginning: 'near' | 'far'): ProgramAnswer {
  const inner = newIterate(program);
  const state = coldState(program);
  const outcome = runInteriorPoint(program, curvature, state, inner, beginning);
  let best: ProgramAnswer | undefined;
  for (const [iterationsMax, route] of POLISHES) {
    const polished = copyIterate(inner);
    const held = copyState(state);
    const spent = iterationsMax === 0 ? 0 : runActiveSet(program, curvature, held, polished, { iterationsMax, nearby: true }).iterations;
    const answer = judge(program, held, polished, before + outcome.iterations + spent, route);
    if (answer.status === 'solved') return answer;
    if (best === undefined || worst(answer.kkt) < worst(best.kkt)) best = answer;
  }
  return best!;
}

/** The centre itself, when nothing pulls away from it and every constraint holds there. */
function tryCentre(program: Program): ProgramAnswer | undefined {
  if (program.linear.some((value) => value !== 0)) return undefined;
  const iterate = newIterate(program);
  program.kinks.forEach(({ limit }, k) => {
    if (limit === null) iterate.kinkMultipliers[k] = 1;
  });
  iterate.x.set(program.centre);
  const answer = judge(program, coldState(program), iterate, 0, 'centre');
  return answer.status === 'solved' && answer.kkt.primal <= CENTRE_TOLERANCE ? answer : undefined;
}

function judge(program: Program, state: ActiveState, point: Point, iterations: number, route: ProgramAnswer['route']): ProgramAnswer {
  const kkt = checkKkt(program, point);
  return { status: isOptimal(kkt) ? 'solved' : 'failed', point, state, kkt, iterations, route };
}

function newIterate({ n, rows, kinks, norms }: Program): Iterate {
  return {
    x: new Float64Array(n),
    rowMultipliers: new Float64Array(rows.count),
    kinkMultipliers: new Float64Array(kinks.length),
    normMultipliers: new Float64Array(norms.length),
  };
}

function copyIterate({ x, rowMultipliers, kinkMultipliers, normMultipliers }: Iterate): Iterate {
  return { x: x.slice(), rowMultipliers: rowMultipliers.slice(), kinkMultipliers: kinkMultipliers.slice(), normMultipliers: normMultipliers.slice() };
}

function copyState({ names, sides, rows, kinks, norms }: ActiveState): ActiveState {
  return { names: names.slice(), sides: sides.slice(), rows: rows.slice(), kinks: kinks.slice(), norms: norms.slice() };
}
