import { formatDay, type Day } from '../time/days.js';
import type { MarketData, ReferenceValue } from '../market/market-data.js';
import { isBlank, createReferenceSpells, findSpell } from '../market/reference-spells.js';
import { compareText } from '../refusals/findings.js';
import { Refusal } from '../refusals/refusal.js';

/** Fraction that is withheld from ordinary dividends: a single rate, or rates by value of a reference field. */
export type WithholdingTax = number | WithholdingRates;

export interface WithholdingRates {
  /** Reference column, such as the country of a security. */
  readonly field: string;
  /** Rates by value of the field. */
  readonly rates: Readonly<Record<string, number>>;
  /** Rate of values without a separate rate. */
  readonly default?: number | undefined;
}

/** Returns true if the tax may withhold anything. */
export function isTaxed(tax: WithholdingTax): boolean {
  return tax !== 0;
}

/**
 * Returns a function that returns the fraction withheld from payments of a security on a day. The result is NaN if the
 * field value of the security has no rate.
 * @cost O(rows of the column) on the first call
 */
export function createWithholding(market: MarketData, tax: WithholdingTax): (identifier: string, day: Day) => number {
  if (typeof tax === 'number') return () => tax;
  const spells = createReferenceSpells(market, tax.field);
  const columnByIdentifier = indexColumns(market);
  return (identifier, day) => {
    const column = columnByIdentifier.get(identifier);
    return findRate(column === undefined ? null : findSpell(spells[column]!, day), tax);
  };
}

/** Returns the fraction withheld for a value of the field. Returns NaN if no rate applies. */
function findRate(value: ReferenceValue, { rates, default: others = Number.NaN }: WithholdingRates): number {
  if (isBlank(value)) return others;
  const key = String(value);
  return Object.hasOwn(rates, key) ? rates[key]! : others;
}

const columnsByMarket = new WeakMap<MarketData, ReadonlyMap<string, number>>();

function indexColumns(market: MarketData): ReadonlyMap<string, number> {
  const columns =
    columnsByMarket.get(market) ?? new Map(market.identifiers.map((identifier, column) => [identifier, column]));
  columnsByMarket.set(market, columns);
  return columns;
}

export interface TaxedSecurities {
  /** Columns of the market. */
  readonly columns: Iterable<number>;
  /** First and last day; default: all history. */
  readonly from?: Day;
  readonly to?: Day;
}

/** Returns the field values of securities that have no rate, ascending. A missing field value is null. */
export function listValuesWithoutRate(
  market: MarketData,
  tax: WithholdingTax,
  { columns, from = -Infinity, to = Infinity }: TaxedSecurities,
): (string | null)[] {
  if (typeof tax === 'number' || tax.default !== undefined) return [];
  const spells = createReferenceSpells(market, tax.field);
  const taxedColumns = new Set(columns);
  const values = new Set<string | null>();
  const addValue = (value: ReferenceValue): void => {
    if (Number.isNaN(findRate(value, tax))) values.add(isBlank(value) ? null : String(value));
  };
  for (const column of taxedColumns) {
    const columnSpells = spells[column]!;
    if (columnSpells.length === 0) addValue(null);
    for (const [k, spell] of columnSpells.entries())
      if (spell.from <= to && (columnSpells[k + 1]?.from ?? Infinity) > from) addValue(spell.value);
  }
  // A dividend may be paid before the first field value of its security.
  const columnByIdentifier = indexColumns(market);
  for (const { type, status, identifier, exDay } of market.actions) {
    const column = columnByIdentifier.get(identifier);
    if (type !== 'DIVIDEND' || status === 'cancelled' || column === undefined || !taxedColumns.has(column)) continue;
    if (exDay > from && exDay <= to) addValue(findSpell(spells[column]!, exDay));
  }
  return [...values].toSorted((a, b) => compareText(a ?? '', b ?? ''));
}

/**
 * Asserts that a rate applies to the dividends of securities.
 * @throws Refusal NO_RATE that lists the values without a rate
 */
export function requireWithholdingRates(
  market: MarketData,
  tax: WithholdingTax,
  taxedSecurities: TaxedSecurities,
): void {
  const values = listValuesWithoutRate(market, tax, taxedSecurities);
  if (typeof tax === 'number' || values.length === 0) return;
  const location =
    taxedSecurities.from === undefined || taxedSecurities.to === undefined
      ? ''
      : ` from ${formatDay(taxedSecurities.from)} to ${formatDay(taxedSecurities.to)}`;
  throw new Refusal('NO_RATE', `${describeWithoutRate(tax, values)}${location}.`, { field: tax.field, values });
}

/** Describes values without a rate as a sentence without a full stop. */
export function describeWithoutRate({ field }: WithholdingRates, values: readonly (string | null)[]): string {
  const valueList = values.map((value) => value ?? '(no value)').join(', ');
  return `withholding_tax has no rate and no default for ${values.length} value${values.length === 1 ? '' : 's'} of ${field}: ${valueList}`;
}
