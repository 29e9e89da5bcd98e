import { MISSING_NUMBER } from '#base/level-file.js';
import { isAssetIdentifier } from '#domain/base/schema.js';
import { type Day, formatDay } from '#domain/base/time.js';
import type { PriceOverride } from '#domain/definition/datasets.js';
import type { DerivedActions, Mapping } from '#domain/definition/mapping.js';
import {
  ACTION_KINDS,
  type CorporateAction,
  type MarketData,
  type ReferenceTable,
} from '#domain/market/market-data.js';
import {
  compareActions,
  computePriceUnit,
  countCommonDecimals,
  SINGLE_PRECISION,
  SPLIT_RATIO_MIN,
  SPLIT_RATIOS,
} from '../content/action-rows.js';
import {
  type ContentTables,
  type DividendError,
  joinContent,
  type MarketContent,
  overridePrices,
} from '../content/market-content.js';
import {
  createMarketRows,
  type MarketFile,
  type MarketRows,
  type MarketRowsOptions,
  type NamedMarketRows,
  type ZoneTerms,
} from '../content/market-rows.js';
import { type Cell, explainNotANumber, formatWrittenCell, type Heading, readText } from '../formats/cells.js';
import { type Panels, removeEmptyLines } from '../panels/panels.js';
import {
  type DataProblem,
  describeBadDay,
  formatCellPath,
  type Problems,
  quoteValue,
  restoreName,
  SIMILAR_PROBLEMS_MAX,
} from '../tables/problems.js';
import { isKnownColumn } from '../tables/table-kinds.js';
import {
  ADJUSTED_CLOSE,
  createDividendReader,
  createFieldColumns,
  createTwoRowColumns,
  createUnreadTerms,
  findTableIdentifier,
  findTupleColumns,
  isMarketTable,
  isWholeName,
  LABEL_WITHOUT_DIGITS,
  mapColumns,
  readsStatedActions,
  STATED_DIVIDENDS,
  STATED_GAINS,
  STATED_SPLITS,
  type WideColumns,
} from './columns.js';
import { wrapFooters } from './footers.js';
import { createCountMarks, createDayReader, createInstantReader, createNumberReader } from './written-values.js';
import { findFirstAtLeast } from '#domain/base/numbers.js';

/** Problems of the texts in a column that the mapping does not name. */
interface ColumnProblems {
  readonly first: DataProblem[];
  /** Name of the column in the table. */
  readonly written: string;
  count: number;
}

interface TextLocation {
  readonly file: MarketFile;
  readonly row: number;
  readonly column: number;
}

/** Collector of texts in columns that a mapping does not name. Such a column may contain no numbers at all. */
function createTextColumns(problems: Problems) {
  const numberColumns = new Set<string>();
  const columns = new Map<string, ColumnProblems>();

  function add(name: string, text: string, { file, row, column }: TextLocation): void {
    const refusal = columns.get(name) ?? { first: [], written: file.written[column]!, count: 0 };
    columns.set(name, refusal);
    refusal.count += 1;
    const columnName = file.written[column]!;
    if (refusal.first.length < SIMILAR_PROBLEMS_MAX)
      refusal.first.push({
        code: 'NOT_A_NUMBER',
        path: formatCellPath(file.label, row, columnName),
        message: `${columnName} is ${quoteValue(text)}, which ${explainNotANumber(text)}.`,
        value: text,
      });
  }

  /** Reports texts among numbers as errors. If a column has only texts, ignores it with a warning. */
  function report(): void {
    for (const [target, { first, count, written }] of columns) {
      const name = target.startsWith('\u0000') ? written : target;
      if (!numberColumns.has(target))
        problems.warning({
          code: 'COLUMN_IGNORED',
          path: `market.${name}`,
          at: first[0]!.path,
          column: name,
          message: `The column ${name} holds no number, as ${JSON.stringify(String(first[0]!.value).slice(0, 80))}; it is not read.`,
        });
      else first.forEach((problem, i) => problems.error(problem, i === first.length - 1 ? count - i : 1));
    }
  }

  return {
    /** Names of fields that contain a number. */
    numbered: numberColumns,
    add,
    /** Returns true if a column contained a text. */
    has: (name: string): boolean => columns.has(name),
    report,
  };
}

/** Price columns of a mapped market, including the adjusted close. */
const PRICE_FIELDS: ReadonlySet<string> = new Set(['OPEN', 'HIGH', 'LOW', 'CLOSE', ADJUSTED_CLOSE]);

/** Largest 64-bit integer, with which vendors of fixed-point prices mark a missing one. */
const UNDEFINED_FIXED_POINT = 2 ** 63;

interface MappedFile extends MarketFile {
  /** Target name of each column. */
  readonly names: readonly string[];
  readonly isPrice: readonly boolean[];
  readonly readers: readonly ReturnType<typeof createNumberReader>[];
}

/** Reader of the cells of a mapped market. Rows of a file are counted from 1. */
interface MappedCells {
  /** Returns the day of a cell. Returns null if the cell is empty, undefined if it is not a valid day. */
  readonly readDay: ReturnType<typeof createDayReader>;
  /** Returns the day of a row. If the cell is not a day, returns undefined and adds a finding. */
  dayOf(file: MarketFile, cell: Cell | undefined, row: number): Day | undefined;
  /** Returns the number of a cell. Returns NaN if it is empty, undefined if it is not a number. */
  numberOf(file: MarketFile, column: number, cell: Cell | undefined, row: number): number | undefined;
  refuseNumber(file: MarketFile, column: number, text: string, row: number): void;
  /**
   * Returns a price under the rules of the mapping for zero and negative prices. Returns NaN if the price is missing.
   */
  priceOf(isPrice: boolean, value: number): number;
  /** Reports warnings that require all rows. */
  report(): void;
}

