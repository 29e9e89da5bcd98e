import type { ExportPosition } from '#domain/exports/formats.js';
import { LIMITS } from '#domain/refusals/limits.js';
import type { ByteSink } from '#views/exports/part.js';
import { workbookStream, type WorkbookInput } from '#views/exports/workbook.js';

export interface WorkbookPartInput extends Pick<WorkbookInput, 'table' | 'window' | 'by' | 'tick'> {
  readonly exportId: string;
  readonly open: () => Pick<WorkbookInput, 'columns' | 'market' | 'keep'>;
  readonly from: ExportPosition;
  readonly sink: ByteSink;
}

/** A workbook on its way, as far as it was read. */
interface OpenWorkbook {
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  /** Bytes read. */
  at: number;
  /** Of the part that is being made. */
  tick: () => void;
}

/**
 * Workbooks that the thread has open, the one read longest ago first. One that it has not is made anew up to where it
 * is read on.
 */
const opened = new Map<string, OpenWorkbook>();

/** Bytes of a part, about: what some fifty milliseconds compress. */
const PART_BYTES = 1 << 18;

/** The bytes of a workbook from a position on: the thread resumes its stream where it stopped. */
export async function workbookPart(input: WorkbookPartInput): Promise<ExportPosition | null> {
  const { exportId, from, sink } = input;
  const workbook = opened.get(exportId) ?? startWorkbook(input);
  opened.delete(exportId);
  workbook.tick = input.tick;
  if (workbook.at > from.at) throw new Error(`byte ${from.at} of a workbook that was read to ${workbook.at}`);
  for (let left = PART_BYTES; left > 0;) {
    const { done, value } = await workbook.reader.read();
    if (done) return null;
    const begin = Math.max(0, from.at - workbook.at); // What was sent before the workbook was made anew.
    workbook.at += value.length;
    if (begin >= value.length) continue;
    sink.append(value.subarray(begin));
    left -= value.length - begin;
  }
  opened.set(exportId, workbook);
  for (const [oldest, { reader }] of opened) {
    if (opened.size <= LIMITS.MAX_OPEN_EXPORTS) break;
    opened.delete(oldest);
    await reader.cancel();
  }
  return { at: workbook.at, rows: 0 };
}

function startWorkbook({ open, table, window, by, tick }: WorkbookPartInput): OpenWorkbook {
  const workbook: Omit<OpenWorkbook, 'reader'> = { at: 0, tick };
  const stream = workbookStream({ ...open(), table, window, by, tick: () => workbook.tick() });
  return Object.assign(workbook, { reader: stream.getReader() });
}
