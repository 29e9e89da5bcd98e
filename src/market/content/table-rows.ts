import { compareText } from '#domain/base/findings.js';
import { isAssetIdentifier } from '#domain/base/schema.js';
import { type Day, formatDay } from '#domain/base/time.js';
import { RATE_UNITS, type RateUnit, WideSeries } from '#domain/definition/mapping.js';
import { isCurrency, parsePair } from '#domain/market/rates.js';
import type {
  Membership,
  PriceSeries,
  ReferenceRow,
  ReferenceTable,
  ReferenceValue,
  SeriesTable,
} from '#domain/market/market-data.js';
import {
  type Cell,
  explainNotANumber,
  findInstant,
  formatWrittenCell,
  isTimeOfDay,
  readDay,
  readNumber,
  readText,
  ShownValue,
} from '../formats/cells.js';
import {
  describeBadDay,
  describeBadIdentifier,
  describeRepeatedKey,
  formatCellPath,
  type Problems,
  quoteValue,
  restoreName,
} from '../tables/problems.js';
import { DATE_COLUMNS, nameFileColumns, TEXT_COLUMNS } from '../tables/table-kinds.js';
import { SERIES_ROWS_MAX } from './market-content.js';

/** Reader of the rows of a dataset, cell by cell. */
export interface CheckedRows<T> {
  /**
   * Begins a file and returns a function that reads its rows. Returns undefined if the columns do not belong to the
   * dataset. A null row is unreadable and only counted.
   */
  beginFile(
    label: string,
    written: readonly string[],
  ): ((cells: readonly (Cell | undefined)[] | null) => void) | undefined;
  readonly rows: number;
  toTable(): T;
}

/** Function that returns the location of a cell. It is called only if the cell has a problem. */
export type CellLocation = () => string;

/** Column of a file. It is -1 if the column is missing; the check of the header reports this. */
interface Column {
  readonly column: number;
  readonly path: CellLocation;
}

/**
 * Returns a function that reads a cell of a required column. It returns undefined if the cell is rejected or the column
 * is missing.
 */
export function createNeededReader(cells: readonly (Cell | undefined)[], problems: Problems) {
  return <T>(
    { column, path }: Column,
    read: (cell: Cell | undefined, path: CellLocation, problems: Problems) => T | undefined,
  ): T | undefined => (column < 0 ? undefined : read(cells[column], path, problems));
}

/** Returns an asset identifier. If the cell contains none, returns undefined and adds a finding. */
export function readIdentifier(cell: Cell | undefined, path: CellLocation, problems: Problems): string | undefined {
  const text = readText(cell);
  const name = text === null ? null : restoreName(text, problems);
  if (name !== null && isAssetIdentifier(name)) return name;
  problems.error(describeBadIdentifier(path(), text));
  return undefined;
}

/** Returns a day, null for an empty cell. For any other content, returns undefined and adds a finding. */
export function readDate(cell: Cell | undefined, path: CellLocation, problems: Problems): Day | null | undefined {
  const text = formatWrittenCell(cell).slice(0, 80);
  if (isTimeOfDay(findInstant(cell) ?? 0)) {
    problems.error({
      code: 'BAD_DATE',
      path: path(),
      message: `${JSON.stringify(text)} is an instant, and its local day depends on the time zone; it must be a date, YYYY-MM-DD.`,
      value: text,
    });
    return undefined;
  }
  const day = readDay(cell);
  if (day === undefined) {
    problems.error({
      code: 'BAD_DATE',
      path: path(),
      message: `${JSON.stringify(text)} is not a valid date; it must be a date, YYYY-MM-DD.`,
      value: text,
    });
  }
  return day;
}

interface RawRow {
  readonly identifier: string;
  readonly validFrom: Day | null;
  readonly cells: (Cell | undefined)[];
}

const NUMERIC_TEXT = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

