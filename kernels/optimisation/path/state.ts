import type { ActiveState } from '../active-set/active-state.js';
import type { PathFactor } from './factor.js';
import type { Program } from '../program/program.js';

/**
 * A point on the way between two programs that differ in their objective and the bounds of rows, with the rates at
 * which it moves.
 */
export interface Path {
  /** The program at the end of the way. */
  readonly program: Program;
  readonly state: ActiveState;
  readonly factor: PathFactor;
  /** [n] */
  readonly x: Float64Array;
  /** [m] */
  readonly y: Float64Array;
  /** [kinks] */
  readonly z: Float64Array;
  /** Gradient of the Lagrangian, [n], with kinks by the sides of the state: zero on free securities. */
  readonly gradient: Float64Array;
  /** Bounds of rows here, [m]. */
  readonly rowLower: Float64Array;
  readonly rowUpper: Float64Array;
  /** Change of the bounds over the whole path, [m]. */
  readonly lowerRate: Float64Array;
  readonly upperRate: Float64Array;
  /** Change of the objective's gradient over the whole path, [n]. */
  readonly pull: Float64Array;
  /** Remaining share of the path. */
  left: number;
  readonly dx: Float64Array;
  readonly dy: Float64Array;
  readonly dz: Float64Array;
  readonly gradientRate: Float64Array;
  /** Curvature times dx, [n]. */
  readonly curved: Float64Array;
}
