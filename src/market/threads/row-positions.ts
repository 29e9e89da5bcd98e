import { createDayPositions } from '../panels/day-positions.js';
import type { Stage } from './stages.js';

/** Rows of a chunk. The arrays may be longer than the number of rows. */
export interface StripeRows {
  readonly size: number;
  readonly days: Int32Array;
  /** Positions of identifiers in the panels, -1 for an unknown identifier. */
  readonly names: Int32Array;
  /** Values by field. */
  readonly values: readonly Float64Array[];
}

/** Minimum average length of a run (rows with contiguous cells). From this length on, whole runs are copied. */
const RUN_ROWS_MIN = 8;

/** Destinations of the rows of a chunk. */
interface RowPositions {
  /** Cell of each row. It is -1 for a row outside the panels. */
  readonly cells: Int32Array;
  /**
   * First row of each run, followed by the number of rows. A run consists of rows with one day and contiguous cells.
   */
  readonly runs: Int32Array;
  readonly runCount: number;
  /** False if a row has no cell. */
  readonly isSound: boolean;
}

/** Creates a finder of the cells of rows. Results are valid until the next call. */
export function createRowPositions({ dates, assets }: { readonly dates: Int32Array; readonly assets: number }) {
  const rowByDay = createDayPositions(dates);
  const first = dates[0]!;
  let cells = new Int32Array(0);
  let runs = new Int32Array(1);
  return ({ size, days, names }: StripeRows): RowPositions => {
    if (cells.length < size) {
      cells = new Int32Array(size);
      runs = new Int32Array(size + 1);
    }
    let isSound = true;
    let runCount = 0;
    let [day, base, next] = [first - 1, -1, -1];
    for (let i = 0; i < size; i++) {
      if (days[i] !== day) {
        day = days[i]!;
        const t = rowByDay[day - first] ?? -1;
        base = t < 0 ? -1 : t * assets;
        next = -1;
      }
      const name = names[i]!;
      const cell = base < 0 || name < 0 ? -1 : base + name;
      if (cell !== next || cell < 0) runs[runCount++] = i;
      if (cell < 0) isSound = false;
      cells[i] = cell;
      next = cell + 1;
    }
    runs[runCount] = size;
    return { cells, runs, runCount, isSound };
  };
}

interface Segment {
  readonly places: RowPositions;
  /** Range of runs in `places`. */
  readonly from: number;
  readonly to: number;
  /** Offset from the cell of a panel to the cell of the destination. */
  readonly shift: number;
}

/** Writes the values of a range of runs to their cells. @returns false if a value is below its floor or is infinite */
export function put(
  values: readonly Float64Array[],
  { places: { cells, runs }, from, to, shift }: Segment,
  into: Pick<Stage, 'cells' | 'flags'>,
  floors: readonly number[],
): boolean {
  let isSound = true;
  const [begin, end] = [runs[from]!, runs[to]!];
  if ((to - from) * RUN_ROWS_MIN > end - begin) {
    for (let i = begin; i < end; i++) into.flags[cells[i]! + shift] = 1;
    for (let f = 0; f < floors.length; f++)
      if (!putRows({ values: values[f]!, cells, shift, floor: floors[f]! }, begin, end, into.cells[f]!))
        isSound = false;
    return isSound;
  }
  for (let r = from; r < to; r++) {
    const [start, stop] = [runs[r]!, runs[r + 1]!];
    const first = cells[start]! + shift;
    into.flags.fill(1, first, first + stop - start);
    for (let f = 0; f < floors.length; f++)
      if (!putRun(values[f]!.subarray(start, stop), into.cells[f]!, first, floors[f]!)) isSound = false;
  }
  return isSound;
}

/** Writes one column of rows with non-contiguous cells. */
function putRows(
  { values, cells, shift, floor }: Readonly<{ values: Float64Array; cells: Int32Array; shift: number; floor: number }>,
  begin: number,
  end: number,
  into: Float64Array,
): boolean {
  let isSound = true;
  for (let i = begin; i < end; i++) {
    const value = values[i]!;
    if (value >= floor && value <= Number.MAX_VALUE) into[cells[i]! + shift] = value + 0;
    else if (value !== value) into[cells[i]! + shift] = Number.NaN; // replaces any NaN by the standard NaN
    else isSound = false;
  }
  return isSound;
}

/** Writes one column of rows with contiguous cells; this is the hot loop. */
function putRun(values: Float64Array, into: Float64Array, first: number, floor: number): boolean {
  if (areAboveZero(values, floor)) {
    into.set(values, first);
    return true;
  }
  let isSound = true;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value >= floor && value <= Number.MAX_VALUE) into[first + i] = value + 0; // + 0 converts a negative zero to 0
    else if (value !== value) into[first + i] = Number.NaN;
    else isSound = false;
  }
  return isSound;
}

/** Returns true if all values are positive, finite and at least their floor, so that they need no change. */
function areAboveZero(values: Float64Array, floor: number): boolean {
  const valueMin = Math.max(floor, Number.MIN_VALUE);
  for (let i = 0; i < values.length; i++) if (!(values[i]! >= valueMin && values[i]! <= Number.MAX_VALUE)) return false;
  return true;
}