interface MappedColumns {
  readonly rows: NamedMarketRows;
  readonly texts: ReturnType<typeof createTextColumns>;
}

function createMappedCells(mapping: Mapping, problems: Problems, { rows, texts }: MappedColumns): MappedCells {
  const readDay = createDayReader(mapping.date_format);
  const findInstant = createInstantReader(mapping.date_format);
  const countMarks = createCountMarks(mapping, problems);

  function readPrice(isPrice: boolean, value: number): number {
    if (!isPrice) return value;
    if (value > 0)
      return value >= UNDEFINED_FIXED_POINT && mapping.price_divisor > 1 ? Number.NaN : value / mapping.price_divisor;
    if (value === 0) return mapping.zero_prices === 'missing' ? Number.NaN : value;
    return (mapping.negative_prices === 'absolute' ? -value : value) / mapping.price_divisor;
  }

  function readNumber(file: MarketFile, column: number, cell: Cell | undefined, row: number): number | undefined {
    const { names, readers } = file as MappedFile; // files are opened as MappedFile
    countMarks?.see(names[column]!, cell, { file, row });
    return readers[column]!(cell);
  }

  /**
   * Reports a text in place of a number. In a column that the mapping does not name, it is reported only at the end,
   * because the column may contain no numbers at all.
   */
  function refuseNumber(file: MarketFile, column: number, text: string, row: number): void {
    const name = (file as MappedFile).names[column]!; // files are opened as MappedFile
    if (MISSING_NUMBER.test(text)) return;
    if (isKnownColumn('market', name) || name === ADJUSTED_CLOSE || Object.hasOwn(mapping.columns, name)) {
      rows.refuseNumber(file, column, text);
      return;
    }
    texts.add(name, text, { file, row, column });
  }

  function readMappedDay(file: MarketFile, cell: Cell | undefined, row: number): Day | undefined {
    const instant = findInstant(cell);
    const day = instant === undefined ? readDay(cell) : rows.dayOfInstant(instant);
    if (typeof day === 'number') return day;
    const name = file.written[file.dateColumn]!;
    const path = formatCellPath(file.label, row, name);
    problems.error(
      describeBadDay(path, name, day === null ? null : formatWrittenCell(cell), mapping.date_format ?? undefined),
    );
    return undefined;
  }

  return {
    readDay,
    dayOf: readMappedDay,
    numberOf: readNumber,
    refuseNumber,
    priceOf: readPrice,
    report: () => countMarks?.report(),
  };
}

/** Returns the properties of the columns of a file that follow from their target names. */
const describeColumns = (mapping: Mapping, names: readonly string[]) => ({
  names,
  isPrice: names.map((name) => PRICE_FIELDS.has(name)),
  readers: names.map((name) => createNumberReader(mapping, name)),
});

/** Wide table with one column per security. Its columns are known once its header is complete. */
interface WideFile extends MarketFile {
  /** Null until the second header row is read. Undefined if the table is unreadable. */
  columns: OpenedColumns | null | undefined;
  rowsMet: number;
}

interface OpenedColumns extends WideColumns {
  readonly file: MarketFile;
  readonly codes: readonly (number | undefined)[];
}

/** Reader of tables with one column per security. */
function createWideRows(mapping: Mapping, problems: Problems, { rows, texts }: MappedColumns, cells: MappedCells) {
  /** Begins a table. If the field of its numbers is unknown, returns undefined and adds a finding. */
  function beginFile(label: string, written: readonly string[], table: string): WideFile | undefined {
    const field = findTableField(mapping, table);
    if (field === undefined) {
      problems.error({
        code: 'MISSING_COLUMN',
        path: label,
        message: `The mapping does not state the field of the numbers of ${JSON.stringify(table.slice(0, 80))}: fields does not name the table.`,
      });
      return undefined;
    }
    const columns = field === null ? findTupleColumns(mapping, written) : createFieldColumns(mapping, field, written);
    const file = { label, written, identifierColumn: -1, dateColumn: 0, fieldOf: new Int32Array(0), isWide: true };
    return { ...file, columns: columns === undefined ? null : openColumns({ label, written }, columns), rowsMet: 0 };
  }

  function openColumns(source: Pick<MarketFile, 'label' | 'written'>, columns: WideColumns): OpenedColumns {
    const names = columns.columns.map((column) => column?.field ?? '');
    const file = rows.openFile(source, names);
    const codes = columns.columns.map(
      (column) => column && rows.codeOf({ ...file, identifierColumn: 0 }, restoreName(column.identifier, problems)),
    );
    for (const name of names) texts.numbered.add(name);
    const mappedFile: MappedFile = {
      ...file,
      dateColumn: columns.date,
      ...describeColumns(mapping, names),
    };
    return { ...columns, file: mappedFile, codes };
  }

  function addCells(file: WideFile, values: readonly (Cell | undefined)[] | null): void {
    if (values === null) {
      file.rowsMet += 1;
      return;
    }
    if (file.columns === null) {
      const columnNames = [...file.written, ...values.slice(file.written.length).map(() => '')]; // rows of a sheet end at their last cell
      const columns = createTwoRowColumns(mapping, columnNames, values);
      const isHeader = typeof cells.readDay(values[columns.date]) !== 'number';
      if (!isHeader) problems.error(createMissingFieldProblem(file.label));
      file.columns = isHeader ? openColumns({ label: file.label, written: columnNames }, columns) : undefined;
      return;
    }
    const { columns } = file;
    if (columns === undefined) return; // the table is unreadable
    if (file.rowsMet === 0 && isAboveDays(columns, values) && typeof cells.readDay(values[columns.date]) !== 'number')
      return;
    const row = (file.rowsMet += 1);
    const rowDay = columns.days === undefined ? cells.dayOf(columns.file, values[columns.date], row) : undefined;
    if (rowDay === undefined && columns.days === undefined) return;
    for (let i = 0; i < columns.codes.length; i++) {
      const code = columns.codes[i];
      if (code === undefined) continue;
      const day = rowDay ?? readAdjacentDay(columns, i, values, row);
      if (day === undefined) continue;
      const value = cells.numberOf(columns.file, i, values[i], row);
      if (value === undefined) cells.refuseNumber(columns.file, i, formatWrittenCell(values[i]), row);
      else if (value === value) setBar(columns, i, { row, code, day }, value);
    }
  }

  /**
   * Returns the day next to a number. Returns undefined if both are empty. If there is no valid day, returns undefined
   * and adds a finding.
   */
  function readAdjacentDay(
    { days, file }: OpenedColumns,
    i: number,
    values: readonly (Cell | undefined)[],
    row: number,
  ): Day | undefined {
    const position = days![i]!; // called only for tables with several date columns
    if (readText(values[i]) === null && typeof cells.readDay(values[position]) !== 'number') return undefined;
    return cells.dayOf({ ...file, dateColumn: position }, values[position], row);
  }

  function setBar(
    columns: OpenedColumns,
    i: number,
    bar: { row: number; code: number; day: Day },
    value: number,
  ): void {
    const number = cells.priceOf(PRICE_FIELDS.has(columns.columns[i]!.field), value);
    if (number !== number) return;
    rows.beginBar(bar.row, bar.code, bar.day);
    rows.setNumber(columns.file, i, number);
  }

  return { beginFile, addCells };
}

