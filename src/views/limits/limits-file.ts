import type { LimitsView } from '#contract/analytics/limits.js';
import { dayFrom } from '#domain/days.js';
import type { ColumnType } from '#domain/exports/export-table.js';
import type { ExportFormat } from '#domain/exports/formats.js';
import { LIMIT_TABLES, type LimitTable } from '#domain/exports/limit-tables.js';
import { NONE, textValues, type NamedColumn, type Values } from '../exports/batch.js';
import { tableFile } from '../exports/table-file.js';

type Row = Readonly<Record<string, string | number | null>>;

/** A table of limits as a file, made whole: its rows are those of the answer. */
export function limitsFile(
  view: Pick<LimitsView, 'index_id' | 'state'> & {
    readonly rows: readonly LimitsView['rows'][number][];
    readonly breaches: readonly LimitsView['breaches'][number][];
  },
  table: LimitTable,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  const { columns } = LIMIT_TABLES[table];
  const rows = ROWS[table](view);
  const named = Object.entries(columns).map(([name, { type }]): NamedColumn => ({
    name,
    type,
    values: VALUES[type](rows.map((row) => row[name] ?? null)),
  }));
  return tableFile(
    { runId: view.index_id, name: table, columns, rows: { columns: named, count: rows.length } },
    format,
  );
}

const ROWS: Readonly<Record<LimitTable, (view: Parameters<typeof limitsFile>[0]) => readonly Row[]>> = {
  state: ({ state: { dates, headroom, nearest, move } }) =>
    dates.map((date, t) => ({ date, headroom: headroom[t]!, nearest: nearest[t]!, move: move[t]! })),
  rows: ({ rows }) =>
    rows.map(({ least, ...row }) => ({
      ...row,
      least_date: least.date,
      least_value: least.value,
      least_limit: least.limit,
    })),
  breaches: ({ breaches }) =>
    breaches.map(({ worst, ...breach }) => ({
      ...breach,
      worst_date: worst.date,
      worst_value: worst.value,
      limit: worst.limit,
    })),
};

type Cells = readonly (string | number | null)[];

const VALUES: Readonly<Record<ColumnType, (cells: Cells) => Values>> = {
  date: (cells) => Int32Array.from(cells, (cell) => (cell === null ? NONE : dayFrom(String(cell)))),
  count: (cells) => Int32Array.from(cells, (cell) => (cell === null ? NONE : Number(cell))),
  number: (cells) => Float64Array.from(cells, (cell) => (cell === null ? Number.NaN : Number(cell))),
  text: (cells) => textValues(cells.map((cell) => (cell === null ? null : String(cell)))),
};
