import type { Task } from '#jobs/tasks.js';
import { exportPart } from '#views/exports/export-part.js';
import { openedMarket } from './open-markets.js';
import { openFiles } from './run-file.js';
import { workbookPart } from './workbook-part.js';

/** A part of an export of a stored run, written to memory that the service shares. */
export const exportPartOfRun: Task<'export-part'> = async (input, control) => {
  const { exportId, files, table, format, start, end, by, from, market, room } = input;
  const { sink, written } = sinkInto(new Uint8Array(room));
  const open = () => ({ columns: openFiles(files), market: market && openedMarket(market) });
  const common = { table, window: { start, end }, by, from, sink, tick: () => control.report(0) };
  const next =
    format === 'xlsx'
      ? await workbookPart({ ...common, exportId, open })
      : exportPart({ ...common, ...open(), format });
  return { ...written(), next };
};

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
