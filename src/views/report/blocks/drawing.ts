import type { BlockKindName, BlockOf } from '#domain/reports/block-kinds.js';
import type { RunFigures } from '../figures.js';
import type { LaidBlock } from '../page/layout.js';
import type { Typesetter } from '../text/typesetter.js';

export interface DrawingContext {
  readonly width: number;
  /** Height between the margins in points. A part that cannot be divided may not be higher. */
  readonly pageHeight: number;
  readonly typesetter: Typesetter;
  /** Figures of the run that the block shows; null if the block shows no run. */
  readonly figures: RunFigures | null;
  /** Name of the report. */
  readonly reportName: string;
}

/** Function that converts one kind of block to parts of a page. */
export type Drawing<K extends BlockKindName> = (block: BlockOf<K>, context: DrawingContext) => LaidBlock;

/**
 * Returns the figures of a block that always shows a run. A block of this kind without a run is refused before the
 * report is drawn.
 */
export function requireFigures({ figures }: DrawingContext): RunFigures {
  if (figures === null) throw new Error('a block that shows a run is bound to none');
  return figures;
}