export function createReferenceRows(problems: Problems): CheckedRows<ReferenceTable> {
  const columns: string[] = [];
  const rawRows: RawRow[] = [];
  const seenKeys = new Set<string>();
  let rows = 0;

  function beginFile(label: string, written: readonly string[]) {
    const names = nameFileColumns('reference', label, written, problems);
    if (names === undefined) return undefined;
    const identifierColumn = names.indexOf('identifier');
    const fromColumn = names.indexOf('valid_from');
    const positions = names.map((name) => {
      if (name === '' || name === 'identifier' || name === 'valid_from') return -1;
      const existingIndex = columns.indexOf(name);
      return existingIndex >= 0 ? existingIndex : columns.push(name) - 1;
    });
    let fileRow = 0;
    return (cells: readonly (Cell | undefined)[] | null) => {
      rows += 1;
      fileRow += 1;
      if (cells === null) return;
      const identifier =
        identifierColumn < 0
          ? undefined
          : readIdentifier(
              cells[identifierColumn],
              () => formatCellPath(label, fileRow, written[identifierColumn]!),
              problems,
            );
      const validFrom =
        fromColumn < 0
          ? null
          : readDate(cells[fromColumn], () => formatCellPath(label, fileRow, written[fromColumn]!), problems);
      const values: (Cell | undefined)[] = [];
      positions.forEach((position, i) => {
        if (position < 0) return;
        const isDate = DATE_COLUMNS.has(columns[position]!);
        values[position] = isDate
          ? formatIsoDay(readDate(cells[i], () => formatCellPath(label, fileRow, written[i]!), problems))
          : cells[i];
      });
      if (identifier === undefined || validFrom === undefined) return;
      const key = `${validFrom ?? ''} ${identifier}`;
      if (seenKeys.has(key)) {
        const dateText = validFrom === null ? 'without valid_from' : `valid from ${formatDay(validFrom)}`;
        problems.error({
          code: 'DUPLICATE_KEY',
          path: formatCellPath(label, fileRow, ''),
          message: `An earlier row already contains ${identifier} ${dateText}.`,
        });
        return;
      }
      seenKeys.add(key);
      rawRows.push({ identifier, validFrom, cells: values });
    };
  }

  function toTable(): ReferenceTable {
    const kinds = columns.map((name, position) =>
      TEXT_COLUMNS.has(name) || DATE_COLUMNS.has(name) ? 'text' : detectKind(rawRows, position),
    );
    const rowsByName = new Map<string, ReferenceRow[]>();
    for (const { identifier, validFrom, cells } of rawRows) {
      const row: ReferenceRow = {
        validFrom,
        values: columns.map((_, position) => parseValue(cells[position], kinds[position]!)),
      };
      const referenceRows = rowsByName.get(identifier);
      if (referenceRows === undefined) rowsByName.set(identifier, [row]);
      else referenceRows.push(row);
    }
    const order = [...rowsByName.keys()].toSorted(compareText);
    const early = -Infinity;
    return {
      columns,
      rows: new Map(
        order.map((name) => [
          name,
          rowsByName.get(name)!.toSorted((a, b) => (a.validFrom ?? early) - (b.validFrom ?? early) || 0),
        ]),
      ),
    };
  }

  return {
    beginFile,
    toTable,
    get rows() {
      return rows;
    },
  };
}

type Kind = 'number' | 'boolean' | 'text';

/**
 * Returns the type of a column. All values of the column decide, so that text-only and typed formats give the same
 * table. The type is number if every value is a number or the text of a number without leading zeros. The same applies
 * to booleans. Otherwise it is text.
 */
function detectKind(rows: readonly RawRow[], position: number): Kind {
  let numbers = 0;
  let booleans = 0;
  let cellCount = 0;
  for (const { cells } of rows) {
    const cell = cells[position];
    const text = readText(cell);
    if (text === null) continue;
    cellCount += 1;
    if (isBoolean(cell) || text === 'true' || text === 'false') booleans += 1;
    else if (typeof cell === 'number' || typeof cell === 'bigint' || (typeof cell === 'string' && isNumberText(text)))
      numbers += 1;
  }
  if (cellCount > 0 && numbers === cellCount) return 'number';
  return cellCount > 0 && booleans === cellCount ? 'boolean' : 'text';
}

const isBoolean = (cell: Cell | undefined): boolean =>
  typeof cell === 'boolean' || (cell instanceof ShownValue && typeof cell.value === 'boolean');

