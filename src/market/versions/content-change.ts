import { decodeUtf8 } from '#base/text/utf8.js';
import type { MarketContent } from '../content/market-content.js';
import { listChange, findPositions, type ListChange } from './list-change.js';
import { TABLE_NAMES, encodeTables, type TableTexts } from './table-texts.js';

/** Change from a later content back to an earlier content. */
export interface ContentChange {
  readonly dates: ListChange<number>;
  readonly identifiers: ListChange<string>;
  readonly fields: readonly FieldChange[];
  readonly tables: { readonly [K in keyof TableTexts]: ListChange<string> };
}

/** Cells of a panel that differ, by their position in the reconstructed content. */
export interface FieldChange {
  readonly name: string;
  readonly rows: Int32Array;
  readonly columns: Int32Array;
  readonly values: Float64Array;
}

/**
 * Returns the change from `after` back to `before`.
 * @cost one pass over panels that do not share memory, a few microseconds per row of the tables
 */
export function computeContentChange(before: MarketContent, after: MarketContent): ContentChange {
  const dates = listChange([...before.dates], [...after.dates]);
  const identifiers = listChange(before.identifiers, after.identifiers);
  const cellPositions = {
    rows: findPositions(dates),
    columns: findPositions(identifiers),
    width: after.identifiers.length,
  };
  const fields = [...before.fields].map(([name, values]) =>
    computeFieldChange({ name, values, after: after.fields.get(name) }, cellPositions),
  );
  const [were, are] = [encodeTables(before), encodeTables(after)];
  const tables = Object.fromEntries(
    TABLE_NAMES.map((table) => [table, listChange(were[table], are[table])]),
  ) as unknown as ContentChange['tables']; // one change per table
  return { dates, identifiers, fields, tables };
}

interface CellPositions {
  readonly rows: Int32Array;
  readonly columns: Int32Array;
  /** Number of columns of the later content. */
  readonly width: number;
}

interface ComparedField {
  readonly name: string;
  readonly values: Float64Array;
  readonly after: Float64Array | undefined;
}

function computeFieldChange(
  { name, values, after }: ComparedField,
  { rows, columns, width }: CellPositions,
): FieldChange {
  const result: { rows: number[]; columns: number[]; values: number[] } = { rows: [], columns: [], values: [] };
  const count = columns.length;
  const isSameAxis = count === width && columns.every((place, i) => place === i);
  const isShared = after !== undefined && after.buffer === values.buffer && isSameAxis && rows.every((p, i) => p === i);
  for (let row = 0; row < (isShared ? 0 : rows.length); row++) {
    const from = rows[row]! * width;
    for (let column = 0; column < count; column++) {
      const value = values[row * count + column]!;
      const isHeld = after !== undefined && from >= 0 && columns[column]! >= 0;
      const newValue = isHeld ? after[from + columns[column]!]! : Number.NaN;
      if (Object.is(value, newValue)) continue;
      result.rows.push(row);
      result.columns.push(column);
      result.values.push(value);
    }
  }
  return {
    name,
    rows: Int32Array.from(result.rows),
    columns: Int32Array.from(result.columns),
    values: Float64Array.from(result.values),
  };
}

/** Version of the encoding. */
const FORMAT = 1;

interface Header extends Omit<ContentChange, 'fields'> {
  readonly format: typeof FORMAT;
  readonly fields: readonly { readonly name: string; readonly cells: number }[];
}

/** Encodes a change as bytes: the length of a header, the header as JSON, the cells of each field. */
export function packChange({ dates, identifiers, tables, fields }: ContentChange): Uint8Array<ArrayBuffer> {
  const header: Header = {
    format: FORMAT,
    dates,
    identifiers,
    tables,
    fields: fields.map(({ name, values }) => ({ name, cells: values.length })),
  };
  const textBytes = new TextEncoder().encode(JSON.stringify(header));
  const cells = fields.flatMap(({ rows, columns, values }) =>
    [rows, columns, values].map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength)),
  );
  const bytes = new Uint8Array(cells.reduce((sum, { length }) => sum + length, LENGTH_BYTES + textBytes.length));
  new DataView(bytes.buffer).setUint32(0, textBytes.length, true);
  bytes.set(textBytes, LENGTH_BYTES);
  let offset = LENGTH_BYTES + textBytes.length;
  for (const part of cells) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** Size of the length of the header, in bytes. */
const LENGTH_BYTES = 4;

/** Decodes a change. @throws Error if the bytes are not a change */
export function unpackChange(raw: Uint8Array): ContentChange {
  const length = new DataView(raw.buffer, raw.byteOffset).getUint32(0, true);
  const text = decodeUtf8(raw.slice(LENGTH_BYTES, LENGTH_BYTES + length));
  const { fields, ...rest } = JSON.parse(text) as Header; // written by `packChange`
  let offset = LENGTH_BYTES + length;
  const takeBytes = (byteLength: number): ArrayBuffer => {
    const slice = Uint8Array.prototype.slice.call(raw, offset, offset + byteLength);
    offset += byteLength;
    return slice.buffer as ArrayBuffer; // the copy has a separate buffer
  };
  return {
    ...rest,
    fields: fields.map(({ name, cells }) => ({
      name,
      rows: new Int32Array(takeBytes(4 * cells)),
      columns: new Int32Array(takeBytes(4 * cells)),
      values: new Float64Array(takeBytes(8 * cells)),
    })),
  };
}
