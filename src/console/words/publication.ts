import { isDate } from './dates.js';

/** Closes that can be published. */
export interface Publishable {
  /** First and last date of the run. */
  readonly start: string;
  readonly end: string;
  /** Last published date; null if there is none. */
  readonly last: string | null;
  /** True if published closes are published again. */
  readonly isRestated: boolean;
}

/** Error of the last date to publish; null if it is valid or omitted. */
export function throughProblem(
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

/** Dates of a run that are published for the first time. @param dates ascending */
export function listFirstTimes(
  dates: readonly string[],
  through: string | undefined,
  { last }: Pick<Publishable, 'last'>,
): readonly string[] {
  return dates.filter((date) => (last === null || date > last) && (through === undefined || date <= through));
}

/** Returns the entry in force of the last published date; a restatement of an earlier one may follow it in the log. */
export function latestClose<E extends { readonly date: string }>(entries: readonly E[]): E | undefined {
  const [first, ...others] = entries;
  return first && others.reduce((latest, entry) => (entry.date >= latest.date ? entry : latest), first);
}
