import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { exportPart } from '#views/exports/tables.js';

export function exportEvents(columns: RunColumns): Record<string, unknown>[] {
  const pieces: Uint8Array[] = [];
  exportPart({
    columns,
    table: 'events',
    format: 'json',
    bytes: Infinity,
    from: { at: 0, rows: 0 },
    sink: { append: (piece) => void pieces.push(piece.slice()) },
    window: { start: null, end: null },
    market: null,
    tick: () => {},
  });
  const { columns: names, data } = JSON.parse(Buffer.concat(pieces).toString()) as {
    readonly columns: readonly string[];
    readonly data: readonly (readonly unknown[])[];
  };
  return data.map((row) => Object.fromEntries(row.map((cell, i) => [names[i]!, cell])));
}
