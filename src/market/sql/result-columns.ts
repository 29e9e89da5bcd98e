import type { DuckDBResult, DuckDBType, DuckDBValue } from '@duckdb/node-api';
import type { ColumnType } from '#domain/exports/export-table.js';
import type { ResultColumn } from './sql-order.js';

/** No day, and no count. NaN is no number. */
const NONE = -0x8000_0000;

const COUNTS = /^(?:U?TINYINT|U?SMALLINT|INTEGER|BOOLEAN)$/;
const NUMBERS = /^(?:U?BIGINT|U?HUGEINT|UINTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)|BIGNUM)$/;

/** A column of a result by the types that files have. */
interface TypedColumn {
  readonly name: string;
  readonly type: ColumnType;
}

/** Columns of a result: names that repeat get a number, and types beyond those of files are text. */
export function resultColumns(result: DuckDBResult): readonly TypedColumn[] {
  const taken = new Set<string>();
  return result.columnNames().map((asked, at) => {
    let name = asked;
    for (let again = 1; taken.has(name); again++) name = `${asked}_${again}`;
    taken.add(name);
    return { name, type: typeOf(result.columnType(at)) };
  });
}

function typeOf(type: DuckDBType): ColumnType {
  const name = String(type);
  if (name === 'DATE') return 'date';
  if (COUNTS.test(name)) return 'count';
  return NUMBERS.test(name) ? 'number' : 'text';
}

/** The first values of a chunk. Infinities are missing, as JSON has none. */
export function valuesOf({ name, type }: TypedColumn, values: readonly DuckDBValue[], count: number): ResultColumn {
  switch (type) {
    case 'date':
    case 'count':
      return { name, type, values: Int32Array.from({ length: count }, (_, row) => wholeOf(values[row]!)) };
    case 'number':
      return { name, type, values: Float64Array.from({ length: count }, (_, row) => numberOf(values[row]!)) };
    case 'text':
      return { name, type, values: textsOf(values, count) };
  }
}

function wholeOf(value: DuckDBValue): number {
  if (value === null) return NONE;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'number' ? value : (value as { readonly days: number }).days; // A date.
}

function numberOf(value: DuckDBValue): number {
  if (value === null) return NaN;
  const number = typeof value === 'object' ? (value as { toDouble(): number }).toDouble() : Number(value); // A decimal, or a plain number.
  return Number.isFinite(number) ? number : NaN;
}

function textsOf(values: readonly DuckDBValue[], count: number) {
  const positions = new Map<string, number>();
  const codes = new Int32Array(count);
  for (let row = 0; row < count; row++) {
    const value = values[row]!;
    if (value === null) {
      codes[row] = -1;
      continue;
    }
    const text = String(value);
    const code = positions.get(text) ?? positions.size;
    if (code === positions.size) positions.set(text, code);
    codes[row] = code;
  }
  return { codes, texts: [...positions.keys()] };
}
