import { findNearestName, suggestName } from '#base/nearest-name.js';
import { TABLE_KINDS } from '#domain/definition/datasets.js';
import type { Problems } from './problems.js';

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
  series: ['identifier', 'date', 'CLOSE', 'CURRENCY', 'NAME', 'UNIT'],
};

/** Datasets that may have additional columns. */
const OPEN_TABLES: ReadonlySet<TableKind> = new Set(['market', 'reference']);

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

/** Maximum number of columns listed in a message about a missing column. */
const LISTED_COLUMNS_MAX = 20;

/**
 * Returns the names of the columns of a file. The name of an unreadable column is ''. Problems are reported, and the
 * rows are read nevertheless to find their problems too.
 * @returns undefined if none of the required columns is present, because the file does not belong to this dataset
 */
export function nameFileColumns(
  table: TableKind,
  label: string,
  written: readonly string[],
  problems: Problems,
): string[] | undefined {
  const names = written.map((column) => getColumnName(table, column));
  const isRepeated = (name: string, i: number) => name !== '' && names.indexOf(name) !== i;
  const missingColumns = REQUIRED_COLUMNS[table].filter((column) => !names.includes(column));
  reportMissing({ dataset: table, label, written, missing: missingColumns }, problems);
  for (const column of new Set(names.filter(isRepeated))) {
    problems.error({
      code: 'DUPLICATE_KEY',
      path: `${label}.${column}`,
      column,
      message: `The column ${column} appears more than once.`,
    });
  }
  const unnamedColumn = names.indexOf('');
  if (unnamedColumn >= 0) {
    problems.error({
      code: 'MISSING_COLUMN',
      path: label,
      message: `Column ${unnamedColumn + 1} of ${written.length} has no name; it needs one, or has to be removed. With a mapping ({} is enough, --inspect proposes one), a column without a name is ignored, unless columns names it by an empty text, such as { "date": "" }.`,
    });
  }
  if (missingColumns.length === REQUIRED_COLUMNS[table].length) return undefined;
  warnOfSimilarNames({ dataset: table, label, names, missing: missingColumns }, problems);
  // A misspelt required column is not read as a custom column. Otherwise each of its cells would be rejected.
  return names.map((name, i) =>
    isRepeated(name, i) || isMeantFor(name, { dataset: table, missing: missingColumns }) ? '' : name,
  );
}

interface MissingColumnsReport {
  readonly dataset: TableKind;
  readonly label: string;
  readonly written: readonly string[];
  readonly missing: readonly string[];
}

function reportMissing({ dataset: table, label, written, missing }: MissingColumnsReport, problems: Problems): void {
  const customColumns = written.filter((column) => !isKnownColumn(table, column));
  for (const column of missing) {
    const similarName = findNearestName(column, customColumns);
    const suggestion =
      similarName === undefined ? '' : ` There is ${similarName.slice(0, 80)}: did you mean ${column}?`;
    const columns =
      written.length === 0
        ? 'none'
        : written
            .slice(0, LISTED_COLUMNS_MAX)
            .map((name) => name.slice(0, 80))
            .join(', ');
    problems.error({
      code: 'MISSING_COLUMN',
      path: `${label}.${column}`,
      column,
      message:
        `The column ${column} is missing.${suggestion}${table === 'market' ? ' A mapping takes it from another.' : ''} The columns are ${columns}.`.slice(
          0,
          400,
        ),
    });
  }
}

interface ColumnNames {
  readonly dataset: TableKind;
  readonly label: string;
  readonly names: readonly string[];
  readonly missing: readonly string[];
}

/** Warns of unknown columns whose names are similar to a known column that is absent. Also reports ignored columns. */
function warnOfSimilarNames({ dataset: table, label, names, missing }: ColumnNames, problems: Problems): void {
  const absentColumns = KNOWN_COLUMNS[table].filter((known) => !names.includes(known) && !missing.includes(known));
  const unknownColumns = names.filter(
    (name) => name !== '' && !isKnownColumn(table, name) && !isMeantFor(name, { dataset: table, missing }),
  );
  for (const name of unknownColumns) {
    const suggestion = suggestName(name, absentColumns);
    if (suggestion === '') {
      if (!OPEN_TABLES.has(table)) problems.warning(createIgnoredFinding({ dataset: table, label }, name));
      continue;
    }
    const handlingText = OPEN_TABLES.has(table) ? 'is read as a custom column' : 'is not read';
    problems.warning({
      code: 'UNKNOWN_FIELD',
      path: `${label}.${name}`,
      column: name,
      message: `The column ${name} ${handlingText}.${suggestion}`,
    });
  }
}

function createIgnoredFinding({ dataset: table, label }: Pick<ColumnNames, 'dataset' | 'label'>, name: string) {
  const message = `The column ${name.slice(0, 80)} is not read; those of ${table} are ${KNOWN_COLUMNS[table].join(', ')}.`;
  return { code: 'COLUMN_IGNORED' as const, path: `${label}.${name}`, column: name, message };
}

/** Returns true if an unknown column has a name similar to a missing required column. */
function isMeantFor(name: string, { dataset: table, missing }: Pick<ColumnNames, 'dataset' | 'missing'>): boolean {
  return !isKnownColumn(table, name) && missing.some((column) => findNearestName(column, [name]) !== undefined);
}
