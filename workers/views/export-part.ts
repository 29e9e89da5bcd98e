import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Task, ThreadInput } from '#jobs/tasks.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import { createAnnouncedFile, type AnnouncedFile } from '#views/exports/announced-file.js';
import { exportPart } from '#views/exports/export-part.js';
import { findFileDay } from '#views/exports/index-file.js';
import { getFigures } from '../run-files/cached-figures.js';
import { openEarlierContents } from '../input/known-contents.js';
import { createQuestionComposer } from '../input/index-composer.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';
import { openFiles } from '../run-files/run-file.js';
import { writeWorkbookPart } from './workbook-part.js';

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
  const columns = openFiles(files);
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
