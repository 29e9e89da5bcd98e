import { TABLE_KINDS } from '#domain/documents/dataset-document.js';

export type TableKind = (typeof TABLE_KINDS)[number];

/** Number of rows of each table. Most stores have no series; their number is then absent. */
export type RowsByTable = Readonly<Record<Exclude<TableKind, 'series'>, number>> & { readonly series?: number };

/** Returns the dataset with the name of a table, ignoring case. Returns undefined if there is none. */
export const findTable = (name: string): TableKind | undefined =>
  TABLE_KINDS.find((table) => table === name.trim().toLowerCase());

export function countRowsByTable(rowsOf: (table: TableKind) => number): RowsByTable {
  const series = rowsOf('series');
  return {
    market: rowsOf('market'),
    reference: rowsOf('reference'),
    corporate_actions: rowsOf('corporate_actions'),
    universes: rowsOf('universes'),
    ...(series === 0 ? {} : { series }),
  };
}

/** Required columns of each dataset. */
export const REQUIRED_COLUMNS: Record<TableKind, readonly string[]> = {
  market: ['identifier', 'date', 'CLOSE'],
  reference: ['identifier'],
  corporate_actions: ['identifier', 'type', 'value', 'ex_date'],
  universes: ['universe', 'identifier'],
  series: ['identifier', 'date', 'CLOSE'],
};

/** Columns with a defined meaning. Names are matched ignoring case and stored in this spelling. */
export const KNOWN_COLUMNS: Record<TableKind, readonly string[]> = {
  market: ['identifier', 'date', 'OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT'],
  reference: [
    'identifier',
    'valid_from',
    'NAME',
    'CURRENCY',
    'EXCHANGE',
    'COUNTRY',
    'SECTOR',
    'INDUSTRY',
    'ISSUER',
    'LISTED',
    'DELISTED',
  ],
  corporate_actions: [
    'identifier',
    'type',
    'value',
    'ex_date',
    'pay_date',
    'status',
    'announced',
    'related',
    'subscription_price',
    'cash',
    'scrip_ratio',
    'election_date',
    'election_default',
  ],
  universes: ['universe', 'identifier', 'start', 'end'],
  series: ['identifier', 'date', 'CLOSE', 'CURRENCY', 'NAME'],
};

/** Datasets that may have additional columns. */
export const OPEN_TABLES: ReadonlySet<TableKind> = new Set(['market', 'reference']);

/** Columns whose values must be greater than zero, because the next return divides by the price. */
export const PRICE_COLUMNS: ReadonlySet<string> = new Set(['OPEN', 'HIGH', 'LOW', 'CLOSE']);

/** Columns with values that must not be negative. */
export const COUNT_COLUMNS: ReadonlySet<string> = new Set(['VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT']);

/** Reference columns that are always text. The code of an issuer, for example, may consist of digits. */
export const TEXT_COLUMNS: ReadonlySet<string> = new Set([
  'NAME',
  'CURRENCY',
  'EXCHANGE',
  'COUNTRY',
  'SECTOR',
  'INDUSTRY',
  'ISSUER',
]);

/** Reference columns that are dates. */
export const DATE_COLUMNS: ReadonlySet<string> = new Set(['LISTED', 'DELISTED']);

const COLUMN_SPELLINGS: Record<TableKind, ReadonlyMap<string, string>> = {
  market: listSpellings('market'),
  reference: listSpellings('reference'),
  corporate_actions: listSpellings('corporate_actions'),
  universes: listSpellings('universes'),
  series: listSpellings('series'),
};

/**
 * Returns the stored name of a column. A known column has its standard spelling, any other column its name as written.
 */
export function getColumnName(table: TableKind, written: string): string {
  const name = written.trim();
  return COLUMN_SPELLINGS[table].get(name.toLowerCase()) ?? name;
}

/** Returns true if the meaning of a column is known, ignoring case. */
export const isKnownColumn = (table: TableKind, written: string): boolean =>
  COLUMN_SPELLINGS[table].has(written.trim().toLowerCase());

function listSpellings(table: TableKind): ReadonlyMap<string, string> {
  return new Map(KNOWN_COLUMNS[table].map((name) => [name.toLowerCase(), name]));
}
