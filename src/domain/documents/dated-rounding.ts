import type { Calendar } from '../calendars/calendar.js';
import type { Day } from '../time/days.js';
import type { IndexDocument } from './index-document.js';
import type { RoundingSpec } from './rounding.js';
import { listTextSpans } from './text-spans.js';

/** Numbers of decimals of an index on its base date, with later changes by amendments. */
export interface DatedRounding extends RoundingSpec {
  /** Changed numbers of decimals by date; absent if no amendment applies. */
  readonly amended?: readonly AmendedRounding[];
}

/** Numbers of decimals of an index after the close of a day. */
export interface AmendedRounding {
  readonly after: Day;
  readonly rounding: RoundingSpec;
}

/** Returns the numbers of decimals of an index by date. Returns undefined if nothing is ever rounded. */
export function createDatedRounding(document: IndexDocument, calendar: Calendar): DatedRounding | undefined {
  const amendedRoundings = listTextSpans(document, calendar).map(({ after, text }): AmendedRounding => ({
    after,
    rounding: text.document.rounding ?? {},
  }));
  if (amendedRoundings.every(({ rounding }) => Object.keys(rounding).length === 0) && document.rounding === undefined)
    return undefined;
  return { ...document.rounding, ...(amendedRoundings.length === 0 ? {} : { amended: amendedRoundings }) };
}

/** Returns the numbers of decimals on a day. */
export function findRounding(rounding: DatedRounding | undefined, day: Day): RoundingSpec {
  return rounding?.amended?.findLast(({ after }) => after < day)?.rounding ?? rounding ?? {};
}

/** Returns true if a value is rounded on any date. */
export function roundsAny(rounding: DatedRounding | undefined, member: keyof RoundingSpec): boolean {
  return (
    rounding?.[member] !== undefined ||
    (rounding?.amended ?? []).some((amendedRounding) => amendedRounding.rounding[member] !== undefined)
  );
}