/**
 * Returns true if a row below the header has no numbers. Such a row is the name of an index, or contains attributes
 * such as CURRENCY.
 */
function isAboveDays({ date, file, columns }: OpenedColumns, cells: readonly (Cell | undefined)[]): boolean {
  const { readers } = file as MappedFile; // files are opened as MappedFile
  const isTerms = LABEL_WITHOUT_DIGITS.test(readText(cells[date]) ?? '');
  return cells.every(
    (cell, i) => columns[i] === undefined || readText(cell) === null || (isTerms && readers[i]!(cell) === undefined),
  );
}

/**
 * Returns the field of a wide table. Returns null if its columns state the fields, undefined if the field is unknown.
 */
function findTableField(mapping: Mapping, table: string): string | null | undefined {
  if (Object.keys(mapping.fields).length > 0) return isMarketTable(mapping, table) ? mapping.fields[table]! : undefined;
  return mapping.field;
}

/** Describes a wide table in which a second header row was expected, but whose second row already contains numbers. */
const createMissingFieldProblem = (label: string): DataProblem => ({
  code: 'MISSING_COLUMN',
  path: label,
  message:
    'The field of the numbers of the table is not stated: the mapping has no field (CLOSE, for example), and the first row below the header contains a day instead of a second header row with field names.',
});

/**
 * Function that returns the identifier of a table from its name or heading. If neither states it, it returns undefined
 * and adds a finding.
 */
type TableNamer = (label: string, table: string, heading: Heading) => string | undefined;

/**
 * Creates a function that names tables and rejects two tables of one identifier. If the mapping states the treatment of
 * duplicates, the function only reports them.
 */
function createTableNames(mapping: Mapping, problems: Problems): TableNamer {
  const tables = new Map<string, string>();
  return (label, table, heading) => {
    if (!isWholeName(mapping)) return undefined;
    const from = mapping.identifier_from!; // tested above
    const identifier = restoreName(findTableIdentifier(from, table, heading) ?? '', problems);
    if (!isAssetIdentifier(identifier)) {
      const message = from.startsWith('file:')
        ? `${quoteValue(table)} says no identifier: ${from} was expected.`
        : `The rows above the header of ${quoteValue(table)} say no identifier: ${from} was expected, of skip_rows ${mapping.skip_rows}.`;
      problems.error({ code: 'BAD_IDENTIFIER', path: label, message, value: table });
      return undefined;
    }
    problems.nameFile(`market[${identifier}`, table);
    const first = tables.get(identifier);
    if (first === undefined) tables.set(identifier, table);
    else reportShared(identifier, [first, table], label);
    return identifier;
  };

  function reportShared(identifier: string, [first, second]: readonly [string, string], path: string): void {
    const bothNames = `${quoteValue(first)} and ${quoteValue(second)} are both of ${quoteValue(identifier)}`;
    if (mapping.on_duplicate === 'refuse')
      problems.error({
        code: 'DUPLICATE_ID',
        path,
        message: `${bothNames}; one table a name is accepted, or on_duplicate says which row counts.`,
        value: identifier,
      });
    else
      problems.warning({
        code: 'DUPLICATE_ID',
        path,
        message: `${bothNames}: their rows are joined.`,
        value: identifier,
      });
  }
}

