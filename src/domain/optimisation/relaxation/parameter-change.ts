import type { Origin } from '../problem.js';

/** New value of a row's parameter. */
export interface RowParameterChange {
  readonly origin: Origin;
  /** Parameter to change; null to widen the limits of the row by `to`, if no parameter determines them. */
  readonly parameter: string | null;
  readonly to: number;
}
