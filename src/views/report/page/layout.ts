import type { Canvas, StructureElement } from './canvas.js';

/** A piece of a page that is never cut: a row of a table, a line of text, a chart. */
export interface Part {
  readonly height: number;
  /** Draws the part with its upper left corner at a point. */
  draw(canvas: Canvas, at: Spot): void;
}

export interface Spot {
  readonly x: number;
  readonly y: number;
  /** Element of the block to which the part belongs. */
  readonly parent: StructureElement;
}

/** Rows that belong together, with a header that is repeated on every page. */
export interface Section {
  readonly head: Part | null;
  readonly rows: readonly Part[];
}

/** A block broken into parts for one width. */
export interface LaidBlock {
  /** Drawn once and never separated from the part after it. */
  readonly title: Part | null;
  readonly sections: readonly Section[];
  /** True if it is at the top of a page. */
  readonly startsPage?: boolean;
}

/** A block with its place between the margins. */
export interface AlignedBlock {
  readonly block: LaidBlock;
  readonly x: number;
}

/** A part on its page. */
export interface Placement {
  readonly part: Part;
  readonly x: number;
  readonly y: number;
  /** Position of the part's block in the report. */
  readonly block: number;
}

/** White space as a separate part. */
export function spacer(height: number): Part {
  return { height, draw() {} };
}

/** Returns a part that draws others below each other. */
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
