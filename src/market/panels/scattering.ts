import type { DuckDBDataChunk } from '@duckdb/node-api';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { compareText } from '#domain/base/findings.js';
import {
  findMemoryLimit,
  findWritableFile,
  isWritten,
  type WritableFile,
  writeInto,
  writeIntoApart,
} from '#kernels/memory/paged-memory.js';
import { readDoubles, readIntegers } from '../formats/duckdb.js';
import { COUNT_COLUMNS, PRICE_COLUMNS } from '../tables/table-kinds.js';
import { allocateHandedPanel, BLOCK_DAYS, computePanelBytes, createDayPositions, type Panels } from './panels.js';
import { awaitAll, computeBatchDays } from './market-transfer.js';
import { computeStripeDays, STAGED_BLOCKS_MAX, type StripeTarget, sumRowGroups } from './stripes.js';

/** Buffer for writes to panels, which are filled in batches of days. */
export interface PanelBuffer {
  batchOf(cell: number): number;
  firstOf(batch: number): number;
  /** Returns the cells of a batch in one panel. They must be filled before another batch is requested. */
  cellsOf(batch: number, field: number): Float64Array;
  /** Ends the buffering and returns the panels. Any cell of them can then be written. */
  open(): readonly Float64Array[];
  /**
   * Marks a batch as filled.
   * @param onDone called when its cells are in the panels: immediately, or before `settled` resolves
   */
  close(batch: number, onDone: () => void): void;
  /** Resolves when every closed batch is in the panels. @throws errors of writes to the files of paged panels */
  settled(): Promise<void>;
}

/** Maximum number of batches in separate memory. Each scan has one batch, and there may be one late batch. */
const BUFFERED_BATCHES_MAX = 4;

/**
 * Maximum number of batches that threads for file access write concurrently. The calling thread writes further batches
 * itself.
 */
const CONCURRENT_WRITES_MAX = 2;

/** Maximum size of batches in separate memory, as a share of the memory for panels. */
const BUFFERED_SHARE = 0.5;

/**
 * Creates a write buffer for panels. If panels are kept in files, a batch is filled in separate memory and written as a
 * whole, because single accesses to the pages of a file cost most. Batches stay in separate memory until they are
 * closed, `open` is called, or another batch needs the memory.
 */
