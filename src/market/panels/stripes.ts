import { openUncachedWrites, PADDING_BYTES, writeInto } from '#kernels/memory/paged-memory.js';
import { computeBlockDigest, createDayPositions } from './panels.js';

/** Buffer for the cells of some consecutive days (a stripe) before they are copied to the panels. */
interface Stage {
  /** [field], [days x assets] each. */
  readonly cells: readonly Float64Array[];
  /** 1 for each filled cell. */
  readonly flags: Uint8Array;
  rows: number;
  /** Sets the offset of the cells of each field in its memory, below `PADDING_BYTES`. */
  begin(byteIn: (room: ArrayBuffer, field: number) => number): void;
}

function createStage(fields: number, stripeCells: number): Stage {
  const bytes = stripeCells * Float64Array.BYTES_PER_ELEMENT + PADDING_BYTES;
  const buffers = Array.from({ length: fields }, () => new ArrayBuffer(bytes));
  const cells = buffers.map((room) => new Float64Array(room, 0, stripeCells));
  return {
    cells,
    flags: new Uint8Array(stripeCells),
    rows: 0,
    begin(byteIn) {
      for (const [f, room] of buffers.entries()) {
        const from = byteIn(room, f);
        if (cells[f]!.byteOffset !== from) cells[f] = new Float64Array(room, from, stripeCells);
      }
    },
  };
}

/** Sets cells without a row to NaN. @returns the number of cells with a row */
function clearUnfilled(cells: readonly Float64Array[], flags: Uint8Array, count: number): number {
  if (flags.indexOf(0) < 0) return count;
  let filledCount = 0;
  for (let cell = 0; cell < count; cell++) {
    if (flags[cell] === 1) filledCount += 1;
    else for (const values of cells) values[cell] = Number.NaN;
  }
  return filledCount;
}

