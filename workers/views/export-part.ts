import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { OpenRunFiles } from '#jobs/tasks/outputs.js';
import type { Task } from '#jobs/tasks.js';
import { exportPart } from '#views/exports/export-part.js';
import { figuresOf } from '../run-files/kept-figures.js';
import { openedMarket } from '../input/open-markets.js';
import { openFiles } from '../run-files/run-file.js';
import { workbookPart } from './workbook-part.js';

/** A part of an export of a stored run, written to memory that the service shares. */
export const exportPartOfRun: Task<'export-part'> = async (input, control) => {
  const { exportId, run, files, table, format, start, end, by, from, market, room } = input;
  const { sink, written } = sinkInto(new Uint8Array(room));
  const columns = columnsOf(exportId, files);
  const keep = (by: MarketData | null) => figuresOf(run, by && market);
  const open = () => ({ columns, market: market && openedMarket(market), keep });
  const common = { table, window: { start, end }, by, from, sink, tick: () => control.report(0) };
  const next =
    format === 'xlsx'
      ? await workbookPart({ ...common, exportId, open })
      : exportPart({ ...common, ...open(), format });
  if (next === null) latest = undefined;
  return { ...written(), next };
};

/** The columns of the export that this thread wrote a part of last: the parts of one follow each other. */
let latest: { readonly exportId: string; readonly columns: RunColumns } | undefined;

/** Files of an export stay open, and the same, as long as it is read. */
function columnsOf(exportId: string, files: OpenRunFiles): RunColumns {
  if (latest?.exportId !== exportId) latest = { exportId, columns: openFiles(files) };
  return latest.columns;
}

/** Fills a room; what has none in it is kept beside it. */
function sinkInto(room: Uint8Array) {
  let length = 0;
  const rest: Uint8Array[] = [];
  return {
    sink: {
      append(piece: Uint8Array): void {
        const fitting = rest.length > 0 ? 0 : Math.min(piece.length, room.length - length);
        room.set(piece.subarray(0, fitting), length);
        length += fitting;
        if (fitting < piece.length) rest.push(piece.slice(fitting));
      },
    },
    written: () => ({ length, rest: new Uint8Array(Buffer.concat(rest)) }),
  };
}
