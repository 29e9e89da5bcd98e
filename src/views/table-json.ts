import { encodeToken, type JsonWriter } from './json-writer.js';
import { encodeDays } from './series-json.js';

export interface DatedTable {
  readonly days: Int32Array;
  /** Columns with one value per day. */
  readonly columns: readonly { readonly name: string; readonly values: Float64Array }[];
  /** Treatment of numbers that are not finite: they become null, or the table is refused. */
  readonly holes?: 'null' | 'refused';
}

/**
 * Writes a dated table of numbers as a TableFrame.
 * @throws Refusal NUMERIC_FAILURE if a number is not finite and holes are refused
 * @cost 20 ns per number
 */
export function writeDatedTable(json: JsonWriter, { days, columns, holes = 'null' }: DatedTable): void {
  json.raw('{"index":[');
  json.token(encodeDays(days));
  json.raw(`],"columns":${JSON.stringify(columns.map(({ name }) => name))},"data":[`);
  const row = new Float64Array(columns.length);
  for (let i = 0; i < days.length; i++) {
    let isWhole = true;
    for (let c = 0; c < row.length; c++) {
      const value = columns[c]!.values[i]!;
      row[c] = value;
      if (!Number.isFinite(value)) isWhole = false;
    }
    json.token(i === 0 ? FIRST_ROW : NEXT_ROW);
    if (isWhole || holes === 'refused') json.numbers(row);
    else writeHoled(json, row);
  }
  json.raw(days.length === 0 ? ']}' : ']]}');
}

const FIRST_ROW = encodeToken('[');
const NEXT_ROW = encodeToken('],[');
const COMMA = encodeToken(',');
const NULL = encodeToken('null');

function writeHoled(json: JsonWriter, row: Float64Array): void {
  for (let c = 0; c < row.length; c++) {
    if (c > 0) json.token(COMMA);
    if (Number.isFinite(row[c])) json.number(row[c]!);
    else json.token(NULL);
  }
}
