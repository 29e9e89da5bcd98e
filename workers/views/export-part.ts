import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { LIMITS } from '#domain/base/limits.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { ExportPosition } from '#domain/outputs/exports.js';
import type { Task, ThreadInput } from '#jobs/tasks/catalogue.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import { createWorkbookStream, type WorkbookInput } from '#views/exports/files.js';
import { exportPart } from '#views/exports/tables.js';
import type { ByteSink } from '#views/formats/batch.js';
import { type AnnouncedFile, createAnnouncedFile, findFileDay } from '#views/index-files.js';
import { createQuestionComposer, openCachedMarket, openEarlierContents, runOnEngine } from '../input/inputs.js';
import { getFigures, openRunFiles } from '../run-files.js';

export interface WorkbookPartInput extends Pick<WorkbookInput, 'table' | 'window' | 'by' | 'tick'> {
  readonly exportId: string;
  readonly open: () => Pick<WorkbookInput, 'columns' | 'market' | 'keep'>;
  readonly from: ExportPosition;
  readonly sink: ByteSink;
}

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

/** Writes a part of an export of a stored run. The memory for it is shared with the service. */
export const exportRunPart: Task<'export-part'> = async (input, control) => {
  const { exportId, run, table, format, start, end, by, from, market, buffer } = input;
  const { sink, written } = createBufferSink(new Uint8Array(buffer));
  const { columns, announced } = await openExport(input, control);
  const keep = (marketData: MarketData | null) => getFigures(run, marketData && market);
  const openSource = () => ({ columns, market: market && openCachedMarket(market), keep, announced });
  const exportOptions = { table, window: { start, end }, by, from, sink, tick: () => control.report(0) };
  const next =
    format === 'xlsx'
      ? await writeWorkbookPart({ ...exportOptions, exportId, open: openSource })
      : exportPart({ ...exportOptions, ...openSource(), format });
  if (next === null) latestExport = undefined;
  return { ...written(), next };
};

interface OpenedExport {
  readonly exportId: string;
  readonly columns: RunColumns;
  readonly announced: AnnouncedFile | undefined;
}

/** Export of the last part that this thread wrote. The parts of one export usually follow each other. */
let latestExport: OpenedExport | undefined;

/** Opens an export. Its files stay open and unchanged while it is read. */
async function openExport(input: ThreadInput<'export-part'>, control: TaskControl): Promise<OpenedExport> {
  const { exportId, files } = input;
  if (latestExport?.exportId === exportId) return latestExport;
  const columns = openRunFiles(files);
  return (latestExport = { exportId, columns, announced: await readAnnounced(columns, input, control) });
}

/**
 * Returns the announced composition of the index on the requested session. Returns undefined for tables of the stored
 * run.
 */
async function readAnnounced(
  columns: RunColumns,
  { definition, market: handle, end }: ThreadInput<'export-part'>,
  control: TaskControl,
): Promise<AnnouncedFile | undefined> {
  if (definition === undefined || handle === null) return undefined;
  const day = findFileDay(columns, end);
  const market = openCachedMarket(handle);
  const { indexId, documents, models, known } = definition;
  return runOnEngine((engine) => {
    const composer = createQuestionComposer(
      { market, documents, models, until: day, engine, ...openEarlierContents(market, known) },
      control,
    );
    return createAnnouncedFile(composer, { indexId, day });
  });
}

/** Creates a receiver of text that fills a buffer. It collects the bytes that exceed the buffer. */
function createBufferSink(room: Uint8Array) {
  let length = 0;
  const restParts: Uint8Array[] = [];
  return {
    sink: {
      append(piece: Uint8Array): void {
        const fittingLength = restParts.length > 0 ? 0 : Math.min(piece.length, room.length - length);
        room.set(piece.subarray(0, fittingLength), length);
        length += fittingLength;
        if (fittingLength < piece.length) restParts.push(piece.slice(fittingLength));
      },
    },
    written: () => ({ length, rest: new Uint8Array(Buffer.concat(restParts)) }),
  };
}
