import type { Canvas, StructureElement } from './canvas.js';

/** Piece of a page that cannot be divided, for example a table row, a line of text or a chart. */
export interface Part {
  readonly height: number;
  /** Draws the part with its upper left corner at a position. */
  draw(canvas: Canvas, spot: Spot): void;
}

export interface Spot {
  readonly x: number;
  readonly y: number;
  /** Structure element of the block that contains the part. */
  readonly parent: StructureElement;
}

/** Rows with a common header. The header is repeated on every page. */
export interface Section {
  readonly head: Part | null;
  readonly rows: readonly Part[];
}

/** A block divided into parts for a given width. */
export interface LaidBlock {
  /** Title, drawn once and kept on one page with the next part. */
  readonly title: Part | null;
  readonly sections: readonly Section[];
  /** True if the block starts a new page. */
  readonly startsPage?: boolean;
}

/** A block with its horizontal position. */
export interface AlignedBlock {
  readonly block: LaidBlock;
  readonly x: number;
}

/** A part with its position on a page. */
export interface Placement {
  readonly part: Part;
  readonly x: number;
  readonly y: number;
  /** Position of the block in the report. */
  readonly block: number;
}

/** Returns a part that consists of white space. */
export function createSpacer(height: number): Part {
  return { height, draw() {} };
}

/** Returns a part that draws other parts one below the other. */
export function stackParts(parts: readonly Part[]): Part {
  return {
    height: parts.reduce((sum, { height }) => sum + height, 0),
    draw(canvas, { x, y, parent }) {
      let top = y;
      for (const part of parts) {
        part.draw(canvas, { x, y: top, parent });
        top += part.height;
      }
    },
  };
}
