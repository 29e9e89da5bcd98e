import type { Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { PriceSeries, SeriesTable } from '#domain/market/series.js';
import { explainNotANumber, readNumber, readText, formatWrittenCell, type Cell } from '../formats/cells.js';
import { describeBadDay, quoteText, describeRepeatedKey } from '../tables/key-problems.js';
import { SERIES_ROWS_MAX } from './market-limits.js';
import { nameFileColumns } from '../tables/named-columns.js';
import { formatCellPath, type Problems } from '../tables/problems.js';
import { findRatesNotAboveZero } from './rates-not-above-zero.js';
import { readDate, readIdentifier, createNeededReader, type CellLocation, type CheckedRows } from './table-rows.js';

/** Series whose rows are still being read. */
interface SeriesRows {
  name: string | null;
  currency: string | null;
  readonly closes: Map<Day, number>;
}

/**
 * Creates the reader of the dataset `series`. Values may have any sign, because interest rates can be negative. A row
 * without a value is ignored.
 */
export function createSeriesRows(problems: Problems): CheckedRows<SeriesTable> {
  const series = new Map<string, SeriesRows>();
  let rows = 0;

  function beginFile(label: string, written: readonly string[]) {
    const names = nameFileColumns('series', label, written, problems);
    if (names === undefined) return undefined;
    let fileRow = 0;
    const locateColumn = (name: string) => {
      const column = names.indexOf(name);
      return { column, path: () => formatCellPath(label, fileRow, written[column] ?? name) };
    };
    const [identifierAt, dateAt, closeAt, currencyAt, nameAt] = [
      locateColumn('identifier'),
      locateColumn('date'),
      locateColumn('CLOSE'),
      locateColumn('CURRENCY'),
      locateColumn('NAME'),
    ];

    return (cells: readonly (Cell | undefined)[] | null) => {
      rows += 1;
      fileRow += 1;
      if (cells === null) return;
      if (rows === SERIES_ROWS_MAX + 1)
        problems.error({
          code: 'OUT_OF_RANGE',
          path: label,
          message: `The series have more than ${SERIES_ROWS_MAX} rows, the maximum of a store.`,
        });
      if (rows > SERIES_ROWS_MAX) return;
      const readNeeded = createNeededReader(cells, problems);
      const identifier = readNeeded(identifierAt, readIdentifier);
      const day = readNeeded(dateAt, readDate);
      if (day === null) problems.error(describeBadDay(dateAt.path(), written[dateAt.column]!, null));
      const close = readNeeded(closeAt, (cell, path) =>
        closeIn(cell, { column: written[closeAt.column]!, path }, problems),
      );
      if (identifier === undefined || day === null || day === undefined || close === undefined) return;
      const ownSeriesRows = series.get(identifier) ?? { name: null, currency: null, closes: new Map<Day, number>() };
      series.set(identifier, ownSeriesRows);
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
      message: `${column} is ${quoteText(formatWrittenCell(cell))}, which ${explainNotANumber(formatWrittenCell(cell))}.`,
      value: formatWrittenCell(cell),
    });
  return value === undefined ? undefined : value + 0; // + 0 converts a negative zero to 0
}

/**
 * Returns the common attribute of all rows of a series. If a row differs, returns the first value and adds a finding.
 */
function findCommonAttribute(
  earlierValue: string | null,
  come: string | null,
  { what, path }: { readonly what: string; readonly path: CellLocation },
  problems: Problems,
): string | null {
  if (earlierValue !== null && come !== null && earlierValue !== come) {
    problems.error({
      code: 'NOT_IN_CHOICES',
      path: path(),
      message: `${what} is ${quoteText(come)}; an earlier row has ${quoteText(earlierValue)}. All rows of a series must have the same value.`,
      accepted: [earlierValue],
      value: come,
    });
  }
  return earlierValue ?? come;
}

function createSeries(identifier: string, { name, currency, closes }: SeriesRows): PriceSeries {
  const days = Int32Array.from(closes.keys()).sort();
  return { identifier, name, currency, days, closes: Float64Array.from(days, (day) => closes.get(day)!) };
}

/** Reports identifiers that are both securities and series, and exchange rates of 0 or less. */
export function reportSeries(
  identifiers: readonly string[],
  series: SeriesTable | undefined,
  problems: Problems,
): void {
  if (series === undefined) return;
  for (const identifier of identifiers) {
    if (series.has(identifier))
      problems.error({
        code: 'DUPLICATE_KEY',
        path: `series[${identifier}]`,
        message: `${identifier} is in market and in series; an identifier must be in only one of them.`,
        value: identifier,
      });
  }
  for (const { identifier, first, count } of findRatesNotAboveZero(series)) {
    problems.warning({
      code: 'OUT_OF_RANGE',
      path: `series[${identifier}]`,
      message: `The exchange rate ${identifier} is ${first.value} on ${first.date}${count > 1 ? ` and 0 or less on ${count - 1} more days` : ''}. Computations that need it on such a day are refused.`,
      value: first.value,
    });
  }
}