export function createPanelBuffer(panels: readonly Float64Array[], batchCells: number): PanelBuffer {
  const batchBytes = batchCells * panels.length * Float64Array.BYTES_PER_ELEMENT;
  const batchesMax = Math.floor((BUFFERED_SHARE * findMemoryLimit().panelBytes) / batchBytes);
  const bufferedMax = Math.min(BUFFERED_BATCHES_MAX, batchesMax);
  const writtenMost = Math.min(CONCURRENT_WRITES_MAX, batchesMax - bufferedMax);
  let isApart = bufferedMax > 0 && panels.length > 0 && panels.every(({ buffer }) => isWritten(buffer));
  /** Batches in separate memory, least recently used first. */
  const separatePanels = new Map<number, readonly Float64Array[]>();
  const startedBatches = new Set<number>();
  const spareBuffers: (readonly Float64Array[])[] = [];
  const pendingWrites = new Set<Promise<void>>();
  let last: { readonly batch: number; readonly cells: readonly Float64Array[] } | undefined;

  const selectPanels = (batch: number): readonly Float64Array[] =>
    panels.map((panel) => panel.subarray(batch * batchCells, (batch + 1) * batchCells));

  function openBatch(batch: number): readonly Float64Array[] {
    if (!isApart || startedBatches.has(batch)) return selectPanels(batch);
    const heldCells = separatePanels.get(batch);
    separatePanels.delete(batch);
    if (heldCells === undefined && separatePanels.size === bufferedMax) write(separatePanels.keys().next().value!); // the map is not empty
    const cells = heldCells ?? spareBuffers.pop() ?? panels.map(() => new Float64Array(batchCells));
    separatePanels.set(batch, cells);
    return cells;
  }

  /**
   * Removes a batch from separate memory and returns its values. Later values of the batch go directly to the panels.
   */
  function takeBatch(batch: number): readonly Float64Array[] {
    startedBatches.add(batch);
    const cells = separatePanels.get(batch) ?? [];
    separatePanels.delete(batch);
    return cells;
  }

  /** Returns the arguments for writing the cells of a batch in one field: buffer, position and bytes. */
  function listWriteArguments(batch: number, cells: readonly Float64Array[], field: number) {
    const { buffer, byteOffset, byteLength } = panels[field]!.subarray(batch * batchCells, (batch + 1) * batchCells);
    return [buffer, byteOffset, new Uint8Array(cells[field]!.buffer, 0, byteLength)] as const;
  }

  function write(batch: number): void {
    const cells = takeBatch(batch);
    for (const field of cells.keys()) writeInto(...listWriteArguments(batch, cells, field));
    if (cells.length > 0) spareBuffers.push(cells);
  }

  async function writeApart(batch: number, onDone: () => void): Promise<void> {
    const cells = takeBatch(batch);
    for (const field of cells.keys()) await writeIntoApart(...listWriteArguments(batch, cells, field));
    if (isApart) spareBuffers.push(cells);
    onDone();
  }

  return {
    batchOf: (cell) => Math.floor(cell / batchCells),
    firstOf: (batch) => batch * batchCells,
    cellsOf(batch, field) {
      if (last?.batch !== batch) last = { batch, cells: openBatch(batch) };
      return last.cells[field]!;
    },
    open() {
      for (const batch of separatePanels.keys()) write(batch);
      isApart = false;
      last = undefined;
      spareBuffers.length = 0;
      return panels;
    },
    close(batch, onDone) {
      last = undefined;
      if (separatePanels.has(batch) && pendingWrites.size < writtenMost) {
        const pendingWrite = writeApart(batch, onDone);
        pendingWrites.add(pendingWrite);
        pendingWrite.then(
          () => pendingWrites.delete(pendingWrite),
          () => {}, // `settled` throws this error
        );
        return;
      }
      write(batch);
      onDone();
    },
    async settled() {
      await awaitAll([...pendingWrites]);
    },
  };
}

/** Axes and fields of the panels that receive the rows. */
export interface RowTarget extends Pick<Panels, 'identifiers' | 'dates'> {
  readonly fields: readonly string[];
  readonly rowsOfDay: Int32Array;
}

/** Observer of panels while they are filled. It receives each block of complete days once, in any order. */
export interface DayFollower {
  begin(panels: Panels): void;
  complete(from: number, to: number): void;
  /**
   * Receives the digest of a block of days from the thread that fills the block. This may happen before the block is
   * complete.
   */
  digested?(block: number, digest: Uint8Array): void;
}

export interface ScatterResult {
  readonly panels: Panels;
  readonly rows: number;
  /**
   * False if the rows have an error. Two rows share a cell, an identifier or value is invalid, or the number of rows of
   * a day differs from the expected number.
   */
  readonly isSound: boolean;
}

/** Rows of one query in chunks. A row has a day, an identifier, and one double per field. */
export interface RowStream {
  readonly chunks: AsyncIterable<DuckDBDataChunk>;
  /**
   * Returns the positions of the identifiers of a chunk. An unknown identifier has position -1. The result is valid
   * until the next chunk is requested.
   */
  namesOf(chunk: DuckDBDataChunk): Int32Array;
}

/** Maximum number of rows per chunk; DuckDB vectors have 2,048. */
const CHUNK_ROWS_MAX = 1 << 16;

/** Minimum average length of a run (rows with contiguous cells). From this length on, whole runs are copied. */
const RUN_ROWS_MIN = 8;