/**
 * Returns true if a text is a number of at most 15 digits, which a double reproduces. Longer digit strings are codes.
 */
function isNumberText(text: string): boolean {
  return NUMERIC_TEXT.test(text) && Number.isFinite(Number(text)) && text.replace(/[^0-9]/g, '').length <= 15;
}

function parseValue(cell: Cell | undefined, kind: Kind): ReferenceValue {
  const text = readText(cell);
  if (text === null) return null;
  if (kind === 'boolean') return text.toLowerCase() === 'true';
  if (kind === 'text') return text;
  const value = Number(text) + 0;
  return Number.isFinite(value) ? value : null;
}

const formatIsoDay = (day: Day | null | undefined) => (day === null || day === undefined ? null : formatDay(day));

/** Series whose rows are still being read. */
interface SeriesRows {
  name: string | null;
  currency: string | null;
  /** Unit of the values of a rate; null for values that are not converted. */
  unit: RateUnit | null;
  readonly closes: Map<Day, number>;
}

/**
 * Creates the reader of the dataset `series`. Values may have any sign, because interest rates can be negative. A row
 * without a value is ignored. A table without the columns identifier and CLOSE is wide: each column is a series.
 * @param wide interpretation of wide tables
 */
export function createSeriesRows(problems: Problems, wide: WideSeries | null = null): CheckedRows<SeriesTable> {
  const series = new Map<string, SeriesRows>();
  let rows = 0;

  const findRows = (identifier: string): SeriesRows => {
    const ownRows = series.get(identifier) ?? {
      name: null,
      currency: null,
      unit: null,
      closes: new Map<Day, number>(),
    };
    series.set(identifier, ownRows);
    return ownRows;
  };
  const isWithinLimit = (label: string, count: number): boolean => {
    const before = rows;
    rows += count;
    if (rows > SERIES_ROWS_MAX && before <= SERIES_ROWS_MAX)
      problems.error({
        code: 'OUT_OF_RANGE',
        path: label,
        message: `The series have more than ${SERIES_ROWS_MAX} rows, the maximum of a store.`,
      });
    return rows <= SERIES_ROWS_MAX;
  };

  function beginWideFile(label: string, written: readonly string[], dateAt: number) {
    const columns = nameWideColumns(label, written, dateAt, wide, problems);
    let fileRow = 0;
    return (cells: readonly (Cell | undefined)[] | null) => {
      fileRow += 1;
      if (cells === null || !isWithinLimit(label, columns.length)) return;
      const day = readDate(cells[dateAt], () => formatCellPath(label, fileRow, written[dateAt]!), problems);
      if (day === null)
        problems.error(describeBadDay(formatCellPath(label, fileRow, written[dateAt]!), written[dateAt]!, null));
      if (day === null || day === undefined) return;
      for (const { column, identifier, unit } of columns) {
        if (MISSING_RATES.has((readText(cells[column]) ?? '').trim().toLowerCase())) continue;
        const path = () => formatCellPath(label, fileRow, written[column]!);
        const close = closeIn(cells[column], { column: written[column]!, path }, problems);
        if (close === undefined || Number.isNaN(close)) continue;
        const ownSeriesRows = findRows(identifier);
        ownSeriesRows.unit = findCommonAttribute(
          ownSeriesRows.unit,
          unit,
          { what: `The unit of ${identifier}`, path },
          problems,
        );
        if (ownSeriesRows.closes.has(day)) problems.error(describeRepeatedKey(path(), identifier, day));
        else ownSeriesRows.closes.set(day, close);
      }
    };
  }

  function beginFile(label: string, written: readonly string[]) {
    const plainNames = written.map((column) => column.trim().toLowerCase());
    const dateColumn = plainNames.indexOf('date');
    if (dateColumn >= 0 && !plainNames.includes('identifier') && !plainNames.includes('close'))
      return beginWideFile(label, written, dateColumn);
    const names = nameFileColumns('series', label, written, problems);
    if (names === undefined) return undefined;
    reportIdleTerms(label, wide, problems);
    let fileRow = 0;
    const locateColumn = (name: string) => {
      const column = names.indexOf(name);
      return { column, path: () => formatCellPath(label, fileRow, written[column] ?? name) };
    };
    const [identifierAt, dateAt, closeAt, currencyAt, nameAt, unitAt] = [
      locateColumn('identifier'),
      locateColumn('date'),
      locateColumn('CLOSE'),
      locateColumn('CURRENCY'),
      locateColumn('NAME'),
      locateColumn('UNIT'),
    ];

    return (cells: readonly (Cell | undefined)[] | null) => {
      fileRow += 1;
      const isWithin = isWithinLimit(label, 1);
      if (cells === null || !isWithin) return;
      const readNeeded = createNeededReader(cells, problems);
      const identifier = readNeeded(identifierAt, readIdentifier);
      const day = readNeeded(dateAt, readDate);
      if (day === null) problems.error(describeBadDay(dateAt.path(), written[dateAt.column]!, null));
      const close = readNeeded(closeAt, (cell, path) =>
        closeIn(cell, { column: written[closeAt.column]!, path }, problems),
      );
      const unit = readUnit(cells[unitAt.column], { identifier, path: unitAt.path }, problems);
      if (identifier === undefined || day === null || day === undefined || close === undefined) return;
      const ownSeriesRows = findRows(identifier);
      ownSeriesRows.currency = findCommonAttribute(
        ownSeriesRows.currency,
        readText(cells[currencyAt.column]),
        { what: `CURRENCY of ${identifier}`, path: currencyAt.path },
        problems,
      );
      ownSeriesRows.name = findCommonAttribute(
        ownSeriesRows.name,
        readText(cells[nameAt.column]),
        { what: `NAME of ${identifier}`, path: nameAt.path },
        problems,
      );
      ownSeriesRows.unit = findCommonAttribute(
        ownSeriesRows.unit,
        unit,
        { what: `UNIT of ${identifier}`, path: unitAt.path },
        problems,
      );
      if (ownSeriesRows.closes.has(day))
        problems.error(describeRepeatedKey(formatCellPath(label, fileRow, ''), identifier, day));
      else if (close === close) ownSeriesRows.closes.set(day, close);
    };
  }

  return {
    beginFile,
    toTable: () =>
      new Map(
        [...series]
          .flatMap(([identifier, growing]) =>
            growing.closes.size === 0 ? [] : [[identifier, createSeries(identifier, growing)] as const],
          )
          .toSorted(([a], [b]) => compareText(a, b)),
      ),
    get rows() {
      return rows;
    },
  };
}

