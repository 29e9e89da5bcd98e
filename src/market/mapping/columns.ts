import { findNearestName, suggestName } from '#base/nearest-name.js';
import type { Mapping } from '#domain/definition/mapping.js';
import { type Cell, type Heading, readText } from '../formats/cells.js';
import type { Problems } from '../tables/problems.js';
import { getColumnName, isKnownColumn, nameFileColumns, REQUIRED_COLUMNS } from '../tables/table-kinds.js';

/**
 * Returns true if a file, sheet or table that is not named like a dataset belongs to the mapped market.
 * @param name without folders
 */
export function isMarketTable({ fields, identifier_from: from, ignore }: Mapping, name: string): boolean {
  if (ignore.includes(name)) return false;
  if (Object.keys(fields).length > 0) return Object.hasOwn(fields, name);
  return from?.startsWith('file:') !== true || findFileIdentifier(from, name) !== undefined;
}

/** Returns the identifier in a file name by the pattern of a mapping. Returns undefined if the name does not match. */
export function findFileIdentifier(pattern: string, name: string): string | undefined {
  const [before = '', after = ''] = pattern.slice('file:'.length).split('{identifier}');
  const isLike = name.startsWith(before) && name.endsWith(after) && name.length > before.length + after.length;
  return isLike ? name.slice(before.length, name.length - after.length) : undefined;
}

/** Returns true if all rows of a table belong to one security. The name or heading of the table states the security. */
export const isWholeName = ({ identifier_from: from }: Mapping): boolean => /^(file|heading):/.test(from ?? '');

/** Returns the identifier of a table from its name or heading. Returns undefined if neither states it. */
export function findTableIdentifier(from: string, name: string, heading: Heading): string | undefined {
  if (from.startsWith('file:')) return findFileIdentifier(from, name);
  return findLabelledValue(from.slice('heading:'.length), heading);
}

/** Returns the value next to a label above the table: `Security | AAPL US Equity`. */
export function findLabelledValue(label: string, heading: Heading): string | undefined {
  for (const row of heading) {
    const position = row.findIndex((text) => normaliseLabel(text) === normaliseLabel(label));
    const value = position < 0 ? undefined : row.slice(position + 1).find((text) => readText(text) !== null);
    if (value !== undefined) return value.trim();
  }
  return undefined;
}

const normaliseLabel = (text: string) => text.trim().replace(/:$/, '').toLowerCase();

/** Returns true if a mapping concerns only columns, so that rows are read as without a mapping. */
export function hasPlainRows({ layout, identifier_from: from, ...mapping }: Mapping): boolean {
  return (
    layout === 'long' &&
    (from === null || from === 'column') &&
    mapping.date_format === null &&
    mapping.time_zone === null &&
    mapping.decimal === '.' &&
    mapping.thousands === null &&
    mapping.units === 'refuse' &&
    mapping.price_divisor === 1 &&
    mapping.on_duplicate === 'refuse' &&
    mapping.zero_prices === 'refuse' &&
    mapping.negative_prices === 'refuse'
  );
}

/** Name of a column of a table without a header: its position, counted from 1. */
const POSITION = /^#[1-9]\d*$/;

/** Returns true if a mapping names its columns by position, because the tables have no header. */
export const isHeaderless = (columns: Mapping['columns'] | undefined): boolean => {
  const names = Object.values(columns ?? {});
  return names.length > 0 && names.every((name) => POSITION.test(name));
};

/** Target names of the columns in which a vendor states actions. No column of a source can have these names. */
export const STATED_DIVIDENDS = '\u0000dividends';
export const STATED_GAINS = '\u0000capital gains';
export const STATED_SPLITS = '\u0000splits';

const STATED_COLUMNS: readonly (readonly [name: string, pattern: RegExp])[] = [
  [STATED_DIVIDENDS, /^(cash)?dividends?(cash)?$|^div(cash|amount)$/],
  [STATED_GAINS, /^(capital)(gains?)$/],
  [STATED_SPLITS, /^(stock)(splits?)$|^split(factor|ratio)?s?$/],
];