/**
 * Writes the rows of several queries to one set of panels, in any order. Consecutive rows with contiguous cells are
 * copied together.
 * @cost 10 ns per row of five fields in the order of the panels, otherwise 30 ns
 */
export async function writeRows(
  streams: readonly RowStream[],
  { identifiers, dates, fields, rowsOfDay }: RowTarget,
  onRows: (rows: number) => void,
  follower?: DayFollower,
): Promise<ScatterResult> {
  const assets = identifiers.length;
  const panels = fields.map(() => allocateHandedPanel(dates.length * assets, fields.length));
  const allPanels = { identifiers, dates, fields: new Map(fields.map((name, f) => [name, panels[f]!])) };
  const filledCells = new Uint8Array(dates.length * assets);
  const floors = listFloors(fields);
  const days = computeBatchDays({ assets, fields: fields.length }, BLOCK_DAYS);
  const remainingRows = sumRowGroups(rowsOfDay, days);
  const expectedRows = remainingRows.slice();
  const full: number[] = [];
  const computePositions = createChunkPositions({
    dates,
    assets,
    filled: filledCells,
    days,
    left: remainingRows,
    full,
  });
  const panelBuffer = createPanelBuffer(panels, days * assets);
  let rows = 0;
  let isSound = true;

  async function drain({ chunks, namesOf }: RowStream): Promise<void> {
    for await (const chunk of chunks) {
      const size = chunk.rowCount;
      const positions = computePositions(readIntegers(chunk, 0), namesOf(chunk), size);
      if (!positions.isSound) isSound = false;
      const columns = floors.map((floor, f) => ({ field: f, values: readDoubles(chunk, 2 + f), floor }));
      if (!writeColumns(columns, positions, panelBuffer)) isSound = false;
      rows += size;
      if (rows % (1 << 18) < size) onRows(rows);
      for (let batch = full.pop(); batch !== undefined; batch = full.pop()) completeBatch(batch);
    }
  }

  function completeBatch(batch: number): void {
    const from = batch * days;
    const to = Math.min(from + days, dates.length);
    if (expectedRows[batch]! < (to - from) * assets)
      for (let f = 0; f < panels.length; f++)
        emptyUnfilled(panelBuffer.cellsOf(batch, f), filledCells.subarray(from * assets, to * assets));
    panelBuffer.close(batch, () => {
      if (isSound) follower?.complete(from, to);
    });
  }

  follower?.begin(allPanels);
  await awaitAll(streams.map(drain)).finally(panelBuffer.settled);
  return {
    panels: allPanels,
    rows,
    isSound:
      isSound &&
      remainingRows.every((count) => count === 0) &&
      rows === expectedRows.reduce((sum, count) => sum + count, 0),
  };
}

/** Returns the minimum valid value of each field. */
function listFloors(fields: readonly string[]): number[] {
  return fields.map((name) =>
    PRICE_COLUMNS.has(name) ? Number.MIN_VALUE : COUNT_COLUMNS.has(name) ? 0 : -Number.MAX_VALUE,
  );
}

/** Destinations of the rows of a chunk. */
interface ChunkPositions {
  /** Cell of each row. It is -1 for a row outside the panels. */
  readonly cells: Int32Array;
  /** First row of each run, followed by the number of rows. A run consists of rows with contiguous cells. */
  readonly runs: Int32Array;
  readonly runCount: number;
  /** False if a row has no cell, or if another row has the same cell. */
  readonly isSound: boolean;
}

interface Cells {
  readonly dates: Int32Array;
  readonly assets: number;
  /** 1 for each filled cell. */
  readonly filled: Uint8Array;
  /** Number of days per batch, number of missing rows of each batch, and the complete batches. */
  readonly days: number;
  readonly left: Int32Array;
  readonly full: number[];
}

