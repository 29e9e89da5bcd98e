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
import { createNotePart, createTitlePart } from './titled.js';

/** Drawing functions by kind of block. A kind without a function does not compile. */
const DRAWINGS: { readonly [K in BlockKindName]: Drawing<K> } = {
  bar_chart: drawBarChart,
  chart: drawChart,
  header: drawHeader,
  stat_grid: drawStatGrid,
  table: drawTable,
  text: drawText,
};

/**
 * Divides a block into parts. If the run lacks data for the block, the block shows the reason; the rest of the report
 * is drawn as usual.
 */
export function drawBlock(block: ReportBlock, context: DrawingContext): LaidBlock {
  const { width, typesetter } = context;
  try {
    // The kind of the block determines the drawing function.
    return (DRAWINGS[block.kind] as Drawing<BlockKindName>)(block as never, context);
  } catch (failure) {
    if (!(failure instanceof Refusal) || failure.code !== 'TOTAL_LOSS') throw failure;
    return {
      title: createTitlePart(block.title, width, typesetter),
      sections: [{ head: null, rows: [createNotePart(failure.message, width, typesetter)] }],
    };
  }
}
