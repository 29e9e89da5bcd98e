import type { ExportPosition } from '#domain/exports/formats.js';
import { LIMITS } from '#domain/refusals/limits.js';
import type { ByteSink } from '#views/exports/part.js';
import { createWorkbookStream, type WorkbookInput } from '#views/exports/workbook.js';

export interface WorkbookPartInput extends Pick<WorkbookInput, 'table' | 'window' | 'by' | 'tick'> {
  readonly exportId: string;
  readonly open: () => Pick<WorkbookInput, 'columns' | 'market' | 'keep'>;
  readonly from: ExportPosition;
  readonly sink: ByteSink;
}

/** Partly read workbook. */
interface OpenWorkbook {
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  /** Number of bytes read. */
  at: number;
  /** Progress callback of the current part. */
  tick: () => void;
}

/**
 * Open workbooks of the thread. The workbook whose last read is oldest comes first. A closed workbook is created again
 * up to the present position.
 */
const openWorkbooks = new Map<string, OpenWorkbook>();

/** Approximate number of bytes of a part. Compressing it takes about fifty milliseconds. */
const PART_BYTES = 1 << 18;

/**
 * Returns the bytes of a workbook from a position. The thread continues the stream of the workbook where it stopped.
 */
export async function writeWorkbookPart(input: WorkbookPartInput): Promise<ExportPosition | null> {
  const { exportId, from, sink } = input;
  const workbook = openWorkbooks.get(exportId) ?? startWorkbook(input);
  openWorkbooks.delete(exportId);
  workbook.tick = input.tick;
  if (workbook.at > from.at) throw new Error(`byte ${from.at} of a workbook that was read to ${workbook.at}`);
  for (let left = PART_BYTES; left > 0;) {
    const { done, value } = await workbook.reader.read();
    if (done) return null;
    const startOffset = Math.max(0, from.at - workbook.at); // these bytes were sent before the workbook was recreated
    workbook.at += value.length;
    if (startOffset >= value.length) continue;
    sink.append(value.subarray(startOffset));
    left -= value.length - startOffset;
  }
  openWorkbooks.set(exportId, workbook);
  for (const [oldest, { reader }] of openWorkbooks) {
    if (openWorkbooks.size <= LIMITS.MAX_OPEN_EXPORTS) break;
    openWorkbooks.delete(oldest);
    await reader.cancel();
  }
  return { at: workbook.at, rows: 0 };
}

function startWorkbook({ open, table, window, by, tick }: WorkbookPartInput): OpenWorkbook {
  const workbook: Omit<OpenWorkbook, 'reader'> = { at: 0, tick };
  const stream = createWorkbookStream({ ...open(), table, window, by, tick: () => workbook.tick() });
  return Object.assign(workbook, { reader: stream.getReader() });
}
