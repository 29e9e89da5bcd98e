import type { ObjectiveClass } from './objective-class.js';
import { minTrackingError } from './classes/min-tracking-error.js';

/** An objective with the parameters it was asked for with. */
export interface Objective {
  readonly entry: ObjectiveClass;
  /** As the schema of the class parsed them. */
  readonly params: Readonly<Record<string, unknown>>;
}

/** What derived indices and strategies ask for unless they say otherwise. */
export const TRACKING: Objective = { entry: minTrackingError, params: {} };
