import { formatDay } from '../time/days.js';
import { Refusal } from '../refusals/refusal.js';
import type { BookInput } from './book.js';
import type { BookState } from './book-state.js';

/**
 * Checks that the value of a book is not negative. Short positions can lose more than the value.
 * @throws Refusal NUMERIC_FAILURE if the value is negative
 */
export function assertWorth({ input, sm, value }: BookState, session: number, worth: number): void {
  if (!(worth < 0)) return;
  const date = formatDay(sm.sessions[session]!);
  const before = value[session - input.from - 1] ?? input.initialValue;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `${input.title} is worth ${worth} on ${date} after ${before} the session before: its short positions lost more than its value. Choose an end date before ${date}.`,
    { date },
  );
}

/**
 * Checks that costs of a close do not use up the value of the book. With large short positions, trades can cost more
 * than the value.
 * @param retained value after costs as a fraction of the value before
 * @throws Refusal NUMERIC_FAILURE if costs use up the value
 */
export function assertAffordable({ title, sm, costRate }: BookInput, session: number, retained: number): void {
  if (retained > 0) return;
  const date = formatDay(sm.sessions[session]!);
  throw new Refusal(
    'NUMERIC_FAILURE',
    `The trades of ${date} cost more than the value of ${title.charAt(0).toLowerCase()}${title.slice(1)}, at ${costRate * 10_000} basis points.`,
    { date },
  );
}
