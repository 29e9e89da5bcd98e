import type { ObjectiveClass } from './objective-class.js';
import { minTrackingError } from './classes/min-tracking-error.js';

/** Objective with its parsed parameters. */
export interface Objective {
  readonly entry: ObjectiveClass;
  /** Parameters as parsed by the schema of the class. */
  readonly params: Readonly<Record<string, unknown>>;
}

/** Default objective of derived indices and strategies. */
export const TRACKING_OBJECTIVE: Objective = { entry: minTrackingError, params: {} };
