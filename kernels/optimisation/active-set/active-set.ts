import { IDLE, type ActiveState, type Iterate } from './active-state.js';
import { fixSecurities, refineState, solveState } from './equality-problem.js';
import { createEqualitySystem, type Curvatures } from './equality-system.js';
import { createActiveSetWork } from './equality-work.js';
import { sumKinks, type Program } from '../program/program.js';
import { flipStates } from './state-flips.js';

export interface ActiveSetOutcome {
  /**
   * `solved`: no state changes any more. `kinked`: a limit on kinks is violated and may not be activated in this run.
   * `stuck`: no convergence.
   */
  readonly status: 'solved' | 'kinked' | 'stuck';
  readonly iterations: number;
}

export interface ActiveSetOptions {
  readonly iterationsMax: number;
  /**
   * True if the limits on kinks and norms may change their state. Block pivoting with these limits is reliable only
   * near the solution.
   */
  readonly nearby: boolean;
}

/** Maximum number of iterations without a decrease in the number of flips. A longer series indicates a cycle. */
const PATIENCE = 8;

/**
 * Runs a primal-dual active set method with implicit bounds: solves the equality problem of a state, flips every state
 * that its solution contradicts, and repeats. A converged solution is exact to rounding; convergence is not guaranteed.
 *
 * @param state    Initial state; overwritten with the final state.
 * @param iterate  Point, [n], and multipliers. The multipliers of active rows and norms are initial values; everything
 *                 is overwritten.
 * @cost           |F|^3 / 6 for |F| free variables, and again after many of their states changed; per iteration |F|^2 /
 *                 6 for each variable that has been fixed since, and m |F|; 3 to 6 iterations from a cold state.
 * @source         Kunisch & Rendl (2003), SIAM J. Optimization 14(1), 35-52; Hintermueller, Ito & Kunisch (2002), SIAM
 *                 J. Optimization 13(3).
 */
export function runActiveSet(
  program: Program,
  curvatures: Curvatures,
  state: ActiveState,
  iterate: Iterate,
  options: ActiveSetOptions,
): ActiveSetOutcome {
  const work = createActiveSetWork(program);
  const problem = { program, state, iterate, work, system: createEqualitySystem(program, curvatures, work) };
  let fewestFlips = Number.POSITIVE_INFINITY;
  let roundsSinceFewer = 0;
  for (let iteration = 1; iteration <= options.iterationsMax; iteration++) {
    fixSecurities(program, state, iterate, work);
    if (!solveState(problem)) return { status: 'stuck', iterations: iteration };
    let flips = flipStates(program, state, iterate, work, options.nearby);
    if (flips === 0) {
      refineState(problem);
      flips = flipStates(program, state, iterate, work, options.nearby);
    }
    if (flips === 0)
      return {
        status: !options.nearby && exceedsKinks(program, state, iterate.x) ? 'kinked' : 'solved',
        iterations: iteration,
      };
    if (flips < fewestFlips) {
      fewestFlips = flips;
      roundsSinceFewer = 0;
    } else if (++roundsSinceFewer >= PATIENCE) return { status: 'stuck', iterations: iteration };
  }
  return { status: 'stuck', iterations: options.iterationsMax };
}

function exceedsKinks({ kinks }: Program, state: ActiveState, x: Float64Array): boolean {
  return kinks.some(
    (kink, k) =>
      kink.limit !== null && state.kinks[k] === IDLE && sumKinks(kink, x) > kink.limit + 1e-12 * (1 + kink.limit),
  );
}
