import { LIMITS } from '../../refusals/limits.js';
import type { ModelProblems, ModelTableName } from './import-terms.js';

/** Cell of a table: row, column and value, with the position in the source. */
export interface ModelCell {
  readonly row: number;
  readonly column: number;
  readonly value: number;
  readonly place: number;
}

/** Cells of one model table, as read. */
export interface ModelTable {
  /** Path of the table in messages. */
  readonly path: string;
  /** Positions of row and column names, in the order of occurrence. */
  readonly rows: ReadonlyMap<string, number>;
  readonly columns: ReadonlyMap<string, number>;
  add(cell: { readonly row: string; readonly column: string; readonly value: number; readonly place: number }): void;
  each(visit: (cell: ModelCell) => void): void;
  /** Returns the path of a source position for messages. */
  pathOf(place: number): string;
}

/** Tables of the model of one date. */
export interface DatedTables {
  readonly date: string;
  /** Path of the date in messages. */
  readonly path: string;
  readonly tables: Readonly<Partial<Record<ModelTableName, ModelTable>>>;
}

interface TablePlacement {
  readonly date: string;
  /** Paths of the date and of the table in messages. */
  readonly path: string;
  readonly table: string;
  readonly pathOf: (place: number) => string;
}

/** Collection of model tables by date. */
export interface ModelTables {
  /** Returns a table of the last date or of a new, later date. Returns undefined if the date is a problem. */
  tableOf(name: ModelTableName, placement: TablePlacement): ModelTable | undefined;
  readonly dates: readonly DatedTables[];
}

export function createModelTables(problems: ModelProblems): ModelTables {
  const dates: (DatedTables & { readonly tables: Partial<Record<ModelTableName, ModelTable>> })[] = [];
  const refusals = new Set<string>();

  /** Reports a problem, at most once for each date. */
  function refuseDate(code: 'BAD_DATE' | 'OUT_OF_RANGE', { date, path }: TablePlacement, message: string): undefined {
    if (!refusals.has(date)) problems.error({ code, path, message, value: date });
    refusals.add(date);
  }

  return {
    dates,
    tableOf(name, tablePlacement) {
      const { date, path, table, pathOf } = tablePlacement;
      const last = dates.at(-1);
      if (last !== undefined && date < last.date)
        return refuseDate(
          'BAD_DATE',
          tablePlacement,
          `The date ${date} comes after ${last.date}; dates must be ascending.`,
        );
      if (last?.date !== date) {
        if (dates.length === LIMITS.MAX_MODEL_DATES)
          return refuseDate(
            'OUT_OF_RANGE',
            tablePlacement,
            `The maximum is ${LIMITS.MAX_MODEL_DATES} dates; ${date} exceeds it.`,
          );
        dates.push({ date, path, tables: {} });
      }
      return (dates.at(-1)!.tables[name] ??= createTable(table, pathOf));
    },
  };
}

/** Initial capacity of a table in cells. */
const INITIAL_CELLS = 1024;

/** Number of integers per cell: row, column and position. */
const CELL_INTEGERS = 3;

function createTable(path: string, pathOf: (place: number) => string): ModelTable {
  const rows = new Map<string, number>();
  const columns = new Map<string, number>();
  let integers = new Int32Array(CELL_INTEGERS * INITIAL_CELLS);
  let values = new Float64Array(INITIAL_CELLS);
  let cells = 0;
  return {
    path,
    pathOf,
    rows,
    columns,
    add({ row, column, value, place }) {
      if (cells === values.length) {
        const [earlier, numbers] = [integers, values];
        integers = new Int32Array(2 * earlier.length);
        integers.set(earlier);
        values = new Float64Array(2 * numbers.length);
        values.set(numbers);
      }
      integers.set([addName(rows, row), addName(columns, column), place], CELL_INTEGERS * cells);
      values[cells++] = value;
    },
    each(visit) {
      for (let k = 0, position = 0; k < cells; k++, position += CELL_INTEGERS)
        visit({
          row: integers[position]!,
          column: integers[position + 1]!,
          place: integers[position + 2]!,
          value: values[k]!,
        });
    },
  };
}

function addName(names: Map<string, number>, name: string): number {
  const position = names.get(name) ?? names.size;
  if (position === names.size) names.set(name, position);
  return position;
}
