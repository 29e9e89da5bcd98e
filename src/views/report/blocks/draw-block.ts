import type { BlockKindName, ReportBlock } from '#domain/reports/block-kinds.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { LaidBlock } from '../page/layout.js';
import { drawBarChart } from './bar-chart.js';
import { drawChart } from './chart.js';
import type { Drawing, DrawingContext } from './drawing.js';
import { drawHeader } from './header.js';
import { drawStatGrid } from './stat-grid.js';
import { drawTable } from './table.js';
import { drawText } from './text.js';
import { notePart, titlePart } from './titled.js';

/** Drawing of each kind of block; a kind without a drawing does not compile. */
const DRAWINGS: { readonly [K in BlockKindName]: Drawing<K> } = {
  bar_chart: drawBarChart,
  chart: drawChart,
  header: drawHeader,
  stat_grid: drawStatGrid,
  table: drawTable,
  text: drawText,
};

/**
 * Divides a block into parts. If a run lacks the data of a block, the block shows the reason, and the rest of the
 * report is drawn.
 */
export function drawBlock(block: ReportBlock, context: DrawingContext): LaidBlock {
  const { width, typesetter } = context;
  try {
    // The drawing was looked up by the kind of the block, so it matches.
    return (DRAWINGS[block.kind] as Drawing<BlockKindName>)(block as never, context);
  } catch (failure) {
    if (!(failure instanceof Refusal) || failure.code !== 'TOTAL_LOSS') throw failure;
    return {
      title: titlePart(block.title, width, typesetter),
      sections: [{ head: null, rows: [notePart(failure.message, width, typesetter)] }],
    };
  }
}
