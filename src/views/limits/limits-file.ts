import type { LimitsView } from '#contract/analytics/limits.js';
import type { ExportFormat } from '#domain/exports/formats.js';
import { LIMIT_TABLES, type LimitTable } from '#domain/exports/limit-tables.js';
import { createRowTableFile, type TableCells } from '../exports/row-table.js';

/** Returns a table of limits as a complete file, with the rows of the response. */
export function createLimitsFile(
  view: Pick<LimitsView, 'index_id' | 'state'> & {
    readonly rows: readonly LimitsView['rows'][number][];
    readonly breaches: readonly LimitsView['breaches'][number][];
  },
  table: LimitTable,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> {
  const { columns } = LIMIT_TABLES[table];
  return createRowTableFile({ runId: view.index_id, name: table, columns, rows: ROWS[table](view) }, format);
}

const ROWS: Readonly<Record<LimitTable, (view: Parameters<typeof createLimitsFile>[0]) => readonly TableCells[]>> = {
  state: ({ state: { dates, headroom, nearest, move } }) =>
    dates.map((date, t) => ({ date, headroom: headroom[t]!, nearest: nearest[t]!, move: move[t]! })),
  rows: ({ rows }) =>
    rows.map(({ row, side, unit, breached_sessions, least }) => ({
      row,
      side,
      unit,
      breached_sessions,
      least_date: least.date,
      least_value: least.value,
      least_limit: least.limit,
    })),
  breaches: ({ breaches }) =>
    breaches.map(({ worst, issuers: _issuers, ...breach }) => ({
      ...breach,
      worst_date: worst.date,
      worst_value: worst.value,
      limit: worst.limit,
    })),
};
