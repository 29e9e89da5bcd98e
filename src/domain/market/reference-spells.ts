import type { Day } from '../time/days.js';
import type { MarketData, ReferenceValue } from './market-data.js';

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

/** Replaces missing values in spells. */
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
