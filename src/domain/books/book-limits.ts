import { formatDay } from '../time/days.js';
import { Refusal } from '../refusals/refusal.js';
import type { BookInput } from './book.js';
import type { BookState } from './book-state.js';

/**
 * Short positions can lose more than there is.
 * @throws Refusal NUMERIC_FAILURE when a book is worth less than nothing
 */
export function assertWorth({ input, sm, value }: BookState, session: number, worth: number): void {
  if (!(worth < 0)) return;
  const date = formatDay(sm.sessions[session]!);
  const before = value[session - input.from - 1] ?? input.initialValue;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `${input.title} is worth ${worth} on ${date} after ${before} the session before: its short positions lost more than there was. A run that ends before ${date} can be measured.`,
    { date },
  );
}

/**
 * Trades of a book that is short by many times its value can cost more than there is.
 * @param retained value after costs as a fraction of the value before
 * @throws Refusal NUMERIC_FAILURE when nothing is left
 */
export function assertAffordable({ title, sm, costRate }: BookInput, session: number, retained: number): void {
  if (retained > 0) return;
  const date = formatDay(sm.sessions[session]!);
  throw new Refusal(
    'NUMERIC_FAILURE',
    `The trades of ${date} cost more than ${title.charAt(0).toLowerCase()}${title.slice(1)} is worth, at ${costRate * 10_000} basis points.`,
    { date },
  );
}
