import type { MarketData, ReferenceTable, ReferenceValue } from '../market/market-data.js';
import { DERIVED_NAMES, type Dataset, type DerivedName, type FieldRequest } from './field-request.js';

/** Source of a datapoint in one market, or the missing column. */
export type Resolution = { readonly dataset: Dataset } | { readonly missing: string };

/** Columns of a market. */
export type Columns = Pick<MarketData, 'fields' | 'reference'>;

/**
 * Resolves the name of a datapoint. Unless the request specifies a dataset, market columns come first, then reference
 * columns, then derived datapoints.
 * @cost O(reference columns)
 */
export function resolveName(market: Columns, { name, dataset }: Pick<FieldRequest, 'name' | 'dataset'>): Resolution {
  const isRequested = (candidate: Dataset) => dataset === null || dataset === candidate;
  if (isRequested('market') && market.fields.has(name)) return { dataset: 'market' };
  if (isRequested('reference') && market.reference.columns.includes(name)) return { dataset: 'reference' };
  if (!isRequested('derived') || !isDerived(name)) return { missing: name };
  const missingColumn = REQUIRED_COLUMNS[name].find((column) => !isHeldField(market, column));
  return missingColumn === undefined ? { dataset: 'derived' } : { missing: missingColumn };
}

export function isDerived(name: string): name is DerivedName {
  return (DERIVED_NAMES as readonly string[]).includes(name);
}

/** Columns required by a derived datapoint. FREE_FLOAT is optional and defaults to 1. */
const REQUIRED_COLUMNS: Readonly<Record<DerivedName, readonly string[]>> = {
  MARKET_CAP: ['SHARES_OUTSTANDING'],
  FREE_FLOAT_MARKET_CAP: ['MARKET_CAP'],
  VALUE_TRADED: ['VOLUME'],
  RETURN: [],
  PRICE_RETURN: [],
  VOLATILITY: [],
  MOMENTUM: [],
  DIVIDEND_YIELD: [],
  BETA: [],
  AGE: [],
};

/**
 * Returns the first column that a derived datapoint requires. For a name that requires no column, returns the name
 * itself.
 */
export const resolveColumn = (name: string): string =>
  isDerived(name) && REQUIRED_COLUMNS[name].length > 0 ? resolveColumn(REQUIRED_COLUMNS[name][0]!) : name;

/** Returns true if a market has share counts. Market values that change between reviews require them. */
export function hasSharesField(market: Columns): boolean {
  return isHeldField(market, 'SHARES_OUTSTANDING');
}

function isHeldField(market: Columns, column: string): boolean {
  if (market.fields.has(column) || market.reference.columns.includes(column)) return true;
  return column === 'MARKET_CAP' && isHeldField(market, 'SHARES_OUTSTANDING');
}

/** Returns the names of all datapoints that a rule can read in a market, for messages about unknown names. */
export function listFieldNames(market: MarketData): string[] {
  const derivedNames = DERIVED_NAMES.filter(
    (name) => !('missing' in resolveName(market, { name, dataset: 'derived' })),
  );
  return [...new Set([...market.fields.keys(), ...market.reference.columns, ...derivedNames])].sort();
}

export type ValueKind = 'number' | 'string' | 'boolean';

/** Cache of the kinds of columns, by table. */
const kindsByTable = new WeakMap<ReferenceTable, Map<string, ValueKind>>();

/**
 * Returns the common kind of the values of a reference column. Returns `string` if the kinds differ.
 * @cost O(rows) on the first call
 */
export function findReferenceKind({ reference }: MarketData, column: string): ValueKind {
  const kindByColumn = kindsByTable.get(reference) ?? new Map<string, ValueKind>();
  kindsByTable.set(reference, kindByColumn);
  const kind = kindByColumn.get(column) ?? findKind(reference, column);
  kindByColumn.set(column, kind);
  return kind;
}

function findKind({ columns, rows: table }: ReferenceTable, column: string): ValueKind {
  const position = columns.indexOf(column);
  let kind: ValueKind | undefined;
  for (const rows of table.values()) {
    for (const row of rows) {
      const value: ReferenceValue = row.values[position] ?? null;
      if (value === null) continue;
      const result = typeof value as ValueKind;
      if (kind !== undefined && kind !== result) return 'string';
      kind = result;
    }
  }
  return kind ?? 'string';
}