/** Returns the target name of a column in which a vendor states actions. Returns undefined for any other column. */
function findStatedName(column: string): string | undefined {
  const word = column.toLowerCase().replaceAll(/[^a-z]/g, '');
  return STATED_COLUMNS.find(([, pattern]) => pattern.test(word))?.[0];
}

/** Returns true if the actions that a vendor states are used, or compared with those that adjusted closes imply. */
export const readsStatedActions = (mapping: Pick<Mapping, 'adjusted_close' | 'dividends_from'>): boolean =>
  mapping.adjusted_close !== null || mapping.dividends_from === 'column';

/** Returns the vendor's column of cash dividends, such as Dividends or divCash. Returns undefined if there is none. */
export const findDividendColumn = (columns: readonly string[]): string | undefined =>
  columns.find((name) => findStatedName(name) === STATED_DIVIDENDS);

/** Returns a function that reports once that the dividends of a vendor are not used, and how to use them. */
export function createDividendReader(mapping: Mapping, problems: Problems) {
  const { columns, adjusted_close: adjusted, ignore } = mapping;
  let isReported = mapping.dividends_from === 'column';
  return (written: readonly string[]) => {
    const dividendColumn = findDividendColumn(written);
    if (isReported || dividendColumn === undefined || Object.values(columns).includes(dividendColumn)) return;
    if (adjusted === null && !ignore.includes(dividendColumn)) return; // mapped like any other field
    isReported = true;
    const used =
      adjusted === null ? 'none are read' : `those derived from ${adjusted} are used, and differences are reported`;
    problems.warning({
      code: 'COLUMN_IGNORED',
      path: `market.${dividendColumn}`,
      message: `${dividendColumn} holds the vendor's own dividends; ${used}. To use its own, set dividends_from to column.`,
    });
  };
}

const isSameName = (a: string, b: string) => a.trim().toLowerCase() === b.trim().toLowerCase();

/**
 * Returns the position of a column with exactly this name, otherwise of one that differs only in case. Returns -1 if
 * there is none.
 */
function findPosition(columns: readonly string[], name: string): number {
  const exactColumn = columns.findIndex((column) => column.trim() === name.trim());
  return exactColumn >= 0 ? exactColumn : columns.findIndex((column) => isSameName(column, name));
}

/**
 * Target name of the adjusted-close column until dividends are derived from it. No column of a source can have this
 * name.
 */
export const ADJUSTED_CLOSE = '\u0000adjusted close';

/**
 * Returns the target names of the columns of a long table. The name of an ignored column is ''.
 * @returns undefined, with a finding, if a required column is absent.
 */
export function mapColumns(
  mapping: Mapping,
  label: string,
  written: readonly string[],
  problems: Problems,
): string[] | undefined {
  const isNamedByTable = isWholeName(mapping);
  const names = renameColumns(mapping, written);
  const neededColumns = REQUIRED_COLUMNS.market.filter((name) => name !== 'identifier' || !isNamedByTable);
  const errorsBefore = problems.errors;
  for (const [name, from] of Object.entries(mapping.columns)) {
    if (findPosition(written, from) >= 0 || !isMissed({ name, from, written, names, needed: neededColumns })) continue;
    problems.error(createMissingColumn({ label, written, takes: name, from, column: from || name }));
  }
  reportAdjusted(mapping, { label, written, names }, problems);
  if (problems.errors > errorsBefore) return undefined;
  const namedPositions = names.flatMap((name, i) => (name === '' ? [] : [i]));
  const columnNames = nameFileColumns(
    'market',
    label,
    [...namedPositions.map((i) => names[i]!), ...(isNamedByTable ? ['identifier'] : [])],
    problems,
  );
  if (columnNames === undefined) return undefined;
  namedPositions.forEach((i, k) => (names[i] = columnNames[k]!));
  return names;
}

interface UnfoundColumn {
  readonly name: string;
  readonly from: string;
  readonly written: readonly string[];
  readonly names: readonly string[];
  readonly needed: readonly string[];
}