/** Creates the reader of market rows in a vendor's format. Problems state the column names of the vendor. */
function createMappedRows(mapping: Mapping, problems: Problems, options: MarketRowsOptions = {}): MarketRows {
  const rows = createMarketRows(problems, {
    ...options,
    onDuplicate: mapping.on_duplicate,
    timeZone: mapping.time_zone,
    isJoined: mapping.layout === 'wide',
  });
  const findName = createTableNames(mapping, problems);
  const reports = [createDividendReader(mapping, problems), createUnreadTerms(mapping, problems)];
  const texts = createTextColumns(problems);
  const cells = createMappedCells(mapping, problems, { rows, texts });
  const wideRows = createWideRows(mapping, problems, { rows, texts }, cells);
  let fileRow = 0;

  function beginFile(
    label: string,
    written: readonly string[],
    table?: string,
    heading: Heading = [],
  ): MarketFile | undefined {
    const name = table ?? label.split('/').at(-1)!;
    if (mapping.layout === 'wide') return wideRows.beginFile(label, written, name);
    const names = mapColumns(mapping, label, written, problems);
    if (names === undefined) return undefined;
    for (const report of reports) report(written);
    fileRow = 0;
    const file = rows.openFile({ label, written }, names);
    const code = findFileCode(file, name, heading);
    return mapFile(mapping, code === undefined ? file : { ...file, code }, names);
  }

  function findFileCode(file: MarketFile, name: string, heading: Heading): number | undefined {
    const identifier = findName(file.label, name, heading);
    return identifier === undefined ? undefined : rows.codeOf(file, identifier);
  }

  function beginRow(code: number | undefined, day: Day | undefined): void {
    fileRow += 1;
    rows.beginRow(code, day);
  }

  function setNumber(file: MarketFile, column: number, value: number): void {
    const { names, isPrice } = file as MappedFile; // files are opened as MappedFile
    const number = cells.priceOf(isPrice[column]!, value);
    texts.numbered.add(names[column]!);
    if (number === number) rows.setNumber(file, column, number);
  }

  const refuseNumber = (file: MarketFile, column: number, text: string): void =>
    cells.refuseNumber(file, column, text, fileRow);

  const readDay = (file: MarketFile, cell: Cell | undefined): Day | undefined => cells.dayOf(file, cell, fileRow + 1);

  function addCells(file: MarketFile, row: readonly (Cell | undefined)[] | null): void {
    if (file.isWide === true) {
      wideRows.addCells(file as WideFile, row); // wide files are opened as WideFile
      return;
    }
    if (row === null) {
      beginRow(undefined, undefined);
      return;
    }
    const { identifierColumn, dateColumn } = file;
    beginRow(
      identifierColumn < 0 ? file.code : rows.codeOf(file, readText(row[identifierColumn])),
      dateColumn < 0 ? undefined : readDay(file, row[dateColumn]),
    );
    for (let column = 0; column < file.fieldOf.length; column++) {
      if (file.fieldOf[column]! < 0) continue;
      const value = cells.numberOf(file, column, row[column], fileRow);
      if (value === undefined) refuseNumber(file, column, formatWrittenCell(row[column]));
      else if (value === value) setNumber(file, column, value);
    }
  }

  function toPanels(reference?: ReferenceTable): Panels | undefined {
    texts.report();
    cells.report();
    const panels = rows.toPanels(reference);
    if (panels === undefined) return undefined;
    const fields = new Map([...panels.fields].filter(([name]) => !texts.has(name)));
    if (fields.has('CLOSE')) return { ...panels, fields };
    problems.error({
      code: 'MISSING_COLUMN',
      path: 'market.CLOSE',
      column: 'CLOSE',
      message: 'No table of the market holds CLOSE.',
    });
    return undefined;
  }

  return {
    ...rows,
    beginFile,
    beginRow,
    setNumber,
    refuseNumber,
    addCells,
    dayOf: readDay,
    toPanels,
    get rows() {
      return rows.rows;
    },
  };
}

const mapFile = (mapping: Mapping, file: MarketFile, names: readonly string[]): MappedFile => ({
  ...file,
  hasOwnNumbers: mapping.decimal === ',' || mapping.thousands !== null || mapping.units === 'read',
  ...describeColumns(mapping, names),
});

export interface MarketInterpretation {
  readonly mapping: Mapping | null;
  readonly adjustment: MarketData['adjustment'];
  /** Closes that replace closes of the source. */
  readonly overrides?: readonly Pick<PriceOverride, 'identifier' | 'date' | 'price'>[] | undefined;
  /** Calendars of the service, from which the time zones of exchanges follow. */
  readonly calendars?: ZoneTerms['calendars'];
}

export const DEFAULT_TERMS: MarketInterpretation = { mapping: null, adjustment: 'none' };

/** Content, and the numbers of derived actions. They are null if no derivation was requested. */
export interface CompleteContent {
  readonly content: MarketContent;
  readonly derived: DerivedActions | null;
  /** Rounding error of each derived dividend. */
  readonly dividendErrors?: readonly DividendError[];
}

export function createMarketRowsOn(
  { mapping, calendars }: MarketInterpretation,
  problems: Problems,
  { isPart = false }: Pick<MarketRowsOptions, 'isPart'> = {},
): MarketRows {
  const options = { isPart, calendars };
  return mapping === null
    ? createMarketRows(problems, options)
    : wrapFooters((seen) => createMappedRows(mapping, seen, options), problems);
}

/**
 * Combines panels and tables into one content. Adds the actions that were derived from adjusted closes, and replaces the
 * closes that were overridden.
 * @returns undefined, with a finding, if the panels have no value or the tables contradict them.
 */
export function completeMappedContent(
  panels: Panels,
  tables: ContentTables,
  { mapping, adjustment, overrides }: MarketInterpretation,
  problems: Problems,
): CompleteContent | undefined {
  if (mapping !== null && [...panels.fields.values()].every((panel) => panel.every(Number.isNaN))) {
    problems.error({
      code: 'EMPTY_DATASET',
      path: 'market',
      message: 'The market has no number: every cell that the mapping reads is empty.',
    });
    return undefined;
  }
  if (mapping === null || !readsStatedActions(mapping)) {
    const content = joinContent(panels, tables, problems);
    return content && { content: overridePrices(content, overrides), derived: null };
  }
  refuseTwice(tables, adjustment, problems);
  const {
    panels: remainingPanels,
    actions,
    derived,
    errors,
  } = readVendorActions(panels, { ...mapping, adjustment }, problems);
  const content = joinContent(
    remainingPanels,
    { ...tables, actions: [...tables.actions, ...actions].toSorted(compareActions) },
    problems,
  );
  return content && { content: overridePrices(content, overrides), derived, dividendErrors: errors };
}

