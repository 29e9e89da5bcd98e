import type { DuckDBDataChunk } from '@duckdb/node-api';
import { settleAll } from '../process/settle-all.js';
import { BLOCK_DAYS } from './day-blocks.js';
import { COUNT_COLUMNS, PRICE_COLUMNS } from './table-kinds.js';
import { doublesOf, integersOf } from '../sources/duckdb.js';
import { dayPositions } from './market-rows.js';
import { zeroPanel, type Panels } from '../serving/panels.js';
import { batchDays } from '../serving/shared-market.js';

/** Where rows go. */
export interface Target extends Pick<Panels, 'identifiers' | 'dates'> {
  readonly fields: readonly string[];
  /** Rows to come of each day. */
  readonly rowsOfDay: Int32Array;
}

/** Follows panels while they are filled: reports complete days, whole blocks in any order, each once. */
export interface DayFollower {
  begin(panels: Panels): void;
  complete(from: number, to: number): void;
}

export interface Scattered {
  readonly panels: Panels;
  readonly rows: number;
  /**
   * False when two rows share a cell, a value is none its field can have, or days have not the rows that were to come.
   */
  readonly isSound: boolean;
}

/** Rows that come at once: DuckDB's vectors are of 2,048. */
const CHUNK_ROWS_MAX = 1 << 16;

/**
 * Puts the rows of several queries into one set of panels, in whatever order they come.
 * @param streams chunks of day, position of the name, and a double per field.
 * @cost 30 ns a row of six fields.
 */
export async function scatterRows(
  streams: readonly AsyncIterable<DuckDBDataChunk>[],
  { identifiers, dates, fields, rowsOfDay }: Target,
  onRows: (rows: number) => void,
  follower?: DayFollower,
): Promise<Scattered> {
  const assets = identifiers.length;
  const panels = fields.map(() => zeroPanel(dates.length * assets, fields.length));
  const whole = { identifiers, dates, fields: new Map(fields.map((name, f) => [name, panels[f]!])) };
  const rowOf = dayPositions(dates);
  const firstDay = dates[0]!;
  const filled = new Uint8Array(dates.length * assets);
  const floors = fields.map((name) =>
    PRICE_COLUMNS.has(name) ? Number.MIN_VALUE : COUNT_COLUMNS.has(name) ? 0 : -Number.MAX_VALUE,
  );
  const cells = new Int32Array(CHUNK_ROWS_MAX);
  const days = batchDays({ assets, fields: fields.length }, BLOCK_DAYS);
  const left = rowsByBatch(rowsOfDay, days);
  const expected = left.slice();
  const batchOf = rowOf.map((t) => Math.max(0, Math.floor(t / days)));
  const full: number[] = [];
  let rows = 0;
  let isSound = true;

  async function drain(stream: AsyncIterable<DuckDBDataChunk>): Promise<void> {
    for await (const chunk of stream) {
      const size = chunk.rowCount;
      const dayColumn = integersOf(chunk, 0);
      const nameColumn = integersOf(chunk, 1);
      for (let i = 0; i < size; i++) {
        const day = dayColumn[i]! - firstDay;
        const cell = rowOf[day]! * assets + nameColumn[i]!;
        const batch = batchOf[day]!;
        if (filled[cell] === 1) isSound = false;
        filled[cell] = 1;
        cells[i] = cell;
        left[batch]! -= 1;
        if (left[batch] === 0) full.push(batch);
      }
      for (let f = 0; f < panels.length; f++)
        if (!scatterColumn(doublesOf(chunk, 2 + f), cells, size, panels[f]!, floors[f]!)) isSound = false;
      rows += size;
      if (rows % (1 << 18) < size) onRows(rows);
      for (let batch = full.pop(); batch !== undefined; batch = full.pop()) complete(batch);
    }
  }

  function complete(batch: number): void {
    const from = batch * days;
    const to = Math.min(from + days, dates.length);
    if (expected[batch]! < (to - from) * assets)
      for (const panel of panels) emptyUnfilled(panel, filled, from * assets, to * assets);
    if (isSound) follower?.complete(from, to);
  }

  follower?.begin(whole);
  await settleAll(streams.map(drain));
  return {
    panels: whole,
    rows,
    isSound: isSound && left.every((count) => count === 0) && rows === expected.reduce((sum, count) => sum + count, 0),
  };
}

/** Rows of days that are complete together. */
function rowsByBatch(rowsOfDay: Int32Array, days: number): Int32Array {
  const rows = new Int32Array(Math.ceil(rowsOfDay.length / days));
  for (let t = 0; t < rowsOfDay.length; t++) rows[Math.floor(t / days)]! += rowsOfDay[t]!;
  return rows;
}

/** The hot loop: one column of one chunk into its panel. False when a value lies below the floor or is infinite. */
function scatterColumn(
  values: Float64Array,
  cells: Int32Array,
  size: number,
  panel: Float64Array,
  floor: number,
): boolean {
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

function emptyUnfilled(panel: Float64Array, filled: Uint8Array, from: number, to: number): void {
  for (let cell = from; cell < to; cell++) if (filled[cell] === 0) panel[cell] = Number.NaN;
}