/**
 * Returns true if the absence of a mapped column in a file is an error. It is one if the column is required, if another
 * column already has its target name, or if a column has a similar name. Otherwise the column may be in other files.
 */
function isMissed({ name, from, written, names, needed }: UnfoundColumn): boolean {
  const column = getColumnName('market', name);
  return needed.includes(column) || names.includes(column) || findNearestName(from, written) !== undefined;
}

function reportAdjusted(
  { adjusted_close: from }: Mapping,
  {
    label,
    written,
    names,
  }: { readonly label: string; readonly written: readonly string[]; readonly names: readonly string[] },
  problems: Problems,
): void {
  if (from === null || names.includes(ADJUSTED_CLOSE)) return;
  problems.error(createMissingColumn({ label, written, takes: 'adjusted closes', from, column: from }));
}

interface MissingColumn {
  readonly label: string;
  readonly written: readonly string[];
  readonly takes: string;
  readonly from: string;
  readonly column: string;
}

function createMissingColumn({ label, written, takes, from, column }: MissingColumn) {
  return {
    code: 'MISSING_COLUMN',
    path: `${label}.${column}`,
    column,
    message: `The mapping takes ${takes} from ${JSON.stringify(from.slice(0, 80))}, which is not a column of the table.${suggestName(from, written) || formatColumns(written)}`,
  } as const;
}

const LISTED_COLUMNS_MAX = 20;

function formatColumns(written: readonly string[]): string {
  const columnNames = written.filter((name) => name !== '').map((name) => name.slice(0, 40));
  const remainderText =
    columnNames.length > LISTED_COLUMNS_MAX ? ` and ${columnNames.length - LISTED_COLUMNS_MAX} more` : '';
  return columnNames.length === 0
    ? ''
    : ` Its columns are ${columnNames.slice(0, LISTED_COLUMNS_MAX).join(', ')}${remainderText}.`;
}

/**
 * Returns the target names of columns. The name is '' for ignored columns, unnamed columns, and names that are already
 * used.
 */
export function renameColumns(mapping: Mapping, written: readonly string[]): string[] {
  const names = written.map(() => '');
  for (const [name, from] of Object.entries(mapping.columns)) {
    const position = findPosition(written, from);
    if (position >= 0) names[position] = getColumnName('market', name);
  }
  if (mapping.adjusted_close !== null) {
    const position = findPosition(written, mapping.adjusted_close);
    if (position >= 0) names[position] = ADJUSTED_CLOSE;
  }
  if (readsStatedActions(mapping))
    written.forEach((column, i) => {
      const name = findStatedName(column);
      if (names[i] === '' && name !== undefined && !names.includes(name)) names[i] = name;
    });
  const isNamedByTable = isWholeName(mapping);
  if (isHeaderless(mapping.columns)) return names;
  const usedNames = new Set(names);
  return names.map((name, i) => {
    if (name !== '') return name;
    const columnName = getColumnName('market', written[i]!);
    const isLeftOut =
      columnName === '' ||
      usedNames.has(columnName) ||
      (isNamedByTable && columnName === 'identifier') ||
      mapping.ignore.some((ignored) => isSameName(ignored, written[i]!));
    return isLeftOut ? '' : columnName;
  });
}

/** Matches columns with attributes of a security that are not bar fields, such as Currency, Exchange and Sector. */
const TERM_COLUMN =
  /^(currency|currencycode|ccy|waehrung|währung|devise|moneda|moeda|valuta|exchange|mic|sector|industry|country)$/;

const CURRENCY_COLUMN = /^(currency|currencycode|ccy|waehrung|währung|devise|moneda|moeda|valuta)$/;

const simplify = (name: string) => name.toLowerCase().replaceAll(/[^\p{L}]/gu, '');

export const findCurrencyColumn = (columns: readonly string[]): string | undefined =>
  columns.find((name) => CURRENCY_COLUMN.test(simplify(name)));

