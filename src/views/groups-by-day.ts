import type { Day } from '#domain/days.js';

/** Group of a name on a day, and the first day on which it may be another; Infinity where it stays. */
export type GroupOfDay = (name: string, day: Day) => { readonly group: string; readonly until: number };

/**
 * Group of each name on a day, [names]; days are to be asked for in ascending order. The same array until a group
 * changes.
 */
export function groupsByDay(names: readonly string[], groupOf: GroupOfDay): (day: Day) => readonly string[] {
  let groups: readonly string[] = names.map(() => '');
  const until = names.map(() => -Infinity);
  let next = -Infinity;
  return (day) => {
    if (day < next) return groups;
    groups = names.map((name, i) => {
      if (day < until[i]!) return groups[i]!;
      const found = groupOf(name, day);
      until[i] = found.until;
      return found.group;
    });
    next = until.reduce((least, each) => Math.min(least, each), Infinity);
    return groups;
  };
}
