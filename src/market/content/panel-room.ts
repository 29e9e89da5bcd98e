import { isWritten, memoryLimit, writeInto } from '#kernels/memory/paged-memory.js';

/** Where the cells of panels lie while they are filled: batch by batch of days. */
export interface PanelRoom {
  batchOf(cell: number): number;
  /** First cell of a batch. */
  firstOf(batch: number): number;
  /** The cells of a batch of one panel, to be filled before the room is asked for another batch. */
  cellsOf(batch: number, field: number): Float64Array;
  /** The panels themselves: cells may be anywhere from now on. */
  open(): readonly Float64Array[];
  /** The cells of a batch are filled, and are in the panels from now on. */
  close(batch: number): void;
}

/** Batches that are filled apart at a time: a scan each, and one that is left behind. */
const APART_MAX = 4;

/** Of the memory of panels, what batches may take that are filled apart. */
const APART_SHARE = 0.5;

/**
 * Room for panels that are filled. Where they are paged, a batch is filled in other memory and written to them as a whole,
 * for it costs the system more to put pages of a file into memory one by one than all else costs. That goes on as long as rows
 * come in the order of the panels.
 */
export function createPanelRoom(panels: readonly Float64Array[], batchCells: number): PanelRoom {
  const batchBytes = batchCells * panels.length * Float64Array.BYTES_PER_ELEMENT;
  const most = Math.min(APART_MAX, Math.floor((APART_SHARE * memoryLimit().panelBytes) / batchBytes));
  let isApart = most > 0 && panels.length > 0 && panels.every(({ buffer }) => isWritten(buffer));
  /** By batch, the one that was used longest ago first. */
  const apart = new Map<number, readonly Float64Array[]>();
  /** Batches that are filled in the panels. */
  const within = new Set<number>();
  const spare: (readonly Float64Array[])[] = [];
  let last: { readonly batch: number; readonly cells: readonly Float64Array[] } | undefined;

  const inPanels = (batch: number): readonly Float64Array[] =>
    panels.map((panel) => panel.subarray(batch * batchCells, (batch + 1) * batchCells));

  function open(batch: number): readonly Float64Array[] {
    if (!isApart || within.has(batch)) return inPanels(batch);
    const held = apart.get(batch);
    apart.delete(batch);
    if (held === undefined && apart.size === most) write(apart.keys().next().value!); // there is one
    const cells = held ?? spare.pop() ?? panels.map(() => new Float64Array(batchCells));
    apart.set(batch, cells);
    return cells;
  }

  /** What a batch has so far goes into the panels, and so does what it gets. */
  function write(batch: number): void {
    within.add(batch);
    const cells = apart.get(batch);
    if (cells === undefined) return;
    apart.delete(batch);
    spare.push(cells);
    for (const [f, panel] of panels.entries()) {
      const { buffer, byteOffset, byteLength } = panel.subarray(batch * batchCells, (batch + 1) * batchCells);
      writeInto(buffer, byteOffset, new Uint8Array(cells[f]!.buffer, 0, byteLength));
    }
  }

  return {
    batchOf: (cell) => Math.floor(cell / batchCells),
    firstOf: (batch) => batch * batchCells,
    cellsOf(batch, field) {
      if (last?.batch !== batch) last = { batch, cells: open(batch) };
      return last.cells[field]!;
    },
    open() {
      for (const batch of apart.keys()) write(batch);
      isApart = false;
      last = undefined;
      spare.length = 0;
      return panels;
    },
    close(batch) {
      write(batch);
      last = undefined;
    },
  };
}
