import { writeXlsxStream } from 'hucre/xlsx';
import { parseValidDay } from '#domain/base/time.js';
import type { ColumnType, ExportColumn, ExportFormat, ExportTableName } from '#domain/outputs/exports.js';
import {
  type ColumnValues,
  type ExportSource,
  MISSING_INTEGER,
  type NamedColumn,
  type TextValues,
  toTextValues,
} from '../formats/batch.js';
import { PART_WRITERS } from '../formats/columnar.js';
import { listTableColumns, readTableRows } from './tables.js';

/** Maximum number of rows of an Excel sheet, including its header. */
const SHEET_ROWS_MAX = 1_048_576;

export interface WorkbookInput extends ExportSource {
  readonly table: ExportTableName;
  /** Maximum number of rows per sheet, including the header. Default: the limit of Excel. */
  readonly sheetRows?: number;
  /** Called between batches; throws to stop the workbook. */
  readonly tick: () => void;
}

/**
 * Writes a table as an Excel workbook with a frozen header. If there are too many rows, several sheets have the same
 * header. A text is always a text cell. Rows are read when they are needed, and equal rows give equal bytes.
 * @cost about 8 us per row of four cells
 */
export function createWorkbookStream(input: WorkbookInput): ReadableStream<Uint8Array> {
  const { table, sheetRows } = input;
  return createWorkbook({
    name: table,
    columns: listTableColumns(table, input),
    batches: listBatches(input),
    sheetRows,
  });
}

function* listBatches({ table, tick, ...source }: WorkbookInput): Iterable<NamedBatch> {
  for (const batch of readTableRows(table, source, 0)) {
    tick();
    yield batch;
  }
}

/** Rows of a batch, with the name and type of each column. */
interface NamedBatch {
  readonly columns: readonly NamedColumn[];
  readonly count: number;
}

interface SheetInput {
  readonly name: string;
  readonly columns: Readonly<Record<string, ExportColumn>>;
  readonly batches: Iterable<NamedBatch>;
  /** Maximum number of rows per sheet, including the header. Default: the limit of Excel. */
  readonly sheetRows?: number | undefined;
}

function createWorkbook({
  name,
  columns,
  batches,
  sheetRows = SHEET_ROWS_MAX,
}: SheetInput): ReadableStream<Uint8Array> {
  const headers = Object.entries(columns).map(([header, { type }]) =>
    type === 'date' ? { header, numFmt: 'yyyy-mm-dd', width: 12 } : { header },
  );
  return writeXlsxStream(listRows(batches), {
    name,
    columns: headers,
    freezePane: { rows: 1 },
    maxRowsPerSheet: sheetRows,
  });
}

type Cell = Date | string | number | null;

function* listRows(batches: Iterable<NamedBatch>): Iterable<Cell[]> {
  for (const { columns, count } of batches) {
    const cells = columns.map(createCellReader);
    for (let row = 0; row < count; row++) yield cells.map((cell) => cell(row));
  }
}

const DAY_MS = 86_400_000;

function createCellReader({ type, values }: NamedColumn): (row: number) => Cell {
  // The type of a column determines the type of its values.
  switch (type) {
    case 'text': {
      const { codes, texts } = values as TextValues;
      return (row) => (codes[row]! < 0 ? null : formatCell(texts[codes[row]!]!));
    }
    case 'date': {
      const days = values as Int32Array;
      return (row) => (days[row] === MISSING_INTEGER ? null : new Date(days[row]! * DAY_MS));
    }
    default: {
      const numbers = values as Float64Array | Int32Array;
      const missingValue = numbers instanceof Int32Array ? MISSING_INTEGER : NaN;
      return (row) => (numbers[row] === missingValue || Number.isNaN(numbers[row]) ? null : numbers[row]!);
    }
  }
}

const CELL_CHARACTERS_MAX = 32_767;

/**
 * Escapes text such as `_x0041_`, which Excel would read as a character code. The library hucre 1.0.0 escapes only
 * codes that it writes itself.
 */
function formatCell(text: string): string {
  return text.slice(0, CELL_CHARACTERS_MAX).replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_');
}

interface WholeTable {
  /** Id of the index or run of the table. */
  readonly runId: string;
  readonly name: string;
  readonly columns: Readonly<Record<string, ExportColumn>>;
  readonly rows: { readonly columns: readonly NamedColumn[]; readonly count: number };
}

/** Writes a table as a file with the same bytes as an export. */
export async function createTableFile(
  { runId, name, columns, rows }: WholeTable,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  if (format === 'xlsx') {
    const stream = createWorkbook({ name, columns, batches: [rows] });
    return new Uint8Array(await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
  }
  const chunks: Uint8Array[] = [];
  const writer = PART_WRITERS[format]({
    runId,
    table: name,
    columns,
    from: { at: 0, rows: 0 },
    sink: { append: (chunk) => void chunks.push(chunk.slice()) },
  });
  writer.rows(rows.columns, rows.count);
  writer.end(true);
  return Buffer.concat(chunks);
}

/** Cells of a row by column. A missing cell is null. */
export type TableCells = Readonly<Record<string, string | number | null>>;

interface RowTable {
  /** Id of the index or run of the table. */
  readonly runId: string;
  readonly name: string;
  readonly columns: Readonly<Record<string, ExportColumn>>;
  readonly rows: readonly TableCells[];
}

/** Returns the rows of a response as a complete file. */
export function createRowTableFile(
  { runId, name, columns, rows }: RowTable,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  const namedColumns = Object.entries(columns).map(([column, { type }]): NamedColumn => ({
    name: column,
    type,
    values: VALUES[type](rows.map((row) => row[column] ?? null)),
  }));
  return createTableFile({ runId, name, columns, rows: { columns: namedColumns, count: rows.length } }, format);
}

type Cells = readonly (string | number | null)[];

const VALUES: Readonly<Record<ColumnType, (cells: Cells) => ColumnValues>> = {
  date: (cells) => Int32Array.from(cells, (cell) => (cell === null ? MISSING_INTEGER : parseValidDay(String(cell)))),
  count: (cells) => Int32Array.from(cells, (cell) => (cell === null ? MISSING_INTEGER : Number(cell))),
  number: (cells) => Float64Array.from(cells, (cell) => (cell === null ? Number.NaN : Number(cell))),
  text: (cells) => toTextValues(cells.map((cell) => (cell === null ? null : String(cell)))),
};
