import type { Day } from '../base/time.js';
import type { MarketData, ReferenceValue } from './market-data.js';

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
export function createGroupNumbers() {
  const groups: string[] = [];
  const numberByGroup = new Map<string, number>();
  const findNumber = (group: string): number => {
    const number = numberByGroup.get(group) ?? groups.push(group) - 1;
    numberByGroup.set(group, number);
    return number;
  };
  return {
    /** Names of the groups, by number. */
    groups,
    /** Returns the group number of each security on a day, as `createGroupsByDay` does. */
    byDay(names: readonly string[], groupOf: GroupOfDay): (day: Day) => Int32Array {
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

/** Reference value with the days on which it applies: from `from` until the next value begins. */
export interface ReferenceSpell {
  /** First day on which the value applies; -Infinity if it was always valid. */
  readonly from: number;
  readonly value: ReferenceValue;
}

/** Reference values of every security with their days, by column of the market. */
type ColumnSpells = readonly (readonly ReferenceSpell[])[];

/**
 * Maximum number of cached values with their days, per market: about 20 MB. The most recently read columns stay cached.
 */
const SPELLS_CACHED_MAX = 500_000;

/** Cached columns, most recently read last. */
const cache = new WeakMap<MarketData, Map<string, ColumnSpells>>();

/**
 * Returns the values of one reference column for every security, by column of the market. A security without reference
 * rows has none. Adjacent rows with the same value are joined. A security without a currency has the currency that the
 * store declares.
 * @cost O(rows of the table) on the first call
 */
export function createReferenceSpells(market: MarketData, column: string): ColumnSpells {
  const columns = cache.get(market) ?? new Map<string, ColumnSpells>();
  cache.set(market, columns);
  const cachedSpells = columns.get(column);
  const spells = cachedSpells ?? createDeclaredSpells(market, column);
  columns.delete(column);
  columns.set(column, spells);
  if (cachedSpells !== undefined) return cachedSpells;
  let cachedCount = 0;
  for (const columnSpells of columns.values()) cachedCount += countSpells(columnSpells);
  for (const [oldest, each] of columns) {
    if (cachedCount <= SPELLS_CACHED_MAX) break;
    cachedCount -= countSpells(each);
    columns.delete(oldest);
  }
  return spells;
}

function createDeclaredSpells(market: MarketData, column: string): ColumnSpells {
  const spells = createSpells(market, column);
  const { currency = null } = market;
  return column === 'CURRENCY' && currency !== null ? spells.map((own) => fillMissing(own, currency)) : spells;
}

function countSpells(column: ColumnSpells): number {
  let count = 0;
  for (const spells of column) count += spells.length;
  return count;
}

function createSpells(market: MarketData, column: string): ColumnSpells {
  const position = market.reference.columns.indexOf(column);
  return market.identifiers.map((identifier) => {
    const spells: ReferenceSpell[] = [];
    if (position < 0) return spells;
    for (const row of market.reference.rows.get(identifier) ?? []) {
      const value = row.values[position] ?? null;
      if (spells.length === 0 || spells.at(-1)!.value !== value)
        spells.push({ from: row.validFrom ?? -Infinity, value });
    }
    return spells;
  });
}

function fillMissing(spells: readonly ReferenceSpell[], value: ReferenceValue): ReferenceSpell[] {
  const allSpells: ReferenceSpell[] = [{ from: -Infinity, value }];
  for (const spell of spells) {
    const next = { from: spell.from, value: isBlank(spell.value) ? value : spell.value };
    if (next.from === -Infinity) allSpells[0] = next;
    else if (allSpells.at(-1)!.value !== next.value) allSpells.push(next);
  }
  return allSpells;
}

/** Returns true if a reference value is empty. */
export function isBlank(value: ReferenceValue): boolean {
  return value === null || value === '';
}

/** Returns the value that applies on a day. Returns null before the first spell. */
export function findSpell(spells: readonly ReferenceSpell[], day: Day): ReferenceValue {
  for (let i = spells.length - 1; i >= 0; i--) {
    const spell = spells[i]!;
    if (spell.from <= day) return spell.value;
  }
  return null;
}

/** Group name of securities without a group. */
export const UNCLASSIFIED = 'UNCLASSIFIED';

export function readClassification(value: ReferenceValue): string {
  return value === null || value === '' ? UNCLASSIFIED : String(value);
}

/** Group of a security, and the first day on which it may change. The day is Infinity if the group never changes. */
export interface GroupSpell {
  readonly group: string;
  readonly until: number;
}

/** Returns a function for the group of a security known on a day, according to a reference column. */
export function listGroupSpells(market: MarketData, by: string): (name: string, day: Day) => GroupSpell {
  const spells = createReferenceSpells(market, by);
  const byName = new Map(market.identifiers.map((identifier, column) => [identifier, spells[column]!]));
  return (name, day) => {
    const nameSpells = byName.get(name) ?? [];
    const position = nameSpells.findLastIndex(({ from }) => from <= day);
    return {
      group: readClassification(nameSpells[position]?.value ?? null),
      until: nameSpells[position + 1]?.from ?? Infinity,
    };
  };
}

/** Returns a function for the issuer of a security known on a day. A security without an issuer is its own issuer. */
export function listIssuerSpells(market: MarketData, by: string): (name: string, day: Day) => GroupSpell {
  const findSpell = listGroupSpells(market, by);
  return (name, day) => {
    const { group, until } = findSpell(name, day);
    return { group: group === UNCLASSIFIED ? name : group, until };
  };
}

/** Column name that stands for no column: every security forms a separate group. */
export const SINGLE_GROUPS = 'IDENTIFIER';

export const createSingleGroup = (name: string): GroupSpell => ({ group: name, until: Infinity });
