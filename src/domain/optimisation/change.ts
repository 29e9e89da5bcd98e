import type { Origin } from './problem.js';

/** New value of a row's parameter. */
export interface Change {
  readonly origin: Origin;
  /** Null to widen, by `to`, the limits of the row that no parameter moves. */
  readonly parameter: string | null;
  readonly to: number;
}