/** Rows of a chunk. The arrays may be longer than the number of rows. */
interface StripeRows {
  readonly size: number;
  readonly days: Int32Array;
  /** Positions of identifiers in the panels, -1 for an unknown identifier. */
  readonly names: Int32Array;
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
function createRowPositions({ dates, assets }: { readonly dates: Int32Array; readonly assets: number }) {
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
function put(
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

/** Panels that several threads fill. Contains the state that the threads share; all arrays are in shared memory. */
export interface StripeTarget {
  readonly assets: number;
  /** [T] */
  readonly dates: Int32Array;
  /** Expected number of rows of each day, [T]. */
  readonly rowsOfDay: Int32Array;
  /** [field], [T x assets] each. */
  readonly panels: readonly Float64Array[];
  /** Minimum value of each field. */
  readonly floors: readonly number[];
  /** Number of days that are reported together, a multiple of the days of a stripe. */
  readonly batchDays: number;
  readonly stripeDays: number;
  /** Number of missing rows of each batch. */
  readonly left: Int32Array;
  /** State of each stripe (a few consecutive days). It is 1 if the stripe was written as a whole. */
  readonly whole: Int32Array;
  /** State of each cell outside whole stripes, [T x assets]. It is 1 if the cell is filled. */
  readonly filled: Uint8Array;
  /**
   * Fields in hashing order if a stripe is a block of days. The thread that fills such a stripe also hashes it, and its
   * writes bypass the cache of the operating system. Otherwise null.
   */
  readonly hashed: readonly number[] | null;
}

/** Receives reports of completed batches and hashed blocks. */
interface StripeListener {
  /** Called when the last row of a batch has been written to the panels. */
  complete(batch: number): void;
  /** Called with the digest of a block of days. The digest is invalid if an error occurs. */
  digest(block: number, digest: Uint8Array): void;
}

/** Values in place of the first stripe: not yet known, or closed. */
const UNKNOWN_STRIPE = -1;
const NO_STRIPE = -2;

/** Writer of rows to the panels, for one of the threads. */
export interface Stripes {
  take(rows: StripeRows): void;
  /** Writes the staged rows to the panels. */
  flush(): void;
  /** Returns false if two rows shared a cell, or a row had no cell or an invalid value. */
  isSound(): boolean;
  /** Closes the opened files. */
  end(): void;
}

/** Maximum size of a stripe over all panels. Such a stripe stays in the processor cache until it is written. */
const STRIPE_BYTES_MAX = 2 << 20;

/** Maximum number of stripes that a thread keeps in its buffers. The lower maximum applies if stripes are blocks. */
const STAGED_STRIPES_MAX = 4;
export const STAGED_BLOCKS_MAX = 2;

/**
 * Minimum share of its rows that a stripe should have when it leaves the buffers. A lower share shows that rows are
 * unordered.
 */
const ORDERED_SHARE = 1 / 8;

/** Minimum number of contiguous cells for a write to the file of a panel: two pages. */
const WRITTEN_CELLS_MIN = 1024;

/**
 * Returns the number of days per stripe. It is a power of two of at most 64. It divides `batchDays` if that is a
 * multiple of 64.
 */
export function computeStripeDays({ assets, fields }: { readonly assets: number; readonly fields: number }): number {
  const dayBytes = assets * fields * Float64Array.BYTES_PER_ELEMENT;
  let days = 64;
  while (days > 1 && days * dayBytes > STRIPE_BYTES_MAX) days /= 2;
  return days;
}

export function sumRowGroups(rowsOfDay: Int32Array, days: number): Int32Array {
  const rows = new Int32Array(Math.ceil(rowsOfDay.length / days));
  for (let t = 0; t < rowsOfDay.length; t++) rows[Math.floor(t / days)]! += rowsOfDay[t]!;
  return rows;
}

/**
 * Fills panels together with other threads. If one thread receives all rows of a stripe of days, as in files ordered by
 * day, it fills the stripe in cached memory and writes it as a whole. Other cells are written directly to the panels.
 */
export function createStripes(target: StripeTarget, listener: StripeListener): Stripes {
  const { panels, assets, batchDays, stripeDays, filled, hashed } = target;
  const stagedMax = hashed === null ? STAGED_STRIPES_MAX : STAGED_BLOCKS_MAX;
  const uncachedWrites = hashed === null ? undefined : openUncachedWrites(panels.map(({ buffer }) => buffer));
  const stripeCells = stripeDays * assets;
  const expectedRows = sumRowGroups(target.rowsOfDay, stripeDays);
  const computePositions = createRowPositions(target);
  const stagesByStripe = new Map<number, Stage>();
  const spareStages: Stage[] = [];
  /** First stripe since the last flush, as long as it may become complete. Another thread may have its first rows. */
  let first = UNKNOWN_STRIPE;
  let isDirect = false;
  let isSound = true;

  const getCells = (stripe: number): readonly [number, number] => [
    stripe * stripeCells,
    Math.min((stripe + 1) * stripeCells, filled.length),
  ];

  function findStage(stripe: number): Stage | undefined {
    const stagedStripe = stagesByStripe.get(stripe);
    if (stagedStripe !== undefined || isDirect) return stagedStripe;
    const [oldest] = stagesByStripe.keys();
    if (oldest !== undefined && (stagesByStripe.size === stagedMax || (oldest === first && hashed !== null))) {
      const { rows } = stagesByStripe.get(oldest)!;
      close(oldest);
      if (oldest !== first && rows < ORDERED_SHARE * expectedRows[oldest]!) {
        isDirect = true;
        flush();
        return undefined;
      }
      if (oldest === first) first = NO_STRIPE;
    }
    const stage = spareStages.pop() ?? createStage(panels.length, stripeCells);
    stage.begin((room, f) => uncachedWrites?.beginIn(room, panels[f]!.buffer, computeByte(stripe, f)) ?? 0);
    if (first === UNKNOWN_STRIPE) first = stripe;
    stagesByStripe.set(stripe, stage);
    return stage;
  }

  /** Returns the offset of a stripe in the memory of a panel. */
  const computeByte = (stripe: number, f: number): number =>
    panels[f]!.byteOffset + stripe * stripeCells * Float64Array.BYTES_PER_ELEMENT;

  function close(stripe: number): void {
    const stage = stagesByStripe.get(stripe)!; // the caller passes a staged stripe
    const { rows, flags } = stage;
    stagesByStripe.delete(stripe);
    if (rows === expectedRows[stripe]) writeWhole(stripe, stage);
    else putThrough(stage, getCells(stripe)[0], target);
    flags.fill(0);
    stage.rows = 0;
    spareStages.push(stage);
    reportFilled(stripe, rows);
  }

  function writeWhole(stripe: number, stage: Stage): void {
    const [from, to] = getCells(stripe);
    const cells = stage.cells.map((values) => values.subarray(0, to - from));
    if (clearUnfilled(cells, stage.flags, to - from) !== stage.rows) isSound = false;
    for (const [f, { buffer }] of panels.entries())
      (uncachedWrites?.write ?? writeInto)(buffer, computeByte(stripe, f), getBytes(cells[f]!));
    Atomics.store(target.whole, stripe, 1);
    if (hashed === null) return;
    const days = target.dates.subarray(stripe * stripeDays, (stripe + 1) * stripeDays);
    const values = hashed.map((f) => cells[f]!);
    listener.digest(stripe, computeBlockDigest(days, values)); // here a stripe is a block
  }

  /** Counts rows that have been written to the panels. Completes their batch if they are the last ones. */
  function reportFilled(stripe: number, rows: number): void {
    const batch = Math.floor((stripe * stripeDays) / batchDays);
    if (Atomics.sub(target.left, batch, rows) !== rows) return;
    const end = Math.min(((batch + 1) * batchDays) / stripeDays, expectedRows.length);
    for (let s = (batch * batchDays) / stripeDays; s < end; s++)
      if (Atomics.load(target.whole, s) === 0) completeStripe(s);
    listener.complete(batch);
  }

  /** Clears the cells without a row in a stripe with all rows. */
  function completeStripe(stripe: number): void {
    const [from, to] = getCells(stripe);
    const cells = panels.map((panel) => panel.subarray(from, to));
    if (clearUnfilled(cells, filled.subarray(from, to), to - from) !== expectedRows[stripe]) isSound = false;
  }

  function take(rows: StripeRows): void {
    const positions = computePositions(rows);
    if (!positions.isSound) isSound = false;
    const { runs, runCount, cells } = positions;
    for (let r = 0; r < runCount;) {
      const stripe = Math.floor(cells[runs[r]!]! / stripeCells);
      const firstRun = r;
      do r++;
      while (r < runCount && Math.floor(cells[runs[r]!]! / stripeCells) === stripe);
      if (stripe < 0) continue;
      const size = runs[r]! - runs[firstRun]!;
      const stage = findStage(stripe);
      const destination = stage ?? { cells: panels, flags: filled };
      const run = { from: firstRun, to: r, shift: stage === undefined ? 0 : -stripe * stripeCells };
      if (!put(rows.values, { places: positions, ...run }, destination, target.floors)) isSound = false;
      if (stage === undefined) reportFilled(stripe, size);
      else {
        stage.rows += size;
        if (stage.rows >= expectedRows[stripe]!) close(stripe);
      }
    }
  }

  function flush(): void {
    for (const stripe of stagesByStripe.keys()) close(stripe);
    first = UNKNOWN_STRIPE;
  }

  return { take, flush, isSound: () => isSound, end: () => uncachedWrites?.close() };
}

/** Writes the cells of a stripe that other threads also fill. @param begin first cell of the stripe */
function putThrough({ cells, flags }: Stage, begin: number, { panels, filled }: StripeTarget): void {
  for (let from = flags.indexOf(1); from >= 0;) {
    const index = flags.indexOf(0, from);
    const to = index < 0 ? flags.length : index;
    for (const [f, panel] of panels.entries()) {
      const values = cells[f]!.subarray(from, to);
      const offset = panel.byteOffset + (begin + from) * Float64Array.BYTES_PER_ELEMENT;
      if (to - from < WRITTEN_CELLS_MIN) panel.set(values, begin + from);
      else writeInto(panel.buffer, offset, getBytes(values));
    }
    filled.fill(1, begin + from, begin + to);
    from = flags.indexOf(1, to);
  }
}

const getBytes = ({ buffer, byteOffset, byteLength }: Float64Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
