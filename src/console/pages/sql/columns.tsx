import type { SqlResult } from '#clients/typescript/divisor.js';
import type { Column } from '../../components/table/model.js';
import { formatMoment } from '../../words/dates.js';
import { formatCount, formatDecimal, formatFigure, MISSING_TEXT } from '../../words/numbers.js';

export type Values = SqlResult['data'][number];
type Value = Values[number];

export interface ResultRow {
  readonly no: number;
  readonly values: Values;
}

/** Maximum number of rows from which the format of a column is determined. */
const SAMPLE_ROWS = 500;

/** Width of a character, padding of a cell, and minimum and maximum width of a column, in pixels. */
const CHARACTER_WIDTH = 7.4;
const CELL_PADDING = 26;
const WIDTH_MIN = 64;
const WIDTH_MAX = 300;

/**
 * Returns the columns of a result. Each is as wide as its content, and its numbers have the same number of decimals.
 */
export function createResultColumns({ columns, data }: SqlResult): readonly Column<ResultRow>[] {
  const sample = data.slice(0, SAMPLE_ROWS);
  return columns.map(({ name, type }, k): Column<ResultRow> => {
    const write = createWriter(
      name,
      sample.map((row) => row[k] ?? null),
    );
    const longest = Math.max(name.length, ...sample.map((row) => write(row[k] ?? null).length));
    return {
      id: `c${k}`,
      title: name,
      width: Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, Math.ceil(longest * CHARACTER_WIDTH) + CELL_PADDING)),
      ...(type === 'number' || type === 'count' ? { align: 'right' as const } : {}),
      value: ({ values }) => values[k] ?? null,
      show: ({ values }) => write(values[k] ?? null),
    };
  });
}

type CellWriter = (value: Value) => string;

const TIMESTAMP = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d/;

/**
 * Returns the function that formats a column. Times are in the time zone of the browser. All numbers of a column have
 * the same number of decimals.
 */
function createWriter(name: string, values: readonly Value[]): CellWriter {
  const knownValues = values.filter((value) => value !== null);
  const numbers = knownValues.filter((value) => typeof value === 'number');
  if (numbers.length === 0) {
    const areTimes = knownValues.length > 0 && knownValues.every((value) => TIMESTAMP.test(String(value)));
    return (value) => (value === null ? MISSING_TEXT : areTimes ? formatTime(String(value)) : String(value));
  }
  const writeNumber = createNumberWriter(name, numbers);
  return (value) => (typeof value === 'number' ? writeNumber(value) : (value ?? MISSING_TEXT));
}

/** Formats a timestamp in the time zone of the browser. A timestamp without a zone counts as UTC. */
const formatTime = (text: string): string => {
  const iso = text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00');
  return formatMoment(/Z|[+-]\d\d:\d\d$/.test(iso) ? iso : `${iso}Z`);
};

/** Returns the function that formats the numbers of a column. They have the same number of decimals. */
export function createNumberWriter(name: string, numbers: readonly number[]): (value: number) => string {
  if (numbers.every((value) => Number.isInteger(value)))
    return /year|month/i.test(name) ? (value) => String(value) : (value) => formatCount(value);
  const largest = Math.max(...numbers.map(Math.abs));
  if (largest >= 1e15 || largest < 1e-4) return (value) => formatFigure(value);
  const digits = Math.min(
    largest >= 1000 ? 2 : largest >= 1 ? 4 : 6,
    Math.max(DIGITS_MIN, ...numbers.map(countDecimals)),
  );
  return (value) => (Number.isInteger(value) && value === 0 ? '0' : formatDecimal(value, digits));
}

/** Minimum number of decimals of numbers that are not whole. */
const DIGITS_MIN = 2;

/** Returns the number of decimals of the shortest decimal number that equals a number. */
const countDecimals = (value: number): number => /\.(\d+)$/.exec(String(value))?.[1]?.length ?? 0;
