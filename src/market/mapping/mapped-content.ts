import { isAssetIdentifier } from '#domain/base/schema.js';
import type { Day } from '#domain/base/time.js';
import type { PriceOverride } from '#domain/definition/datasets.js';
import type { DerivedActions, Mapping } from '#domain/definition/mapping.js';
import { ACTION_KINDS, type MarketData, type ReferenceTable } from '#domain/market/market-data.js';
import { compareActions } from '../content/action-rows.js';
import type { ContentTables, DividendError, MarketContent } from '../content/market-content.js';
import {
  createMarketRows,
  type MarketFile,
  type MarketRows,
  type MarketRowsOptions,
  type NamedMarketRows,
  type ZoneTerms,
} from '../content/market-rows.js';
import { joinContent } from '../content/merge.js';
import { type Cell, explainNotANumber, formatWrittenCell, type Heading, readText } from '../formats/cells.js';
import type { Panels } from '../panels/panels.js';
import {
  describeBadDay,
  formatCellPath,
  type DataProblem,
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
  type WideColumns,
} from './columns.js';
import { wrapFooters } from './footers.js';
import { readVendorActions } from './vendor-actions.js';
import { createCountMarks, createDayReader, createInstantReader, createNumberReader } from './written-values.js';

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
export interface TextColumns {
  /** Names of fields that contain a number. */
  readonly numbered: Set<string>;
  add(name: string, text: string, place: TextLocation): void;
  /** Returns true if a column contained a text. */
  has(name: string): boolean;
  /** Reports texts among numbers as errors. If a column has only texts, ignores it with a warning. */
  report(): void;
}

function createTextColumns(problems: Problems): TextColumns {
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

  return { numbered: numberColumns, add, has: (name) => columns.has(name), report };
}

/** Price columns of a mapped market, including the adjusted close. */
const PRICE_FIELDS: ReadonlySet<string> = new Set(['OPEN', 'HIGH', 'LOW', 'CLOSE', ADJUSTED_CLOSE]);

/** Largest 64-bit integer, with which vendors of fixed-point prices mark a missing one. */
const UNDEFINED_FIXED_POINT = 2 ** 63;

/** Matches texts that vendors write for a missing number. */
const MISSING_TEXT = /^\s*(null|none|n\/?a|#n\/a( n\/a)?|-+|\.)\s*$/i;

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

interface MappedCellsDependencies {
  readonly rows: Pick<NamedMarketRows, 'refuseNumber' | 'dayOfInstant'>;
  readonly texts: ReturnType<typeof createTextColumns>;
}

function createMappedCells(
  mapping: Mapping,
  problems: Problems,
  { rows, texts }: MappedCellsDependencies,
): MappedCells {
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
    if (MISSING_TEXT.test(text)) return;
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
export interface WideRows {
  /** Begins a table. If the field of its numbers is unknown, returns undefined and adds a finding. */
  beginFile(label: string, written: readonly string[], table: string): WideFile | undefined;
  /** Adds the bars of a row. Null is an unreadable row, which is only counted. */
  addCells(file: WideFile, values: readonly (Cell | undefined)[] | null): void;
}

interface WideRowsDependencies {
  readonly rows: NamedMarketRows;
  readonly texts: ReturnType<typeof createTextColumns>;
  readonly cells: MappedCells;
}

function createWideRows(mapping: Mapping, problems: Problems, { rows, texts, cells }: WideRowsDependencies): WideRows {
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
export type TableNamer = (label: string, table: string, heading: Heading) => string | undefined;

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
  const wideRows = createWideRows(mapping, problems, { rows, texts, cells });
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

/** Interpretation of a market without a mapping. */
export const DEFAULT_TERMS: MarketInterpretation = { mapping: null, adjustment: 'none' };

/** Content, and the numbers of derived actions. They are null if no derivation was requested. */
export interface CompleteContent {
  readonly content: MarketContent;
  readonly derived: DerivedActions | null;
  /** Rounding error of each derived dividend. */
  readonly dividendErrors?: readonly DividendError[];
}

/** Creates the reader of the rows of a market. */
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
 * Combines panels and tables into one content. Adds the actions that were derived from adjusted closes.
 * @returns undefined, with a finding, if the panels have no value or the tables contradict them.
 */
export function completeMappedContent(
  panels: Panels,
  tables: ContentTables,
  { mapping, adjustment }: MarketInterpretation,
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
    return content && { content, derived: null };
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
  return content && { content, derived, dividendErrors: errors };
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
