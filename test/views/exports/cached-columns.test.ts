import { expect, test } from 'vitest';
import { openColumns } from '#domain/backtest/run-file/columns.js';
import type { ExportTableName, RowFormat } from '#domain/outputs/exports.js';
import { createFigures, type DatedFigures, type FigureCache } from '#views/dated-figures.js';
import { exportPart } from '#views/exports/tables.js';
import { sampleRun } from '../report/sample-run.js';

const sample = sampleRun({ names: 30, start: '2021-01-01', end: '2022-12-30', cap: 0.08, costs: 10 });
let bytesRead = 0;
const open = () =>
  openColumns((from, to) => {
    bytesRead += to - from;
    return sample.columns.subarray(from, to);
  });

interface ExportRequest {
  readonly table: ExportTableName;
  readonly format: RowFormat;
  readonly start: string | null;
}

/** Opens a run and exports a table of it. Counts the bytes of the run that were read. */
function exportAndCount({ table, format, start }: ExportRequest, keep?: FigureCache) {
  const pieces: Uint8Array[] = [];
  bytesRead = 0;
  const input = {
    columns: open(),
    table,
    format,
    from: { at: 0, rows: 0 },
    window: { start, end: null },
    market: null,
  };
  const sink = { append: (piece: Uint8Array) => void pieces.push(piece.slice()) };
  exportPart({ ...input, sink, keep: keep && (() => keep), tick: () => {} });
  return { bytes: Buffer.concat(pieces), read: bytesRead };
}

test.each(['attribution', 'events'] as const)(
  'figures of %s are cached by window: another format has the bytes of an uncached one, and reads no weights again',
  (table) => {
    const keptFigures = new Map<string, DatedFigures>();
    const cacheFigures: FigureCache = (what, size) => {
      const key = JSON.stringify(what);
      const figures = keptFigures.get(key) ?? createFigures(size);
      keptFigures.set(key, figures);
      return figures;
    };
    for (const start of [null, '2022-01-01', '2022-12-01']) {
      const first = exportAndCount({ table, format: 'csv', start }, cacheFigures);
      expect(first.bytes).toEqual(exportAndCount({ table, format: 'csv', start }).bytes);
      for (const format of ['csv', 'arrow', 'json'] as const) {
        const ownExport = exportAndCount({ table, format, start });
        const secondExport = exportAndCount({ table, format, start }, cacheFigures);
        expect(secondExport.bytes).toEqual(ownExport.bytes);
        expect(secondExport.read).toBeLessThan(ownExport.read);
      }
    }
    // If cache entries disappear between two exports, they are computed again.
    for (const key of keptFigures.keys()) if (!key.includes('"rows"')) keptFigures.delete(key);
    const request = { table, format: 'csv', start: null } as const;
    expect(exportAndCount(request, cacheFigures).bytes).toEqual(exportAndCount(request).bytes);
  },
);
