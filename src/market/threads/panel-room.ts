import { isWritten, findMemoryLimit, writeInto, writeIntoApart } from '#kernels/memory/paged-memory.js';
import { awaitAll } from '../panels/settle-all.js';

/** Buffer for writes to panels, which are filled in batches of days. */
export interface PanelBuffer {
  batchOf(cell: number): number;
  /** Returns the first cell of a batch. */
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
  /** Batches that are filled directly in the panels. */
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