/** Returns a function that reports each ignored attribute column once. The report explains how to read it. */
export function createUnreadTerms({ columns, ignore }: Mapping, problems: Problems) {
  const reportedColumns = new Set(Object.values(columns));
  return (written: readonly string[]) => {
    for (const name of written) {
      if (reportedColumns.has(name) || !ignore.includes(name) || !TERM_COLUMN.test(simplify(name))) continue;
      reportedColumns.add(name);
      const isCurrency = findCurrencyColumn([name]) !== undefined;
      const storeHint = isCurrency ? ', or as currency of the store where it is one for all' : '';
      problems.warning({
        code: 'COLUMN_IGNORED',
        path: `market.${name}`,
        column: name,
        message: `The column ${name} of the market is not read. Give it by name in the table reference${storeHint}.`,
      });
    }
  };
}

/** Column of a wide table: one field of one security. */
interface WideColumn {
  readonly identifier: string;
  readonly field: string;
}

/**
 * Columns of a wide table. Contains the position of the date column and the content of each other column, which is
 * undefined for an ignored column.
 */
export interface WideColumns {
  readonly date: number;
  /** Position of the date column for each column. Present for a table with a date column next to each security. */
  readonly days?: readonly number[];
  readonly columns: readonly (WideColumn | undefined)[];
}

/** Matches headings that pandas writes for an unnamed index. */
const NAMELESS_INDEX = /^(__index_level_0__|Unnamed: 0)?$/;

