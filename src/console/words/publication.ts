import { isDate } from './dates.js';
import { formatChange, formatDecimal } from './numbers.js';

/** Dates of a run and its log, which determine what can be published. */
export interface Publishable {
  /** First date of the run. The next field is its last date. */
  readonly start: string;
  readonly end: string;
  /** Last published date; null if there is none. */
  readonly last: string | null;
  /** True if published closes are to be restated. */
  readonly isRestated: boolean;
}

/** Returns the error of the last date to publish. Returns null if the date is valid or was not given. */
export function findThroughProblem(
  through: string | undefined,
  { start, end, last, isRestated }: Publishable,
): string | null {
  if (through === undefined || through === '') return null;
  if (!isDate(through)) return `${through} is not a date of the form YYYY-MM-DD.`;
  if (through > end) return `The run ends on ${end}.`;
  if (through < start) return `The run begins on ${start}.`;
  if (last !== null && through <= last && !isRestated) return `Closes through ${last} are published.`;
  return null;
}

/**
 * Returns the dates of a run that are not published yet.
 * @param dates in ascending order
 */
export function listFirstTimes(
  dates: readonly string[],
  through: string | undefined,
  { last }: Pick<Publishable, 'last'>,
): readonly string[] {
  return dates.filter((date) => (last === null || date > last) && (through === undefined || date <= through));
}

/** Returns the valid entry of the last published date. In the log, restatements of earlier dates may come after it. */
export function findLatestClose<E extends { readonly date: string }>(entries: readonly E[]): E | undefined {
  const [first, ...others] = entries;
  return first && others.reduce((latest, entry) => (entry.date >= latest.date ? entry : latest), first);
}

/** Minimum change in basis points that is stated in percent. */
const PERCENT_MIN = 100;

/** Formats the change of a published level: small changes in basis points, such as `2.50 bp`, others in percent. */
export const formatLevelChange = (bps: number): string =>
  Math.abs(bps) < PERCENT_MIN ? `${formatDecimal(bps)} bp` : formatChange(bps / 10_000);
