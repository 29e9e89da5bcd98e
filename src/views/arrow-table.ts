import {
  DateDay,
  Field,
  Float64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  type Data,
} from 'apache-arrow';

/** A dated table of numbers. NaN marks a missing value. */
export interface ArrowSource {
  /** Days since 1970-01-01. */
  readonly days: Int32Array;
  readonly columns: readonly { readonly name: string; readonly values: Float64Array }[];
}

/**
 * Encodes a dated table as an Arrow IPC stream. It has a column `date` (date32) and one float64 column per field, with
 * nulls for missing values. The rest of the body is JSON under the key `body` of the schema metadata.
 */
export function encodeArrowTable({ days, columns }: ArrowSource, body: Readonly<Record<string, unknown>>): Uint8Array {
  const schema = new Schema(
    [new Field('date', new DateDay(), false), ...columns.map(({ name }) => new Field(name, new Float64(), true))],
    new Map([['body', JSON.stringify(body)]]),
  );
  const children: Data[] = [
    makeData({ type: new DateDay(), length: days.length, nullCount: 0, data: days }),
    ...columns.map(({ values }) => createDoubles(values)),
  ];
  const batch = new RecordBatch(
    schema,
    makeData({ type: new Struct(schema.fields), length: days.length, nullCount: 0, children }),
  );
  return tableToIPC(new Table(schema, [batch]), 'stream');
}

function createDoubles(values: Float64Array): Data<Float64> {
  const nullBitmap = new Uint8Array(Math.ceil(values.length / 8));
  let nullCount = 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) nullBitmap[i >> 3]! |= 1 << (i & 7);
    else nullCount += 1;
  }
  return makeData({ type: new Float64(), length: values.length, nullCount, nullBitmap, data: values });
}
