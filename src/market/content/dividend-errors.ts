import type { Day } from '#domain/time/days.js';

/** Maximum difference of two amounts of a derived dividend that is due to rounding of the closes. */
export interface DividendError {
  readonly identifier: string;
  readonly exDay: Day;
  readonly error: number;
}
