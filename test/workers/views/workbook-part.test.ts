import { expect, test } from 'vitest';
import { openColumns } from '#domain/backtest/run-file/columns.js';
import type { ExportPosition } from '#domain/outputs/exports.js';
import { writeWorkbookPart } from '#workers/views/export-part.js';
import { sampleRun } from '../../views/report/sample-run.js';

const sample = sampleRun({ names: 30, start: '2018-01-01', end: '2021-06-30', costs: 10 });
const open = () => ({ columns: openColumns((from, to) => sample.columns.subarray(from, to)), market: null });

/** Returns a workbook in parts. Each part is requested with an id from `formatId`. */
async function readParts(formatId: (part: number) => string): Promise<Buffer[]> {
  const results: Buffer[] = [];
  let from: ExportPosition | null = { at: 0, rows: 0 };
  while (from !== null) {
    const pieces: Uint8Array[] = [];
    from = await writeWorkbookPart({
      exportId: formatId(results.length),
      open,
      from,
      table: 'weights',
      window: { start: null, end: null },
      sink: { append: (piece) => void pieces.push(piece.slice()) },
      tick: () => {},
    });
    results.push(Buffer.concat(pieces));
  }
  return results;
}

test('a workbook that a thread has lost continues with the byte after the last part', async () => {
  const wholeParts = await readParts(() => 'kept');
  expect(wholeParts.length).toBeGreaterThan(2);
  const lostParts = await readParts((part) => `lost ${part}`);
  expect(Buffer.concat(lostParts).equals(Buffer.concat(wholeParts))).toBe(true);
});
