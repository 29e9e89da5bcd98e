import type { Day } from '#domain/time/days.js';

/** Difference up to which another amount of a derived dividend is the same amount, derived from closes rounded otherwise. */
export interface DividendError {
  readonly identifier: string;
  readonly exDay: Day;
  readonly error: number;
}
