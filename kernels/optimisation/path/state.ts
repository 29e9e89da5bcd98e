import type { ActiveState } from '../active-set/active-state.js';
import type { PathFactor } from './factor.js';
import type { Program } from '../program/program.js';

/**
 * A point on the way between two programmes that differ in their objective and the bounds of rows, with the rates at
 * which it moves.
 */
export interface Path {
  /** The programme at the end of the way. */
  readonly program: Program;
  readonly state: ActiveState;
  readonly factor: PathFactor;
  /** [n] */
  readonly x: Float64Array;
  /** [m] */
  readonly y: Float64Array;
  /** [kinks] */
  readonly z: Float64Array;
  /** Gradient of the Lagrangian, kinks by the sides of the state, [n]: zero on free names. */
  readonly gradient: Float64Array;
  /** Bounds of rows here, [m]. */
  readonly rowLower: Float64Array;
  readonly rowUpper: Float64Array;
  /** Their change over the whole way, [m]. */
  readonly lowerRate: Float64Array;
  readonly upperRate: Float64Array;
  /** Change of the gradient over the whole way that the objective makes by itself, [n]. */
  readonly pull: Float64Array;
  /** Share of the way that is left. */
  left: number;
  readonly dx: Float64Array;
  readonly dy: Float64Array;
  readonly dz: Float64Array;
  readonly gradientRate: Float64Array;
  /** Curvature times dx, [n]. */
  readonly curved: Float64Array;
}
