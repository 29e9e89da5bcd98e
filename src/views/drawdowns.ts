import type { DrawdownsView } from '#contract/analytics/run-views.js';
import { computeDrawdown } from '#domain/analytics/returns.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { formatDay } from '#domain/base/time.js';
import type { ExportFormat } from '#domain/outputs/export-table.js';
import { DRAWDOWNS } from '#domain/outputs/exports.js';
import { createRowTableFile } from './exports/files.js';
import { createSpan } from './run-window.js';

type Drawdown = DrawdownsView['drawdowns'][number];

/** Returns the drawdowns of the level of a run in a window, each from its peak to its recovery. */
export function createDrawdownsView(
  columns: RunColumns,
  window: { readonly start: string | null; readonly end: string | null },
): DrawdownsView {
  const { from, to } = createSpan(columns.i32('days'), window);
  const days = columns.i32('days').subarray(from, to);
  const depths = computeDrawdown(columns.f64('level').subarray(from, to));
  const drawdowns: Drawdown[] = [];
  let open: { peak: number; trough: number } | undefined;
  const end = (session: number | null) => {
    if (open === undefined) return;
    const [peak, trough] = [formatDay(days[open.peak]!), formatDay(days[open.trough]!)];
    drawdowns.push({
      peak,
      trough,
      recovered: session === null ? null : formatDay(days[session]!),
      depth: depths[open.trough]!,
    });
    open = undefined;
  };
  for (const [t, depth] of depths.entries()) {
    if (depth === 0) end(t);
    else if (open === undefined) open = { peak: t - 1, trough: t };
    else if (depth < depths[open.trough]!) open.trough = t;
  }
  end(null);
  return { index_id: columns.header.run_id, drawdowns };
}

/** Returns the drawdowns as a file. */
export const createDrawdownsFile = (
  { index_id: runId, drawdowns }: DrawdownsView,
  format: Exclude<ExportFormat, 'json'>,
): Promise<Uint8Array> =>
  createRowTableFile({ runId, name: 'drawdowns', columns: DRAWDOWNS.columns, rows: drawdowns }, format);
