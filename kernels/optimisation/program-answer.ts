import type { ActiveState } from './active-set/active-state.js';
import type { KktReport } from './program/kkt.js';
import type { Point } from './program/program.js';

/** Solution of a program, as returned by a solver. */
export interface ProgramResult {
  /**
   * `solved`: the optimality conditions hold. `infeasible`: multipliers, or only the bounds, prove that no point
   * satisfies the rows and norms. `failed`: neither could be shown.
   */
  readonly status: 'solved' | 'infeasible' | 'failed';
  readonly point: Point;
  readonly state: ActiveState;
  readonly kkt: KktReport;
  readonly iterations: number;
  /** Method that found the solution. */
  readonly route: 'centre' | 'active-set' | 'simplex' | 'interior-point' | 'interior-point-unpolished';
}