/** Converts rates in some unit to percentages. */
const TO_PERCENT: Readonly<Record<RateUnit, (value: number) => number>> = {
  percent: (value) => value,
  basis_points: (value) => value / 100,
  fraction: (value) => value * 100,
};

interface UnitCell {
  readonly identifier: string | undefined;
  readonly path: CellLocation;
}

/** Returns the unit of a cell, null for an empty cell. For an unknown unit or an exchange rate, adds a finding. */
function readUnit(cell: Cell | undefined, { identifier, path }: UnitCell, problems: Problems): RateUnit | null {
  const text = readText(cell);
  if (text === null) return null;
  const unit = RATE_UNITS.find((name) => name === text.trim());
  const isExchangeRate = parsePair(identifier ?? '')?.every(isCode) === true;
  if (unit !== undefined && !isExchangeRate) return unit;
  const message = isExchangeRate
    ? `UNIT of ${identifier} is ${quoteValue(text)}; an exchange rate has no unit.`
    : `UNIT is ${quoteValue(text)}; the accepted units are ${RATE_UNITS.join(', ')}.`;
  const accepted = isExchangeRate ? {} : { accepted: [...RATE_UNITS] };
  problems.error({ code: 'NOT_IN_CHOICES', path: path(), message, ...accepted, value: text });
  return null;
}

const isCode = (name: string): boolean => name.length === 3 && isCurrency(name);

/** Texts of wide tables that are no value, in lower case. */
const MISSING_RATES: ReadonlySet<string> = new Set(['n/a', 'na', '-', '.', '#n/a', 'nd']);

interface WideSeriesColumn {
  readonly column: number;
  readonly identifier: string;
  /** Unit of the values; null for exchange rates. */
  readonly unit: RateUnit | null;
}

