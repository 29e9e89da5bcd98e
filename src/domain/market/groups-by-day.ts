import type { Day } from '../time/days.js';

/**
 * Function that returns the group of a security on a day, and the first day on which the group may change. That day is
 * Infinity if the group never changes.
 */
export type GroupOfDay = (name: string, day: Day) => { readonly group: string; readonly until: number };

/**
 * Returns a function that returns the group of each security on a day, [names]. Days must ascend. The function returns
 * the identical array until a group changes.
 */
export function createGroupsByDay(names: readonly string[], groupOf: GroupOfDay): (day: Day) => readonly string[] {
  let groups: readonly string[] = names.map(() => '');
  const spellEnds = names.map(() => -Infinity);
  let next = -Infinity;
  return (day) => {
    if (day < next) return groups;
    groups = names.map((name, i) => {
      if (day < spellEnds[i]!) return groups[i]!;
      const result = groupOf(name, day);
      spellEnds[i] = result.until;
      return result.group;
    });
    next = spellEnds.reduce((least, each) => Math.min(least, each), Infinity);
    return groups;
  };
}

/** Numbering of groups in order of first occurrence. */
export interface GroupNumbers {
  /** Names of the groups, by number. */
  readonly groups: readonly string[];
  /** Returns the group number of each security on a day, as `createGroupsByDay` does. */
  byDay(names: readonly string[], groupOf: GroupOfDay): (day: Day) => Int32Array;
}

export function createGroupNumbers(): GroupNumbers {
  const groups: string[] = [];
  const numberByGroup = new Map<string, number>();
  const findNumber = (group: string): number => {
    const number = numberByGroup.get(group) ?? groups.push(group) - 1;
    numberByGroup.set(group, number);
    return number;
  };
  return {
    groups,
    byDay(names, groupOf) {
      const readGroups = createGroupsByDay(names, groupOf);
      let texts: readonly string[] | undefined;
      let numbers = new Int32Array(0);
      return (day) => {
        const dayGroups = readGroups(day);
        if (dayGroups !== texts) numbers = Int32Array.from(dayGroups, findNumber);
        texts = dayGroups;
        return numbers;
      };
    },
  };
}
