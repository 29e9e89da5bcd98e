import type { BlockKindName, BlockOf } from '#domain/reports/block-kinds.js';
import type { RunFigures } from '../figures.js';
import type { LaidBlock } from '../page/layout.js';
import type { Typesetter } from '../text/typesetter.js';

export interface DrawingContext {
  readonly width: number;
  /** Height between the margins, the maximum height of a part that cannot be divided. */
  readonly pageHeight: number;
  readonly typesetter: Typesetter;
  /** The run a block is bound to; null if it is bound to none. */
  readonly figures: RunFigures | null;
  /** Name of the report. */
  readonly reportName: string;
}

/** Converts one kind of block into parts of a page. */
export type Drawing<K extends BlockKindName> = (block: BlockOf<K>, context: DrawingContext) => LaidBlock;

/** Returns the run of a block that is always bound. A report is refused before it is drawn when it is not. */
export function requireFigures({ figures }: DrawingContext): RunFigures {
  if (figures === null) throw new Error('a block that shows a run is bound to none');
  return figures;
}
