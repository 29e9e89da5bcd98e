import type { Mapping } from '#domain/documents/mapping.js';
import { suggestName } from '#base/text/nearest-name.js';
import type { Cell } from '../formats/cells.js';
import type { RowSink } from '../sources/content-rows.js';
import type { TableKind } from '../tables/table-kinds.js';
import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import { isMarketTable } from '../mapping/market-tables.js';
import { formatCellPath, type Problems } from '../tables/problems.js';

/** Table in JSON. If row labels are present in `index`, only their number is read. */
export interface Frame {
  readonly index?: readonly unknown[];
  readonly columns: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

/** Reads inline tables row by row. Reports unknown tables, and rows with a wrong number of cells. */
export function readFrames(
  tables: Readonly<Record<string, Frame>>,
  mapping: Mapping | null,
  problems: Problems,
  beginFile: (tableKind: TableKind, name: string, columns: readonly string[]) => RowSink,
): void {
  const mappedColumns: string[] = [];
  for (const name of Object.keys(tables)) {
    if ((TABLE_KINDS as readonly string[]).includes(name)) continue;
    if (mapping !== null && isMarketTable(mapping, name)) {
      mappedColumns.push(name);
      continue;
    }
    problems.error({
      code: 'UNKNOWN_FIELD',
      path: `tables.${name}`,
      message: `${name.slice(0, 80)} is not a table of a store; the accepted set is ${TABLE_KINDS.join(', ')}.${suggestName(name, TABLE_KINDS)}`,
      accepted: TABLE_KINDS,
    });
  }
  const presentTables = TABLE_KINDS.filter((tableKind) => Object.hasOwn(tables, tableKind));
  if (!presentTables.includes('market') && mappedColumns.length === 0)
    problems.error({
      code: 'EMPTY_DATASET',
      path: 'market',
      message: 'The table market is missing; it is required.',
    });
  for (const name of [...mappedColumns, ...presentTables]) {
    const tableKind = presentTables.find((each) => each === name) ?? 'market';
    const frame = tables[name]!;
    const { index = [] } = frame;
    if (index.length > 0 && index.length !== frame.data.length)
      problems.error({
        code: 'UNREADABLE_FILE',
        path: name,
        message: `The index of the table has ${countText(index.length)}, its data ${countText(frame.data.length)}; each row has one label.`,
      });
    const addRow = beginFile(tableKind, name, frame.columns);
    if (addRow !== undefined)
      frame.data.forEach((row, i) =>
        addFrameRow(row, i + 1, { name, columns: frame.columns.length, addRow, problems }),
      );
  }
}

const countText = (rows: number) => `${rows} ${rows === 1 ? 'row' : 'rows'}`;

interface Row {
  readonly name: string;
  readonly columns: number;
  readonly addRow: Exclude<RowSink, undefined>;
  readonly problems: Problems;
}

function addFrameRow(row: readonly unknown[], number: number, { name, columns, addRow, problems }: Row): void {
  if (row.length !== columns) {
    problems.error({
      code: 'UNREADABLE_FILE',
      path: formatCellPath(name, number, ''),
      message: `The row has ${row.length} cells; there are ${columns} columns.`,
    });
  }
  addRow(Array.from({ length: columns }, (_, i) => toCell(row[i])));
}

/**
 * Converts a JSON value to a cell. An array or object becomes its JSON text, which the reader of the column
 * rejects as a value.
 */
function toCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return JSON.stringify(value);
}