/** Creates a finder that also marks and counts the cells of rows. Results are valid until the next call. */
function createChunkPositions({ dates, assets, filled, days, left, full }: Cells) {
  const rowByDay = createDayPositions(dates);
  const firstDay = dates[0]!;
  const cells = new Int32Array(CHUNK_ROWS_MAX);
  const runs = new Int32Array(CHUNK_ROWS_MAX + 1);
  const countRows = (t: number, rows: number): void => {
    const batch = Math.floor(t / days);
    left[batch]! -= rows;
    if (left[batch] === 0) full.push(batch);
  };
  return (dayOf: Int32Array, nameOf: Int32Array, size: number): ChunkPositions => {
    let isSound = true;
    let runCount = 0;
    /** Previous day, its row in the panels, and the first row of the chunk with this day. */
    let [day, t, since] = [firstDay - 1, -1, 0];
    for (let i = 0, next = -1; i < size; i++) {
      if (dayOf[i] !== day) {
        if (t >= 0) countRows(t, i - since);
        day = dayOf[i]!;
        t = rowByDay[day - firstDay] ?? -1;
        since = i;
        next = -1;
      }
      const name = nameOf[i]!;
      const cell = t < 0 || name < 0 ? -1 : t * assets + name;
      if (cell !== next || cell < 0) runs[runCount++] = i;
      next = cell + 1;
      cells[i] = cell;
      if (cell < 0 || filled[cell] === 1) isSound = false;
      else filled[cell] = 1;
    }
    if (t >= 0) countRows(t, size - since);
    runs[runCount] = size;
    return { cells, runs, runCount, isSound };
  };
}

interface Column {
  readonly field: number;
  readonly values: Float64Array;
  /** Minimum valid value. */
  readonly floor: number;
}

/** Writes the columns of one chunk to their panels. Returns false if a value is below its minimum or infinite. */
function writeColumns(columns: readonly Column[], places: ChunkPositions, room: PanelBuffer): boolean {
  const { cells, runs, runCount } = places;
  let isSound = true;
  if (runCount * RUN_ROWS_MIN > runs[runCount]!) {
    const panels = room.open();
    for (const column of columns) if (!writeColumn(column, places, panels[column.field]!)) isSound = false;
    return isSound;
  }
  for (let r = 0; r < runCount; r++) {
    const [from, to] = [runs[r]!, runs[r + 1]!];
    const cell = cells[from]!;
    if (cell < 0) continue;
    const batch = room.batchOf(cell); // all rows of a run have the same day
    const run = { from, to, first: cell - room.firstOf(batch) };
    for (const { field, values, floor } of columns)
      if (!copyRun(values, run, room.cellsOf(batch, field), floor)) isSound = false;
  }
  return isSound;
}

function writeColumn(
  { values, floor }: Column,
  { cells, runs, runCount }: ChunkPositions,
  panel: Float64Array,
): boolean {
  const size = runs[runCount]!;
  let isSound = true;
  for (let i = 0; i < size; i++) {
    const value = values[i]!;
    if (value !== value) panel[cells[i]!] = Number.NaN; // replaces any NaN by the standard NaN
    else {
      if (!(value >= floor && value <= Number.MAX_VALUE)) isSound = false;
      panel[cells[i]!] = value + 0; // + 0 converts a negative zero to 0
    }
  }
  return isSound;
}

interface Run {
  /** Range of rows of the run. */
  readonly from: number;
  readonly to: number;
  /** Cell of the first row. */
  readonly first: number;
}

/** Writes one column of rows with contiguous cells; this is the hot loop. */
function copyRun(values: Float64Array, { from, to, first }: Run, cells: Float64Array, floor: number): boolean {
  const shift = first - from;
  let isSound = true;
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    if (value >= floor && value <= Number.MAX_VALUE) cells[i + shift] = value + 0;
    else if (value !== value) cells[i + shift] = Number.NaN;
    else isSound = false;
  }
  return isSound;
}

