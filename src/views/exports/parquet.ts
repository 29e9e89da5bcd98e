import type { ParquetColumn } from '#base/parquet/columns.js';
import { encodeChunk, encodeFooter, createGroupEntry, MAGIC, type ColumnShape } from '#base/parquet/file.js';
import { encodeStruct } from '#base/parquet/thrift-compact.js';
import type { ColumnType, ExportColumn } from '#domain/exports/export-table.js';
import type { WrittenRowGroups } from '#domain/exports/formats.js';
import { MISSING_INTEGER, type NamedColumn, type TextValues, type ColumnValues } from './batch.js';
import type { PartInput, PartWriter } from './part.js';

const NO_GROUPS: WrittenRowGroups = { fileBytes: 0, count: 0, bytes: new Uint8Array(0) };

/**
 * Approximate size of a written value in bytes. Dates and texts are small, because they are written as positions in a
 * list.
 */
const WIDTHS: Readonly<Record<ColumnType, number>> = { date: 1, text: 2, count: 4, number: 8 };

const PARQUET_KINDS = {
  date: 'coded-day',
  text: 'coded-text',
  count: 'integer',
  number: 'double',
} as const satisfies Record<ColumnType, ParquetColumn['kind']>;

interface BufferedBatch {
  readonly columns: readonly NamedColumn[];
  readonly count: number;
}

/**
 * Creates a writer of a Parquet file. Its columns are dates, UTF-8 texts, doubles and 32-bit integers and can contain
 * nulls. The file metadata contains the unit and meaning of each column. Each part is a row group. The position of the
 * next part contains the locations of the row groups, which the footer needs.
 */
export function createParquetWriter({ runId, table, columns, from, sink }: PartInput): PartWriter {
  const previousGroups = from.groups ?? NO_GROUPS;
  const bufferedBatches: BufferedBatch[] = [];
  const rowBytes = Object.values(columns).reduce((sum, { type }) => sum + WIDTHS[type], 0);
  let rows = 0;
  let { fileBytes } = previousGroups;
  const add = (bytes: Uint8Array): void => {
    sink.append(bytes);
    fileBytes += bytes.length;
  };
  function addGroup(): WrittenRowGroups {
    if (rows === 0) return { ...previousGroups, fileBytes };
    const chunks = joinBatches(bufferedBatches, rows).map((column) => {
      const chunk = encodeChunk(column, rows, fileBytes);
      for (const piece of chunk.pieces) add(piece);
      return { ...chunk, pieces: [] };
    });
    const entry = encodeStruct(createGroupEntry(chunks, rows));
    const bytes = new Uint8Array(previousGroups.bytes.length + entry.length);
    bytes.set(previousGroups.bytes);
    bytes.set(entry, previousGroups.bytes.length);
    return { fileBytes, count: previousGroups.count + 1, bytes };
  }
  return {
    rows(namedColumns, count) {
      rows += count;
      bufferedBatches.push({
        columns: namedColumns.map((column) => ({ ...column, values: copyValues(column.values) })),
        count,
      });
    },
    length: () => rows * rowBytes,
    end(isLast) {
      if (fileBytes === 0) add(MAGIC);
      const groups = addGroup();
      if (isLast)
        add(
          encodeFooter({
            columns: Object.entries(columns).map(createShape),
            rows: from.rows + rows,
            groups,
            metadata: listMetadata({ runId, table }, columns),
          }),
        );
      return { ...groups, fileBytes };
    },
  };
}

const createShape = ([name, { type }]: readonly [string, ExportColumn]): ColumnShape => ({
  name,
  kind: PARQUET_KINDS[type],
  isOptional: true,
});

function listMetadata(
  { runId, table }: Pick<PartInput, 'runId' | 'table'>,
  columns: Readonly<Record<string, ExportColumn>>,
): (readonly [string, string])[] {
  const columnMetadata = Object.entries(columns).flatMap(([name, { unit, meaning }]) => [
    ...(unit === null ? [] : [[`${name}.unit`, unit] as const]),
    [`${name}.meaning`, meaning] as const,
  ]);
  return [['index_id', runId], ['table', table], ...columnMetadata];
}

/** Copies values that must outlive their batch. */
function copyValues(values: ColumnValues): ColumnValues {
  return 'codes' in values ? { codes: values.codes.slice(), texts: values.texts } : values.slice();
}

/** Concatenates the columns of all batches. */
function joinBatches(batches: readonly BufferedBatch[], rows: number): ParquetColumn[] {
  return batches[0]!.columns.map(({ name, type }, c): ParquetColumn => {
    const values = batches.map(({ columns, count }) => [columns[c]!.values, count] as const);
    // The type of a column determines the type of its values.
    switch (type) {
      case 'number':
        return {
          name,
          kind: 'double',
          values: concatenate(new Float64Array(rows), values as CountedRows<Float64Array>[]),
        };
      case 'count':
        return {
          name,
          kind: 'integer',
          values: concatenate(new Int32Array(rows), values as CountedRows<Int32Array>[]),
          none: MISSING_INTEGER,
        };
      case 'date':
        return encodeDays(name, concatenate(new Int32Array(rows), values as CountedRows<Int32Array>[]));
      case 'text':
        return encodeTexts(name, rows, values as CountedRows<TextValues>[]);
    }
  });
}

type CountedRows<V> = readonly [values: V, count: number];

function concatenate<A extends Float64Array | Int32Array>(target: A, parts: readonly CountedRows<A>[]): A {
  let offset = 0;
  for (const [values, count] of parts) {
    target.set(values.subarray(0, count), offset);
    offset += count;
  }
  return target;
}

/** Encodes days as positions in a list. Rows are sorted by date, so a day is looked up only when it changes. */
function encodeDays(name: string, values: Int32Array): ParquetColumn {
  const positions = new Map<number, number>();
  const codes = new Int32Array(values.length);
  let last = MISSING_INTEGER;
  let code = -1;
  for (let row = 0; row < values.length; row++) {
    const day = values[row]!;
    if (day !== last) {
      last = day;
      code = day === MISSING_INTEGER ? -1 : (positions.get(day) ?? positions.size);
      if (code === positions.size) positions.set(day, code);
    }
    codes[row] = code;
  }
  return { name, kind: 'coded-day', codes, days: Int32Array.from(positions.keys()), isOptional: true };
}

/** Encodes texts as positions in a list of the texts that occur in the rows. */
function encodeTexts(name: string, rows: number, parts: readonly CountedRows<TextValues>[]): ParquetColumn {
  const texts: string[] = [];
  const codes = new Int32Array(rows);
  let lastTexts: readonly string[] | undefined;
  let newCodes = new Int32Array(0);
  let offset = 0;
  for (const [{ codes: partCodes, texts: list }, count] of parts) {
    if (list !== lastTexts) {
      lastTexts = list;
      newCodes = new Int32Array(list.length).fill(-1);
    }
    for (let row = 0; row < count; row++) {
      const partCode = partCodes[row]!;
      if (partCode >= 0 && newCodes[partCode] === -1) newCodes[partCode] = texts.push(list[partCode]!) - 1;
      codes[offset++] = partCode < 0 ? -1 : newCodes[partCode]!;
    }
  }
  return { name, kind: 'coded-text', codes, texts, isOptional: true };
}
