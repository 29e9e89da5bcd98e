import { z } from 'zod';
import type { BlockKind, Readers, RunUse } from './block.js';
import { barChart } from './blocks/bar-chart.js';
import { chart } from './blocks/chart.js';
import { header } from './blocks/header.js';
import { statGrid } from './blocks/stat-grid.js';
import { MARKET_SOURCES, table } from './blocks/table.js';
import { text } from './blocks/text.js';

/** All kinds of blocks, by their name in templates. */
export const BLOCK_KINDS = {
  bar_chart: barChart,
  chart,
  header,
  stat_grid: statGrid,
  table,
  text,
} as const;

export type BlockKindName = keyof typeof BLOCK_KINDS;

/** Block of a given kind. */
export type BlockOf<K extends BlockKindName> = z.output<(typeof BLOCK_KINDS)[K]['schema']>;

export const ReportBlock = z
  .discriminatedUnion('kind', [
    barChart.schema,
    chart.schema,
    header.schema,
    statGrid.schema,
    table.schema,
    text.schema,
  ])
  .meta({
    id: 'ReportBlock',
    description: Object.entries(BLOCK_KINDS)
      .map(([kind, { help }]) => `\`${kind}\`: ${help}`)
      .join('\n\n'),
  });
export type ReportBlock = z.infer<typeof ReportBlock>;

export function findRunUse(block: ReportBlock): RunUse {
  // The entry was looked up by the kind of the block, so it accepts the block.
  const entry = BLOCK_KINDS[block.kind] as unknown as BlockKind;
  return entry.runUse(block);
}

/** Member with a non-default value that its block does not use. */
export interface IdleMember {
  readonly member: string;
  readonly value: unknown;
  readonly readers: Readers;
}

export function listIdleMembers(block: ReportBlock): IdleMember[] {
  const entry = BLOCK_KINDS[block.kind] as unknown as BlockKind; // narrowed as in `findRunUse`
  const values: Readonly<Record<string, unknown>> = block;
  return Object.entries(entry.readers ?? {}).flatMap(([member, readers]) => {
    const chosenValues = [values[readers.member]].flat();
    const value = values[member];
    const defaultValue = (entry.schema.shape[member] as z.ZodType).safeParse(undefined).data;
    return value === defaultValue || readers.of.some((name) => chosenValues.includes(name))
      ? []
      : [{ member, value, readers }];
  });
}

/** Returns the indices whose runs a report uses, in the order of its blocks. */
export function listBoundIndices({ blocks }: { readonly blocks: readonly ReportBlock[] }): string[] {
  return [
    ...new Set(
      blocks.flatMap((block) => (block.index_id === null || findRunUse(block) === 'never' ? [] : [block.index_id])),
    ),
  ];
}

/** Returns true if a report needs the market of an index. */
export function needsMarket({ blocks }: { readonly blocks: readonly ReportBlock[] }, indexId: string): boolean {
  return blocks.some(
    (block) => block.kind === 'table' && MARKET_SOURCES.has(block.source) && block.index_id === indexId,
  );
}

/**
 * Returns true if a report shows the risk of the holdings of an index. This risk is estimated when the report is
 * rendered.
 */
export function needsRisk({ blocks }: { readonly blocks: readonly ReportBlock[] }, indexId: string): boolean {
  return blocks.some((block) => block.kind === 'table' && block.source === 'risk' && block.index_id === indexId);
}