/** Sets unfilled cells to NaN. @param filled 1 for each filled cell */
function emptyUnfilled(cells: Float64Array, filled: Uint8Array): void {
  for (let cell = 0; cell < filled.length; cell++) if (filled[cell] === 0) cells[cell] = Number.NaN;
}

/** Message to a reading thread. */
export type ScatterMessage =
  | { readonly kind: 'open'; readonly settings: string }
  | { readonly kind: 'scatter'; readonly order: ScatterOrder };

export interface ScatterOrder {
  readonly target: StripeTarget;
  /** File to which each panel is written. It is undefined for a panel in memory. */
  readonly places: readonly (WritableFile | undefined)[];
  /** Panel column of each spelling of an identifier. */
  readonly positions: readonly (readonly [string, number])[];
  /** Queries of day, identifier and numbers, which together return each row once. */
  readonly parts: readonly string[];
  /** Index of the next part to read, [1] in shared memory. */
  readonly next: Int32Array;
}

export type ScatterReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'rows'; readonly rows: number }
  | { readonly kind: 'complete'; readonly batch: number }
  | { readonly kind: 'digest'; readonly block: number; readonly digest: Uint8Array }
  | { readonly kind: 'done'; readonly rows: number; readonly isSound: boolean }
  | { readonly kind: 'failed'; readonly message: string };

/** Minimum size in bytes of the files of a market for separate reading threads. Each thread takes 0.1 s to start. */
export const SCATTERED_BYTES_MIN = 64 << 20;

/** Maximum number of threads that read one market. With more threads, the disk and the hashes limit the speed. */
const THREADS_MAX = 4;

/** Maximum size of the buffers of all threads, as a share of the memory for panels. */
const STAGED_SHARE = 0.5;

/** Number of parts per thread. With several parts, all threads end at about the same time. */
const PARTS_PER_THREAD = 4;

/** Threads that read a market. */
export interface Scattering {
  /** Suggested number of parts of the source. */
  readonly parts: number;
  /** Resolves to true if all threads are ready to read. */
  areReady(): Promise<boolean>;
  /**
   * Reads the parts of a market into its panels.
   * @param positions arguments of `createNameTable`, without spellings that are too long
   * @throws Error with the message of DuckDB
   */
  scatter(
    reading: Pick<ScatterOrder, 'parts' | 'positions'>,
    target: RowTarget,
    onRows: (rows: number) => void,
    follower?: DayFollower,
  ): Promise<ScatterResult>;
  end(): Promise<void>;
}

/** Starts the threads that read a market. @param settings SQL settings of the DuckDB of each thread */
export function startScattering(settings: string): Scattering {
  const count = Math.min(THREADS_MAX, availableParallelism());
  const start = (): StartedThread => {
    const thread = new Worker(new URL('./scattering-thread.js', import.meta.url));
    thread.on('error', () => {}); // an exit follows
    const openReport = requestReport(thread, { kind: 'open', settings: `SET threads = 1; ${settings}` }, () => {});
    const isReady = openReport.then(
      ({ kind }) => kind === 'ready',
      () => false,
    );
    return { thread, isReady };
  };
  const startedThreads = Array.from({ length: count }, start);
  return {
    parts: count * PARTS_PER_THREAD,
    areReady: async () => (await Promise.all(startedThreads.map(({ isReady }) => isReady))).every(Boolean),
    async scatter(reading, target, onRows, follower) {
      const { order, panels, days } = createOrder(reading, target, count + 1);
      const { left, hashed } = order.target;
      if (hashed !== null) startedThreads.push(start()); // compensates for a thread that waits for the disk
      let rows = 0;
      const onReport = (answer: ScatterReport): void => {
        if (answer.kind === 'rows') onRows((rows += answer.rows));
        if (answer.kind === 'digest') follower?.digested?.(answer.block, answer.digest);
        if (answer.kind === 'complete')
          follower?.complete(answer.batch * days, Math.min((answer.batch + 1) * days, target.dates.length));
      };
      follower?.begin(panels);
      const answers = await awaitAll(
        startedThreads.map(async ({ thread, isReady }) =>
          (await isReady) ? requestReport(thread, { kind: 'scatter', order }, onReport) : EMPTY_REPORT,
        ),
      );
      let isSound = left.every((rest) => rest === 0);
      for (const answer of answers) {
        if (answer.kind === 'failed') throw new Error(answer.message);
        if (answer.kind === 'done') rows += answer.rows;
        if (answer.kind !== 'done' || !answer.isSound) isSound = false;
      }
      return { panels, rows, isSound };
    },
    async end() {
      await Promise.all(startedThreads.map(({ thread }) => thread.terminate()));
    },
  };
}