/**
 * Rejects dividends from two sources. Also rejects the derivation of dividends from closes that already include them.
 */
function refuseTwice({ actions }: ContentTables, adjustment: MarketData['adjustment'], problems: Problems): void {
  if (adjustment === 'total')
    problems.error({
      code: 'NOT_IN_CHOICES',
      path: 'mapping.adjusted_close',
      message: 'CLOSE is declared to hold dividends already (adjustment total); none can be derived.',
      accepted: ['none', 'splits'],
    });
  const repeatedActions = actions.filter(
    ({ type }) => ACTION_KINDS[type] === 'cash' || (ACTION_KINDS[type] === 'ratio' && adjustment === 'none'),
  );
  if (repeatedActions.length > 0)
    problems.error({
      code: 'DUPLICATE_KEY',
      path: 'mapping.adjusted_close',
      message: `The table corporate_actions holds ${repeatedActions.length} dividends and splits; take them from it or from adjusted closes, not from both.`,
    });
}

/**
 * Rounding rules of vendors, which are tried in turn: one rounding, a rounding after every dividend, or rounding of
 * closes that were not rounded before.
 */
const ROUNDINGS = [
  ...[1, 2, 4, 8].map((times) => ({ relative: times * SINGLE_PRECISION, units: 0 })),
  { relative: SINGLE_PRECISION, units: 1 },
] as const;

/** Maximum cash on the day of a split, as a fraction of the price. */
const SPLIT_CASH_MAX = 0.05;

/**
 * Maximum amount that does not count as a dividend, as a fraction of the price. Smaller amounts arise because adjusted
 * closes are rounded.
 */
const DIVIDEND_MIN = 1e-6;

/**
 * Fraction of the previous price from which on a dividend is suspect. A price move of this size without an action is
 * suspect too.
 */
const LARGE_DIVIDEND = 0.5;

/** Minimum number of decimals of a rounded dividend: cents. It applies if prices have more decimals. */
const CASH_DECIMALS = 2;
/** Maximum number of decimals of a rounded dividend. It is the full precision of a price with few digits. */
const CASH_DECIMALS_MAX = 15;

/** Interval of numbers consistent with rounding. */
interface Range {
  readonly low: number;
  readonly high: number;
}

/** Closes and adjusted closes of one security, on the days with both. */
interface Closes {
  readonly days: readonly Day[];
  readonly close: readonly number[];
  readonly adjusted: readonly number[];
  /** Days with adjusted closes of 0 or less. */
  readonly refused: readonly (readonly [day: Day, adjusted: number])[];
}

/** Days on which the adjusted close is a constant multiple of the close (a plateau). */
interface Plateau {
  /** Position of the first day of the plateau. */
  readonly from: number;
  readonly factor: Range;
  /** Relative rounding of the adjusted close of the first day. */
  readonly rounding: number;
}

/** Actions that adjusted closes imply. */
interface ImpliedActions {
  readonly actions: readonly CorporateAction[];
  readonly errors: readonly DividendError[];
}

interface SecurityActions {
  readonly actions: CorporateAction[];
  readonly errors: DividendError[];
}

/**
 * Derives cash dividends, and also splits if closes are as traded. Between two ex-dates, the adjusted close is a
 * constant multiple m of the close, up to the vendor's rounding. On an ex-date, vendors multiply all earlier adjusted
 * closes by 1 - dividend / previous close, so that dividend = previous close x (1 - m before / m after). If the
 * multiple falls without an explanation, a warning is given.
 * @cost O(days x securities)
 */
function deriveActions(panels: Panels, adjustment: MarketData['adjustment'], problems: Problems): ImpliedActions {
  const adjustedCloses = panels.fields.get(ADJUSTED_CLOSE);
  if (adjustedCloses === undefined) return { actions: [], errors: [] };
  const results = panels.identifiers.map((identifier, n) =>
    collectActions(identifier, createCloses(panels, adjustedCloses, n), adjustment, problems),
  );
  return {
    actions: results.flatMap((securityActions) => securityActions.actions),
    errors: results.flatMap((securityActions) => securityActions.errors),
  };
}

/** Returns an action without other terms. */
const createPlainAction = (
  terms: Pick<CorporateAction, 'identifier' | 'type' | 'value' | 'exDay'>,
): CorporateAction => ({
  ...terms,
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
});

function createCloses({ identifiers, dates, fields }: Panels, adjusted: Float64Array, n: number): Closes {
  const closes = fields.get('CLOSE')!; // every market has this field
  const series = { days: [] as Day[], close: [] as number[], adjusted: [] as number[] };
  const refusals: (readonly [Day, number])[] = [];
  for (let t = 0; t < dates.length; t++) {
    const cell = t * identifiers.length + n;
    if (adjusted[cell]! <= 0) refusals.push([dates[t]!, adjusted[cell]!]);
    if (!(closes[cell]! > 0 && adjusted[cell]! > 0)) continue;
    series.days.push(dates[t]!);
    series.close.push(closes[cell]!);
    series.adjusted.push(adjusted[cell]!);
  }
  return { ...series, refused: refusals };
}

