import type { ActiveState } from '../active-set/active-state.js';
import type { PathFactor } from './factor.js';
import type { Program } from '../program/program.js';

/**
 * Current point of a path, with its rates of change. The path connects two programs that differ in their objective and
 * the bounds of rows.
 */
export interface Path {
  /** Program at the end of the path. */
  readonly program: Program;
  readonly state: ActiveState;
  readonly factor: PathFactor;
  /** [n] */
  readonly x: Float64Array;
  /** [m] */
  readonly y: Float64Array;
  /** Multipliers of the kinks, [kinks]. */
  readonly z: Float64Array;
  /** Gradient of the Lagrangian, [n], with kinks on the sides of the state: zero on free securities. */
  readonly gradient: Float64Array;
  /** Bounds of the rows at the current point, [m]. */
  readonly rowLower: Float64Array;
  readonly rowUpper: Float64Array;
  /** Change of the bounds over the whole path, [m]. */
  readonly lowerRate: Float64Array;
  readonly upperRate: Float64Array;
  /** Change of the objective's gradient over the whole path, [n]. */
  readonly pull: Float64Array;
  /** Remaining fraction of the path. */
  left: number;
  readonly dx: Float64Array;
  readonly dy: Float64Array;
  readonly dz: Float64Array;
  readonly gradientRate: Float64Array;
  /** Curvature times dx, [n]. */
  readonly curved: Float64Array;
}