interface StartedThread {
  readonly thread: Worker;
  /** Resolves to true if the thread can read. */
  readonly isReady: Promise<boolean>;
}

/** Answer in place of a thread that is not ready. The other threads read its parts. */
const EMPTY_REPORT: ScatterReport = { kind: 'done', rows: 0, isSound: true };

/** Returns the last answer of a thread to a message. @throws Error if the thread ends without an answer */
function requestReport(
  thread: Worker,
  message: ScatterMessage,
  onAnswer: (answer: ScatterReport) => void,
): Promise<ScatterReport> {
  return new Promise<ScatterReport>((resolve, reject) => {
    const onMessage = (answer: ScatterReport): void => {
      onAnswer(answer);
      if (answer.kind === 'rows' || answer.kind === 'complete' || answer.kind === 'digest') return;
      thread.off('message', onMessage);
      thread.off('error', reject);
      resolve(answer);
    };
    thread.on('message', onMessage);
    thread.on('error', reject);
    thread.once('exit', () => reject(new Error('a thread that reads ended')));
    thread.postMessage(message, []);
  });
}

function createOrder(
  { parts, positions }: Pick<ScatterOrder, 'parts' | 'positions'>,
  { identifiers, dates, fields, rowsOfDay }: RowTarget,
  threads: number,
) {
  const assets = identifiers.length;
  const panels = fields.map(() => allocateHandedPanel(dates.length * assets, fields.length));
  const shape = { assets, fields: fields.length };
  const days = computeBatchDays(shape, BLOCK_DAYS);
  const writableFiles = panels.map(({ buffer }) => findWritableFile(buffer));
  const isHashed =
    writableFiles.every((place) => place?.isOnDisk) &&
    threads * computeStageBytes(shape) <= STAGED_SHARE * findMemoryLimit().panelBytes;
  const stripeDays = isHashed ? BLOCK_DAYS : computeStripeDays(shape);
  const target: StripeTarget = {
    assets,
    dates,
    rowsOfDay,
    panels,
    floors: listFloors(fields),
    batchDays: days,
    stripeDays,
    left: copyToSharedIntegers(sumRowGroups(rowsOfDay, days)),
    whole: copyToSharedIntegers(new Int32Array(Math.ceil(dates.length / stripeDays))),
    filled: new Uint8Array(new SharedArrayBuffer(dates.length * assets)),
    hashed: isHashed ? fields.toSorted(compareText).map((name) => fields.indexOf(name)) : null,
  };
  const next = copyToSharedIntegers(new Int32Array(1));
  return {
    order: { target, places: writableFiles, positions, parts, next } satisfies ScatterOrder,
    panels: { identifiers, dates, fields: new Map(fields.map((name, f) => [name, panels[f]!])) },
    days,
  };
}

const computeStageBytes = ({ assets, fields }: { readonly assets: number; readonly fields: number }): number =>
  STAGED_BLOCKS_MAX * computePanelBytes({ dates: BLOCK_DAYS, identifiers: assets, fields });

function copyToSharedIntegers(values: Int32Array): Int32Array {
  const sharedIntegers = new Int32Array(new SharedArrayBuffer(values.byteLength));
  sharedIntegers.set(values);
  return sharedIntegers;
}
