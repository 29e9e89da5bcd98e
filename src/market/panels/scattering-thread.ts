import { parentPort } from 'node:worker_threads';
import { setWritableFile } from '#kernels/memory/paged-memory.js';
import { createNameTable, type DirectDuckDb, openDirectDuckDb, TEXT_BYTES } from '../formats/direct-duckdb.js';
import type { ScatterMessage, ScatterOrder, ScatterReport } from './scattering.js';
import { createStripes } from './stripes.js';

/** Entry point of a thread that reads parts of a market into the panels. */

/** Number of rows between two progress reports. */
const REPORT_ROWS = 1 << 18;

let duckDb: DirectDuckDb | undefined;

parentPort!.on('message', (message: ScatterMessage) => {
  try {
    if (message.kind === 'open') duckDb = openDirectDuckDb(message.settings);
    answer(message.kind === 'open' ? { kind: 'ready' } : writeParts(duckDb!, message.order)); // `open` is the first message
  } catch (fault) {
    // Prevents the other threads from starting any further part.
    if (message.kind === 'scatter') Atomics.store(message.order.next, 0, message.order.parts.length);
    answer({ kind: 'failed', message: fault instanceof Error ? fault.message : String(fault) });
  }
});

function writeParts(open: DirectDuckDb, { target, places, positions, parts, next }: ScatterOrder): ScatterReport {
  for (const [f, place] of places.entries()) if (place !== undefined) setWritableFile(target.panels[f]!.buffer, place);
  const stripes = createStripes(target, {
    complete(batch) {
      if (stripes.isSound()) answer({ kind: 'complete', batch });
    },
    digest: (block, digest) => answer({ kind: 'digest', block, digest }),
  });
  const { chunkRows } = open;
  const createBuffer = (width: number) => ({ into: new Uint8Array(chunkRows * width), width });
  const columns = [
    createBuffer(Int32Array.BYTES_PER_ELEMENT),
    createBuffer(TEXT_BYTES),
    ...target.panels.map(() => createBuffer(Float64Array.BYTES_PER_ELEMENT)),
  ] as const;
  const days = new Int32Array(columns[0].into.buffer);
  const texts = new Int32Array(columns[1].into.buffer);
  const values = columns.slice(2).map(({ into }) => new Float64Array(into.buffer));
  const findPositions = createNameTable(new Map(positions))!(); // the caller has checked that all spellings are short
  let [rows, reported] = [0, 0];
  for (let part = takeNextPart(next); part < parts.length; part = takeNextPart(next)) {
    open.stream(parts[part]!, columns, (size) => {
      const names = findPositions(texts.subarray(0, (size * TEXT_BYTES) / Int32Array.BYTES_PER_ELEMENT));
      stripes.take({ size, days, names, values });
      rows += size;
      if (rows - reported < REPORT_ROWS) return;
      answer({ kind: 'rows', rows: rows - reported });
      reported = rows;
    });
    stripes.flush();
  }
  stripes.end();
  open.close();
  return { kind: 'done', rows: rows - reported, isSound: stripes.isSound() };
}

const takeNextPart = (next: Int32Array): number => Atomics.add(next, 0, 1);

function answer(message: ScatterReport): void {
  parentPort!.postMessage(message, []);
}
