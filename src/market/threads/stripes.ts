import { writeInto } from '#kernels/memory/paged-memory.js';
import { openUncachedWrites } from '#kernels/memory/uncached-writes.js';
import { computeBlockDigest } from '../panels/day-blocks.js';
import { createRowPositions, put, type StripeRows } from './row-positions.js';
import { createStage, clearUnfilled, type Stage } from './stages.js';

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
export interface StripeListener {
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

/** Sums the rows of consecutive groups of days. */
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
  /** Staged stripes, earliest first. */
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
