import type { ActiveState } from './active-set/active-state.js';
import type { KktReport } from './program/kkt.js';
import type { Point } from './program/program.js';

/** The answer of a solver to a programme. */
export interface ProgramAnswer {
  /**
   * `solved` means that the conditions of optimality hold, `infeasible` that multipliers or the bounds by themselves prove that
   * no point satisfies the rows and norms; `failed` leaves open whether there is an answer.
   */
  readonly status: 'solved' | 'infeasible' | 'failed';
  readonly point: Point;
  readonly state: ActiveState;
  readonly kkt: KktReport;
  readonly iterations: number;
  /** How it was found. */
  readonly route: 'centre' | 'active-set' | 'simplex' | 'interior-point' | 'interior-point-unpolished';
}
