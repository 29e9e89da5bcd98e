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

/** Members of an entry of a published log that its publications need. */
interface LogEntry {
  readonly seq: number;
  readonly date: string;
  readonly kind: string;
  readonly at: string;
  readonly price: number | null;
  readonly total: number | null;
  readonly net: number | null;
}

/** Entry of a log with the relative change to the level that it replaces; null for a first publication. */
export type ChangedEntry<E> = E & { readonly change: number | null };

/** Closes that were published together: either first publications or restatements. */
export interface LoggedPublication<E> {
  /** Entries in the order of the log; there is at least one. */
  readonly entries: readonly ChangedEntry<E>[];
  /** First date of the closes. The next field is the last date. */
  readonly from: string;
  readonly to: string;
  /** Earliest entry with the largest absolute change within rounding; null for first publications. */
  readonly largest: ChangedEntry<E> | null;
}

/** Returns the publications of a log in their order. */
export function listPublications<E extends LogEntry>(entries: readonly E[]): readonly LoggedPublication<E>[] {
  const groups = new Map<string, ChangedEntry<E>[]>();
  for (const entry of addChanges(entries)) {
    const key = `${entry.at} ${entry.kind}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [entry]);
    else group.push(entry);
  }
  return [...groups.values()].map((group) => {
    const dates = group.map(({ date }) => date).toSorted();
    return { entries: group, from: dates[0]!, to: dates.at(-1)!, largest: findLargestChange(group) };
  });
}

/** Adds to each restatement the change to the entry that it replaces. */
function addChanges<E extends LogEntry>(entries: readonly E[]): readonly ChangedEntry<E>[] {
  const replaced = new Map<string, E>();
  return entries.map((entry) => {
    const before = replaced.get(entry.date);
    replaced.set(entry.date, entry);
    const changes = LOGGED_VARIANTS.filter((name) => entry[name] !== null && before?.[name] != null).map(
      (name) => entry[name]! / before![name]! - 1,
    );
    return {
      ...entry,
      change: changes.reduce<number | null>((largest, change) => (isLarger(change, largest) ? change : largest), null),
    };
  });
}

const LOGGED_VARIANTS = ['price', 'total', 'net'] as const;

const findLargestChange = <E extends LogEntry>(entries: readonly ChangedEntry<E>[]): ChangedEntry<E> | null =>
  entries
    .toSorted((a, b) => (a.date < b.date ? -1 : 1))
    .reduce<ChangedEntry<E> | null>(
      (largest, entry) =>
        entry.change !== null && entry.change !== 0 && isLarger(entry.change, largest?.change ?? null)
          ? entry
          : largest,
      null,
    );

/** Returns true if a change is larger than an earlier change by more than rounding, as the service compares them. */
const isLarger = (change: number, largest: number | null): boolean =>
  largest === null || Math.abs(change) > Math.abs(largest) + ROUNDING;

/** Maximum difference of two relative changes of levels that only the order of additions can explain. */
const ROUNDING = 1e-12;
