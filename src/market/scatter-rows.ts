import type { DuckDBDataChunk } from '@duckdb/node-api';
import { allOver } from './all-over.js';
import { COUNT_COLUMNS, PRICE_COLUMNS } from './datasets.js';
import { doublesOf, integersOf } from './duckdb.js';
import { dayPositions } from './market-rows.js';

/** Where rows go. */
export interface Target {
  /** Days of the panels, ascending. */
  readonly dates: Int32Array;
  readonly assets: number;
  readonly fields: readonly string[];
}

export interface Scattered {
  /** Field name to panel [T x N] in shared memory, NaN where there is no value. */
  readonly panels: ReadonlyMap<string, Float64Array>;
  readonly rows: number;
  /** False when two rows share a cell or a value is none its field can have. */
  readonly isSound: boolean;
}

/** Rows that come at once: DuckDB's vectors are of 2,048. */
const CHUNK_ROWS_MAX = 1 << 16;

/**
 * Puts the rows of several queries into one set of panels, in whatever order they come.
 * @param streams chunks of day, position of the name, and a double per field.
 * @cost 30 ns a row of six fields.
 */
export async function scatterRows(streams: readonly AsyncIterable<DuckDBDataChunk>[], { dates, assets, fields }: Target, onRows: (rows: number) => void): Promise<Scattered> {
  const panels = fields.map(() => new Float64Array(new SharedArrayBuffer(dates.length * assets * Float64Array.BYTES_PER_ELEMENT)));
  const rowOf = dayPositions(dates);
  const firstDay = dates[0]!;
  const filled = new Uint8Array(dates.length * assets);
  const floors = fields.map((name) => (PRICE_COLUMNS.has(name) ? Number.MIN_VALUE : COUNT_COLUMNS.has(name) ? 0 : -Number.MAX_VALUE));
  const cells = new Int32Array(CHUNK_ROWS_MAX);
  let rows = 0;
  let isSound = true;

  async function drain(stream: AsyncIterable<DuckDBDataChunk>): Promise<void> {
    for await (const chunk of stream) {
      const size = chunk.rowCount;
      const days = integersOf(chunk, 0);
      const names = integersOf(chunk, 1);
      for (let i = 0; i < size; i++) {
        const cell = rowOf[days[i]! - firstDay]! * assets + names[i]!;
        if (filled[cell] === 1) isSound = false;
        filled[cell] = 1;
        cells[i] = cell;
      }
      for (let f = 0; f < panels.length; f++) if (!scatterColumn(doublesOf(chunk, 2 + f), cells, size, panels[f]!, floors[f]!)) isSound = false;
      rows += size;
      if (rows % (1 << 18) < size) onRows(rows);
    }
  }

  await allOver(streams.map(drain));
  if (rows < filled.length) for (const panel of panels) emptyUnfilled(panel, filled);
  return { panels: new Map(fields.map((name, f) => [name, panels[f]!])), rows, isSound };
}

/** The hot loop: one column of one chunk into its panel. False when a value lies below the floor or is infinite. */
function scatterColumn(values: Float64Array, cells: Int32Array, size: number, panel: Float64Array, floor: number): boolean {
  let isSound = true;
  for (let i = 0; i < size; i++) {
    const value = values[i]!;
    if (value !== value) panel[cells[i]!] = Number.NaN; // one NaN for all there are
    else {
      if (!(value >= floor && value <= Number.MAX_VALUE)) isSound = false;
      panel[cells[i]!] = value + 0; // + 0 turns a negative zero into 0
    }
  }
  return isSound;
}

function emptyUnfilled(panel: Float64Array, filled: Uint8Array): void {
  for (let cell = 0; cell < filled.length; cell++) if (filled[cell] === 0) panel[cell] = Number.NaN;
}