/** Reports terms of wide tables that differ from their default, for a table whose rows name their series. */
function reportIdleTerms(label: string, wide: WideSeries | null, problems: Problems): void {
  if (wide === null) return;
  const defaults = WideSeries.parse({});
  for (const name of ['base', 'quoted', 'unit'] as const) {
    const value = wide[name];
    if (value === null || value === defaults[name]) continue;
    problems.warning({
      code: 'NO_EFFECT',
      path: `mapping.series.${name}`,
      message: `mapping.series.${name} is ${value} and has no effect on ${label}: each row names its series${name === 'unit' ? ', and the column UNIT states the unit' : ''}.`,
      value,
    });
  }
}

/**
 * Returns the series of the columns of a wide table. A pair such as EUR/USD or EURUSD and one currency are exchange
 * rates, any other name is a series. Columns without a name are ignored.
 */
function nameWideColumns(
  label: string,
  written: readonly string[],
  dateAt: number,
  wide: WideSeries | null,
  problems: Problems,
): WideSeriesColumn[] {
  const columns = written.flatMap((column, position): WideSeriesColumn[] => {
    const name = column.trim();
    if (position === dateAt || name === '') return [];
    if (name === wide?.base) {
      problems.warning({
        code: 'COLUMN_IGNORED',
        path: `${label}.${name}`,
        column: name,
        message: `The column ${name} is not read: it is the rate of ${name} to itself, because series.base of the mapping is ${name}.`,
      });
      return [];
    }
    const pair = parsePair(name.replace(/[/ .-]/, ''));
    if (pair?.every(isCode)) return [{ column: position, identifier: pair.join(''), unit: null }];
    if (isCode(name)) {
      const base = wide?.base ?? null;
      if (base === null) {
        problems.error({
          code: 'REQUIRED',
          path: `${label}.${name}`,
          message: `${label} has a column ${name}, named by one currency. Set series.base of the mapping to the currency of the other side, and series.quoted to per_base or per_unit.`,
        });
        return [];
      }
      return [
        {
          column: position,
          identifier: wide?.quoted === 'per_unit' ? `${name}${base}` : `${base}${name}`,
          unit: null,
        },
      ];
    }
    if (!isAssetIdentifier(name)) {
      problems.error(describeBadIdentifier(`${label}.${name}`, name));
      return [];
    }
    return [{ column: position, identifier: name, unit: wide?.unit ?? null }];
  });
  const repeated = columns.find(
    ({ identifier }, k) => columns.findIndex((other) => other.identifier === identifier) !== k,
  );
  if (repeated !== undefined)
    problems.error({
      code: 'DUPLICATE_KEY',
      path: `${label}.${written[repeated.column]!}`,
      column: written[repeated.column]!,
      message: `The series ${repeated.identifier} appears in more than one column.`,
    });
  return columns;
}

/** Returns the number of a cell, NaN for an empty cell. For any other content, returns undefined and adds a finding. */
function closeIn(
  cell: Cell | undefined,
  { column, path }: { readonly column: string; readonly path: CellLocation },
  problems: Problems,
): number | undefined {
  const value = readNumber(cell);
  if (value === undefined)
    problems.error({
      code: 'NOT_A_NUMBER',
      path: path(),
      message: `${column} is ${quoteValue(formatWrittenCell(cell))}, which ${explainNotANumber(formatWrittenCell(cell))}.`,
      value: formatWrittenCell(cell),
    });
  return value === undefined ? undefined : value + 0; // + 0 converts a negative zero to 0
}

/**
 * Returns the common attribute of all rows of a series. If a row differs, returns the first value and adds a finding.
 */
function findCommonAttribute<T extends string>(
  earlierValue: T | null,
  come: T | null,
  { what, path }: { readonly what: string; readonly path: CellLocation },
  problems: Problems,
): T | null {
  if (earlierValue !== null && come !== null && earlierValue !== come) {
    problems.error({
      code: 'NOT_IN_CHOICES',
      path: path(),
      message: `${what} is ${quoteValue(come)}; an earlier row has ${quoteValue(earlierValue)}. All rows of a series must have the same value.`,
      accepted: [earlierValue],
      value: come,
    });
  }
  return earlierValue ?? come;
}

