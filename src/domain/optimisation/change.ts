import type { Origin } from './problem.js';

/** Another value of a row's parameter. */
export interface Change {
  readonly origin: Origin;
  /** Null widens the limits of the row that no parameter moves, by `to`. */
  readonly parameter: string | null;
  readonly to: number;
}
