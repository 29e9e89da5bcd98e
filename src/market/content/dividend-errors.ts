import type { Day } from '#domain/time/days.js';

/** Maximum rounding error of a dividend that is derived from closes. */
export interface DividendError {
  readonly identifier: string;
  readonly exDay: Day;
  readonly error: number;
}