function createSeries(identifier: string, { name, currency, unit, closes }: SeriesRows): PriceSeries {
  const days = Int32Array.from(closes.keys()).sort();
  const convert = TO_PERCENT[unit ?? 'percent'];
  return { identifier, name, currency, days, closes: Float64Array.from(days, (day) => convert(closes.get(day)!)) };
}

interface Spell extends Membership {
  readonly path: string;
  readonly row: number;
}

/** Maximum length of the name of a universe, equal to the limit in documents. */
const UNIVERSE_NAME_MAX = 64;

export function createUniverseRows(problems: Problems): CheckedRows<readonly Membership[]> {
  const spells: Spell[] = [];
  let rows = 0;

  function beginFile(label: string, written: readonly string[]) {
    const names = nameFileColumns('universes', label, written, problems);
    if (names === undefined) return undefined;
    let fileRow = 0;

    return (cells: readonly (Cell | undefined)[] | null) => {
      rows += 1;
      fileRow += 1;
      if (cells === null) return;
      const findCell = (name: string) => cells[names.indexOf(name)];
      const formatPath = (name: string) =>
        formatCellPath(label, fileRow, names.includes(name) ? written[names.indexOf(name)]! : name);
      const universe = readText(findCell('universe'));
      const isNamed = universe !== null && universe.length <= UNIVERSE_NAME_MAX;
      if (!isNamed && names.includes('universe')) {
        problems.error({
          code: 'BAD_IDENTIFIER',
          path: formatPath('universe'),
          message: `The universe is ${universe === null ? 'empty' : `${universe.length} characters long`}; it must have 1 to ${UNIVERSE_NAME_MAX} characters.`,
        });
      }
      const identifier = names.includes('identifier')
        ? readIdentifier(findCell('identifier'), () => formatPath('identifier'), problems)
        : undefined;
      const start = readDate(findCell('start'), () => formatPath('start'), problems);
      const end = readDate(findCell('end'), () => formatPath('end'), problems);
      if (start === undefined || end === undefined) return;
      if (start !== null && end !== null && start >= end) {
        problems.error({
          code: 'INVALID_RANGE',
          path: formatPath('end'),
          message: `The membership ends on ${formatDay(end)}; the end must be after the start, ${formatDay(start)}.`,
        });
        return;
      }
      if (!isNamed || identifier === undefined) return;
      spells.push({ universe, identifier, start, end, path: formatPath(''), row: rows });
    };
  }

  function toTable(): readonly Membership[] {
    const sortedSpells = spells.toSorted(compareMemberships);
    sortedSpells.forEach((spell, i) => {
      const previous = sortedSpells[i - 1];
      if (previous?.universe !== spell.universe || previous.identifier !== spell.identifier) return;
      if (previous.end !== null && (spell.start ?? -Infinity) >= previous.end) return;
      const laterSpell = previous.row > spell.row ? previous : spell;
      problems.error({
        code: 'OVERLAPPING_MEMBERSHIP',
        path: laterSpell.path,
        message: `${spell.identifier} is in ${spell.universe} ${formatSpell(previous)} and again ${formatSpell(spell)}.`,
      });
    });
    return sortedSpells.map(({ universe, identifier, start, end }) => ({ universe, identifier, start, end }));
  }

  return {
    beginFile,
    toTable,
    get rows() {
      return rows;
    },
  };
}

/** Compares memberships in their canonical order: universe, identifier, start, end. */
export function compareMemberships(a: Membership, b: Membership): number {
  return (
    compareText(a.universe, b.universe) ||
    compareText(a.identifier, b.identifier) ||
    compareDays(a.start, b.start) ||
    compareDays(a.end, b.end)
  );
}

const compareDays = (a: number | null, b: number | null) => (a === b ? 0 : (a ?? -Infinity) - (b ?? -Infinity));
const formatSpell = ({ start, end }: Membership) =>
  `from ${start === null ? 'the beginning' : formatDay(start)} to ${end === null ? 'the present' : formatDay(end)}`;
