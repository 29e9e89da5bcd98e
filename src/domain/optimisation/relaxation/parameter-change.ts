import type { Origin } from '../problem.js';

/** New value of a row's parameter. */
export interface RowParameterChange {
  readonly origin: Origin;
  /**
   * Parameter to change. Null if no parameter determines the limits of the row; the limits are then widened by `to`.
   */
  readonly parameter: string | null;
  readonly to: number;
}