function collectActions(
  identifier: string,
  closes: Closes,
  adjustment: MarketData['adjustment'],
  problems: Problems,
): SecurityActions {
  const actions: CorporateAction[] = [];
  const errors: DividendError[] = [];
  const add = (type: 'DIVIDEND' | 'SPLIT', value: number, exDay: Day) =>
    actions.push(createPlainAction({ identifier, type, value, exDay }));
  if (closes.refused.length > 0) problems.warning(describeNonPositiveClose(identifier, closes.refused));
  const [first, ...steps] = listSteps(listPlateaus(closes, adjustment), adjustment);
  const decimals = Math.min(CASH_DECIMALS, countCommonDecimals(closes.close) ?? CASH_DECIMALS);
  // Multiple after the actions so far. It is consistent with the rounding of all days.
  let factor = first?.factor ?? { low: 1, high: 1 };
  for (const { from, factor: range, split, rounding } of steps) {
    const rise = divideRanges(range, factor);
    const day = closes.days[from]!;
    // A dividend on the day of a split is paid per share after the split.
    const previousClose = closes.close[from - 1]! / split;
    const cash = { low: previousClose * (1 - split / rise.low), high: previousClose * (1 - split / rise.high) };
    if (cash.high < 0) {
      problems.warning(createFallProblem(identifier, day, computeMiddle(rise)));
      factor = range;
      continue;
    }
    if (split !== 1) add('SPLIT', split, day);
    const isPaid = cash.low > 0 && computeMiddle(cash) > Math.max(rounding, DIVIDEND_MIN) * previousClose;
    const dividend = isPaid ? roundWithin(cash, { error: rounding * previousClose, decimals }) : 0;
    if (dividend > 0) {
      add('DIVIDEND', dividend, day);
      errors.push({ identifier, exDay: day, error: cash.high - cash.low + 2 * rounding * previousClose });
    }
    if (dividend > LARGE_DIVIDEND * previousClose)
      problems.warning(
        createLargeDividend(identifier, day, { dividend, before: previousClose, isWhole: closes.refused.length === 0 }),
      );
    const expectedFactor = scaleRange(factor, split / (1 - dividend / previousClose));
    factor =
      expectedFactor.low > range.high || expectedFactor.high < range.low
        ? range
        : intersectRanges(range, expectedFactor);
  }
  return { actions, errors };
}

/** Plateau with the ratio of the split at its beginning. The ratio is 1 if there is no split. */
interface Step extends Plateau {
  readonly split: number;
}

/**
 * Returns the plateaus with their splits. A split without cash changes the multiple exactly by its ratio. The range of
 * each plateau therefore limits the range of the other.
 */
function listSteps(plateaus: readonly Plateau[], adjustment: MarketData['adjustment']): Step[] {
  const steps = plateaus.map((plateau, i) => {
    const previousPlateau = plateaus[i - 1];
    const split =
      previousPlateau === undefined || adjustment !== 'none'
        ? 1
        : findSplitRatio(divideRanges(plateau.factor, previousPlateau.factor));
    return { ...plateau, split };
  });
  const narrowFactor = (i: number, otherRange: Range) =>
    (steps[i] = { ...steps[i]!, factor: intersectRanges(steps[i]!.factor, otherRange) });
  const isAlone = ({ split, factor }: Step, before: Step) =>
    split !== 1 && split * before.factor.low <= factor.high && split * before.factor.high >= factor.low;
  const isAloneByStep = steps.map((step, i) => i > 0 && isAlone(step, steps[i - 1]!));
  for (let i = 1; i < steps.length; i++)
    if (isAloneByStep[i]) narrowFactor(i, scaleRange(steps[i - 1]!.factor, steps[i]!.split));
  for (let i = steps.length - 1; i > 0; i--)
    if (isAloneByStep[i]) narrowFactor(i - 1, scaleRange(steps[i]!.factor, 1 / steps[i]!.split));
  return steps;
}

function createFallProblem(identifier: string, day: Day, rise: number): DataProblem {
  return {
    code: 'ADJUSTMENT_UNEXPLAINED',
    path: `market.${identifier}`,
    message: `The adjusted close of ${identifier} falls by ${((1 - rise) * 100).toPrecision(3)}% against the close on ${formatDay(day)}; no dividend does that, and none is derived.`,
    value: formatDay(day),
  };
}

/** Describes adjusted closes of 0 or less. A dividend above the price would cause them. */
function describeNonPositiveClose(identifier: string, refusedCloses: Closes['refused']): DataProblem {
  const [day, first] = refusedCloses[0]!; // the list is not empty
  const last = refusedCloses.at(-1)!;
  const lastDayText = refusedCloses.length === 1 ? '' : ` through ${formatDay(last[0])}`;
  return {
    code: 'ADJUSTMENT_UNEXPLAINED',
    path: `market.${identifier}`,
    message: `The adjusted close of ${identifier} is 0 or less on ${formatDay(day)}${lastDayText} (${refusedCloses.length} ${refusedCloses.length === 1 ? 'day' : 'days'}, the first ${first}): no dividends are derived of them, and total growth lacks what was paid then. Give them as the table corporate_actions, without adjusted_close.`,
    value: formatDay(day),
  };
}

function createLargeDividend(
  identifier: string,
  day: Day,
  { dividend, before, isWhole }: { readonly dividend: number; readonly before: number; readonly isWhole: boolean },
): DataProblem {
  const returnsText = isWhole ? ' Total returns include it, price returns do not.' : '';
  return {
    code: 'ADJUSTMENT_UNEXPLAINED',
    path: `market.${identifier}`,
    message: `The adjusted close of ${identifier} implies a dividend of ${dividend} after a close of ${before} on ${formatDay(day)}: as large may be a split of no common ratio, or a spin-off.${returnsText}`,
    value: formatDay(day),
  };
}

/**
 * Returns the plateaus of a security. Uses the smallest rounding with the fewest unexplained falls of the multiple:
 * dividends only raise the multiple, but rounding changes it in both directions.
 */
function listPlateaus(closes: Closes, adjustment: MarketData['adjustment']): Plateau[] {
  const unit = computePriceUnit(closes.adjusted);
  let bestPlateaus: Plateau[] = [];
  let fewest = Number.POSITIVE_INFINITY;
  for (const { relative, units } of ROUNDINGS) {
    const plateaus = dividePlateaus(closes, relative, { unit, closeUnit: units * computePriceUnit(closes.close) });
    const fallCount = plateaus.filter((_, i) => isFall(plateaus, i, adjustment)).length;
    if (fallCount >= fewest) continue;
    bestPlateaus = plateaus;
    fewest = fallCount;
    if (fallCount === 0) break;
  }
  return bestPlateaus;
}

