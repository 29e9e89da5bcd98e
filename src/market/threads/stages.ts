import { PADDING_BYTES } from '#kernels/memory/uncached-writes.js';

/** Buffer for the cells of some consecutive days (a stripe) before they are copied to the panels. */
export interface Stage {
  /** [field], [days x assets] each. */
  readonly cells: readonly Float64Array[];
  /** 1 for each filled cell. */
  readonly flags: Uint8Array;
  rows: number;
  /** Sets the offset of the cells of each field in its memory, below `PADDING_BYTES`. */
  begin(byteIn: (room: ArrayBuffer, field: number) => number): void;
}

export function createStage(fields: number, stripeCells: number): Stage {
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
export function clearUnfilled(cells: readonly Float64Array[], flags: Uint8Array, count: number): number {
  if (flags.indexOf(0) < 0) return count;
  let filledCount = 0;
  for (let cell = 0; cell < count; cell++) {
    if (flags[cell] === 1) filledCount += 1;
    else for (const values of cells) values[cell] = Number.NaN;
  }
  return filledCount;
}