/** Matches a column with two levels as named by pandas in Parquet files: ('Close', 'AAPL'). */
const TWO_LEVELS = /^\(\s*(['"])(.*)\1\s*,\s*(['"])(.*)\3\s*\)$/;

/**
 * Returns the date column of a wide table. It is the mapped column, otherwise the column named date, otherwise the
 * first column.
 */
function findDateColumn({ columns }: Mapping, written: readonly string[]): number {
  const dateColumn = findPosition(written, columns['date'] ?? 'date');
  return dateColumn >= 0 ? dateColumn : 0;
}

/** Returns the columns of a table with a single field. */
export function createFieldColumns(mapping: Mapping, field: string, written: readonly string[]): WideColumns {
  const date = findDateColumn(mapping, written);
  const name = getField(mapping, field);
  const isDay = markDateColumns(mapping, written);
  return {
    ...createDayColumns(date, isDay),
    columns: written.map((identifier, i) =>
      i === date || isDay[i] || identifier.trim() === '' || mapping.ignore.includes(identifier)
        ? undefined
        : { identifier: identifier.trim(), field: name },
    ),
  };
}

const markDateColumns = ({ columns }: Mapping, written: readonly string[]): readonly boolean[] =>
  written.map((name) => name.trim().toLowerCase() === (columns['date'] ?? 'date').trim().toLowerCase());

/**
 * Returns the position of the date column for each column. If there are several, it is the nearest date column on its
 * left.
 */
function createDayColumns(date: number, isDay: readonly boolean[]): Pick<WideColumns, 'date' | 'days'> {
  if (isDay.filter(Boolean).length < 2) return { date };
  let last = date;
  return { date, days: isDay.map((is, i) => (is ? (last = i) : last)) };
}

/**
 * Returns the columns of a table whose names are tuples of two levels, as pandas writes them. Returns undefined if no
 * column has such a name.
 */
export function findTupleColumns(mapping: Mapping, written: readonly string[]): WideColumns | undefined {
  const levels = written.map(findLevels);
  const tuples = findFieldLevels(written);
  if (tuples === undefined) return undefined;
  const isFieldFirst = areFields(
    mapping,
    tuples.map(([first]) => first),
    tuples.map(([, second]) => second),
  );
  const namelessColumn = written.findIndex((column, i) => levels[i] === undefined && NAMELESS_INDEX.test(column));
  const dates = levels.findIndex((level) => level !== undefined && /^date(time)?$/i.test(level[0]) && level[1] === '');
  const dateColumn = findPosition(written, mapping.columns['date'] ?? 'date');
  return {
    date: dateColumn >= 0 ? dateColumn : dates >= 0 ? dates : Math.max(namelessColumn, 0),
    columns: levels.map((level) => level && createColumn(mapping, isFieldFirst ? level : [level[1], level[0]])),
  };
}

/** Returns the two levels of a column name. Returns undefined if the name has another form. */
function findLevels(column: string): readonly [string, string] | undefined {
  const match = TWO_LEVELS.exec(column.trim());
  return match === null ? undefined : [match[2]!, match[4]!];
}

/** Returns the levels of all two-level column names; undefined if there are none. */
export function findFieldLevels(written: readonly string[]): readonly (readonly [string, string])[] | undefined {
  const levels = written.map(findLevels).filter((each) => each !== undefined);
  return levels.length === 0 ? undefined : levels;
}

/** Returns the columns of a table with two header rows: fields and identifiers, in either order. */
export function createTwoRowColumns(
  mapping: Mapping,
  first: readonly string[],
  cells: readonly (Cell | undefined)[],
): WideColumns {
  const secondRow = first.map((_, i) => readText(cells[i]) ?? '');
  const firstDateColumn = findPosition(first, mapping.columns['date'] ?? 'date');
  const secondDateColumn = findPosition(secondRow, mapping.columns['date'] ?? 'date');
  const date = Math.max(firstDateColumn >= 0 ? firstDateColumn : secondDateColumn, 0);
  const otherColumns = first.flatMap((_, i) => (i === date ? [] : [i]));
  const isFieldFirst = areFields(
    mapping,
    otherColumns.map((i) => first[i]!),
    otherColumns.map((i) => secondRow[i]!),
  );
  const isDay = markDateColumns(mapping, firstDateColumn >= 0 ? first : secondRow);
  let spannedLabel = '';
  const upperLabels = first.map((text, i) =>
    i === date && !isDay[i] ? text : (spannedLabel = text.trim() || spannedLabel),
  );
  return {
    ...createDayColumns(date, isDay),
    columns: first.map((_, i) =>
      i === date || isDay[i]
        ? undefined
        : createColumn(mapping, isFieldFirst ? [upperLabels[i]!, secondRow[i]!] : [secondRow[i]!, upperLabels[i]!]),
    ),
  };
}

function createColumn(mapping: Mapping, [field, identifier]: readonly [string, string]): WideColumn | undefined {
  if (field.trim() === '' || identifier.trim() === '') return undefined;
  const name = getField(mapping, field);
  const isIgnored = mapping.ignore.includes(field) && name !== findStatedName(field);
  if (isIgnored || mapping.ignore.includes(identifier)) return undefined;
  return { identifier: identifier.trim(), field: name };
}

/** Returns true if the first of two levels contains the fields. The level with more known fields counts. */
function areFields(mapping: Mapping, first: readonly string[], second: readonly string[]): boolean {
  const countFields = (names: readonly string[]) => names.filter((name) => isField(mapping, name)).length;
  const [a, b] = [countFields(first), countFields(second)];
  return a === b ? new Set(first).size <= new Set(second).size : a > b;
}

const isField = (mapping: Mapping, name: string) =>
  getField(mapping, name) !== name.trim() || isKnownColumn('market', name);

function getField(mapping: Mapping, written: string): string {
  const { columns, adjusted_close: adjusted } = mapping;
  const isLike = (name: string | null) => name !== null && findPosition([written], name) === 0;
  if (isLike(adjusted)) return ADJUSTED_CLOSE;
  const mappedField = Object.entries(columns).find(([, from]) => isLike(from));
  if (mappedField !== undefined) return getColumnName('market', mappedField[0]);
  return (readsStatedActions(mapping) ? findStatedName(written) : undefined) ?? getColumnName('market', written);
}

/** Matches a label without digits, such as the label of an attribute row between the identifiers and the first day. */
export const LABEL_WITHOUT_DIGITS = /^[\p{L} ._-]+$/u;