const isFall = (plateaus: readonly Plateau[], i: number, adjustment: MarketData['adjustment']) =>
  i > 0 && plateaus[i]!.factor.high < plateaus[i - 1]!.factor.low && !isSplit(plateaus, i, adjustment);

const isSplit = (plateaus: readonly Plateau[], i: number, adjustment: MarketData['adjustment']) =>
  adjustment === 'none' && findSplitRatio(divideRanges(plateaus[i]!.factor, plateaus[i - 1]!.factor)) !== 1;

/** Divides days into plateaus. Each plateau is as long as one multiple fits its days. */
function dividePlateaus(
  { close, adjusted }: Closes,
  relative: number,
  { unit, closeUnit }: { readonly unit: number; readonly closeUnit: number },
): Plateau[] {
  const plateaus: { from: number; factor: Range; rounding: number }[] = [];
  for (let t = 0; t < close.length; t++) {
    const slack = adjusted[t]! * (relative + closeUnit / 2 / close[t]!) + unit / 2;
    const factorRange = { low: (adjusted[t]! - slack) / close[t]!, high: (adjusted[t]! + slack) / close[t]! };
    const last = plateaus.at(-1);
    const low = Math.max(factorRange.low, last?.factor.low ?? 0);
    const high = Math.min(factorRange.high, last?.factor.high ?? Number.POSITIVE_INFINITY);
    if (last === undefined || low > high)
      plateaus.push({ from: t, factor: factorRange, rounding: slack / adjusted[t]! });
    else last.factor = { low, high };
  }
  return plateaus;
}

/**
 * Returns the simplest split ratio that is consistent with a rise and little or no cash. Returns 1 if there is none.
 */
function findSplitRatio({ low, high }: Range): number {
  if (high > 1 && low < SPLIT_RATIO_MIN) return 1;
  const exactRatio = SPLIT_RATIOS.find((ratio) => ratio >= low && ratio <= high);
  return exactRatio ?? SPLIT_RATIOS.find((ratio) => ratio <= high && ratio * (1 + SPLIT_CASH_MAX) >= low) ?? 1;
}

const computeMiddle = ({ low, high }: Range) => (low + high) / 2;

/** Returns the range of quotients of positive numbers in two ranges. */
const divideRanges = (above: Range, below: Range): Range => ({
  low: above.low / below.high,
  high: above.high / below.low,
});

const scaleRange = ({ low, high }: Range, by: number): Range => ({ low: low * by, high: high * by });

/** Returns the intersection of two ranges. If rounding separates them, returns a single number between them. */
function intersectRanges(range: Range, otherRange: Range): Range {
  const low = Math.max(range.low, otherRange.low);
  return { low, high: Math.max(low, Math.min(range.high, otherRange.high)) };
}

/**
 * Returns the middle of a range, rounded to as few decimals as possible but at least `decimals`. The rounding error
 * stays within the error of the vendor.
 */
function roundWithin(range: Range, { error, decimals }: { readonly error: number; readonly decimals: number }): number {
  const exact = computeMiddle(range);
  for (let digits = decimals; digits <= CASH_DECIMALS_MAX; digits++) {
    const value = Number(exact.toFixed(digits));
    if (value > 0 && ((value >= range.low && value <= range.high) || Math.abs(value - exact) <= error)) return value;
  }
  return exact;
}

/** Panels without the columns from which actions are read, and these actions. */
interface DerivedMarket {
  readonly panels: Panels;
  readonly actions: readonly CorporateAction[];
  readonly derived: DerivedActions;
  readonly errors: readonly DividendError[];
}

type Terms = Pick<Mapping, 'adjusted_close' | 'dividends_from'> & { readonly adjustment: MarketData['adjustment'] };

/**
 * Returns the actions that adjusted closes imply or that the vendor states, as the mapping requires. Reports each
 * difference between both.
 * @cost O(days x securities)
 */
function readVendorActions(panels: Panels, terms: Terms, problems: Problems): DerivedMarket {
  const { fields } = panels;
  const implied = deriveActions(panels, terms.adjustment, problems);
  const stated = listStatedActions(panels, terms.adjustment);
  const hasDividends = fields.has(STATED_DIVIDENDS);
  if (fields.has(ADJUSTED_CLOSE))
    for (const [column, type] of [
      [STATED_DIVIDENDS, 'DIVIDEND'],
      [STATED_SPLITS, 'SPLIT'],
    ] as const)
      if (fields.has(column) && (type === 'DIVIDEND' || terms.adjustment === 'none'))
        reportActionDifferences({ panels, type, terms, stated, implied }, problems);
  const isStated = terms.dividends_from === 'column';
  if (isStated && !hasDividends)
    problems.error({
      code: 'MISSING_COLUMN',
      path: 'mapping.dividends_from',
      column: 'Dividends',
      message: 'dividends_from is column, but the market has no column of dividends, such as Dividends or divCash.',
    });
  const splits = isStated && fields.has(STATED_SPLITS) ? stated : implied.actions;
  const actions = [
    ...(isStated ? stated : implied.actions).filter(({ type }) => type === 'DIVIDEND'),
    ...splits.filter(({ type }) => type === 'SPLIT'),
  ];
  const dividends = actions.filter(({ type }) => type === 'DIVIDEND').length;
  return {
    panels: removeEmptyLines({
      ...panels,
      fields: new Map([...fields].filter(([name]) => !name.startsWith('\u0000'))),
    }),
    actions,
    derived: { dividends, splits: actions.length - dividends },
    errors: isStated ? [] : implied.errors,
  };
}

/** Returns the dividends and splits in the columns of the vendor. Splits count only if closes are as traded. */
function listStatedActions(
  { identifiers, dates, fields }: Panels,
  adjustment: MarketData['adjustment'],
): CorporateAction[] {
  const dividends = fields.get(STATED_DIVIDENDS);
  const gains = dividends && fields.get(STATED_GAINS);
  const splits = adjustment === 'none' ? fields.get(STATED_SPLITS) : undefined;
  const results: CorporateAction[] = [];
  if (dividends === undefined && splits === undefined) return results;
  dates.forEach((exDay, t) => {
    for (let n = 0; n < identifiers.length; n++) {
      const cell = t * identifiers.length + n;
      const cash = readNumber(dividends, cell) + readNumber(gains, cell);
      const ratio = readNumber(splits, cell);
      const identifier = identifiers[n]!;
      if (cash > 0) results.push(createPlainAction({ identifier, type: 'DIVIDEND', value: cash, exDay }));
      if (ratio > 0 && ratio !== 1) results.push(createPlainAction({ identifier, type: 'SPLIT', value: ratio, exDay }));
    }
  });
  return results;
}

const readNumber = (panel: Float64Array | undefined, cell: number) => {
  const value = panel?.[cell] ?? 0;
  return value > 0 ? value : 0;
};

/** Maximum unit of the last decimal of prices and dividends. Without it, whole numbers would have a unit of 1. */
const UNIT_MAX = 0.01;
/** Maximum difference of two ratios of a split, as a fraction. */
const SPLIT_TOLERANCE = 1e-3;

interface Comparison {
  readonly panels: Panels;
  readonly type: 'DIVIDEND' | 'SPLIT';
  readonly terms: Terms;
  readonly stated: readonly CorporateAction[];
  readonly implied: { readonly actions: readonly CorporateAction[]; readonly errors: readonly DividendError[] };
}

/** Reports the differences between the dividends or splits of both sources, by security and bar. */
function reportActionDifferences({ panels, type, terms, stated, implied }: Comparison, problems: Problems): void {
  const adjustedCloses = panels.fields.get(ADJUSTED_CLOSE)!; // the caller has checked it
  const [adjusted, used] = [
    terms.adjusted_close,
    terms.dividends_from === 'column' ? 'The column' : terms.adjusted_close,
  ];
  const formatAction = (value: number) =>
    value === 0 ? 'none' : `a ${type === 'DIVIDEND' ? 'dividend' : 'split'} of ${value}`;
  const [statedActions, impliedActions] = [groupBySecurity(stated, type), groupBySecurity(implied.actions, type)];
  const errors = new Map(implied.errors.map(({ identifier, exDay, error }) => [`${identifier} ${exDay}`, error]));
  panels.identifiers.forEach((identifier, n) => {
    const [own, derived] = [statedActions.get(identifier) ?? [], impliedActions.get(identifier) ?? []];
    if (own.length + derived.length === 0) return;
    const closes = createCloses(panels, adjustedCloses, n);
    const [ownSums, derivedSums] = [sumByBar(own, closes), sumByBar(derived, closes)];
    const unit = Math.min(UNIT_MAX, computePriceUnit(own.map(({ value }) => value)));
    for (const bar of [...new Set([...ownSums.keys(), ...derivedSums.keys()])].toSorted((a, b) => a - b)) {
      const [ownValue, derivedValue] = [ownSums.get(bar) ?? 0, derivedSums.get(bar) ?? 0];
      const day = closes.days[bar]!;
      const error = errors.get(`${identifier} ${day}`) ?? computeTolerance(closes, bar);
      const tolerance = type === 'SPLIT' ? SPLIT_TOLERANCE * ownValue : error + unit / 2;
      if (Math.abs(ownValue - derivedValue) <= tolerance) continue;
      problems.warning({
        code: 'ADJUSTMENT_UNEXPLAINED',
        path: `market.${identifier}`,
        message: `The column of the vendor states ${formatAction(ownValue)} for ${identifier} on ${formatDay(day)}, and ${adjusted} implies ${formatAction(derivedValue)}. ${used} is used.`,
        value: formatDay(day),
      });
    }
  });
}

function groupBySecurity(
  actions: readonly CorporateAction[],
  type: CorporateAction['type'],
): ReadonlyMap<string, readonly CorporateAction[]> {
  const groups = new Map<string, CorporateAction[]>();
  for (const action of actions) {
    if (action.type !== type) continue;
    const group = groups.get(action.identifier);
    if (group === undefined) groups.set(action.identifier, [action]);
    else group.push(action);
  }
  return groups;
}

/** Returns the sum of dividends, or the product of splits, of a security by bar, except for its first bar. */
function sumByBar(actions: readonly CorporateAction[], closes: Closes): Map<number, number> {
  const days = Int32Array.from(closes.days);
  const sums = new Map<number, number>();
  for (const { type, value, exDay } of actions) {
    const bar = findFirstAtLeast(days, exDay);
    if (bar === 0 || bar === days.length) continue;
    const before = sums.get(bar);
    sums.set(bar, before === undefined ? value : type === 'SPLIT' ? before * value : before + value);
  }
  return sums;
}

/** Returns the largest dividend that the rounding of closes hides. */
function computeTolerance({ close, adjusted }: Closes, bar: number): number {
  const unit = Math.min(UNIT_MAX, computePriceUnit(adjusted));
  const rounding = unit / adjusted[bar - 1]! + unit / adjusted[bar]! + 16 * SINGLE_PRECISION;
  return rounding * close[bar - 1]! + Math.min(UNIT_MAX, computePriceUnit(close));
}
