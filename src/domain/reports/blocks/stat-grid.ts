import { z } from 'zod';
import { blockFields, blockKind } from '../block.js';

/** Figures of every run. */
const USUAL = [
  'total_return',
  'annualised_return',
  'volatility',
  'sharpe_ratio',
  'max_drawdown',
  'tracking_error',
  'tracking_difference',
  'constituents',
  'effective_assets',
  'largest',
] as const;
/** Figures that matter beside short positions. */
const EXPOSURES = ['long_exposure', 'short_exposure', 'gross_exposure', 'net_exposure'] as const;

export const STATS = [...USUAL, ...EXPOSURES] as const;
export type Stat = (typeof STATS)[number];

const VALUES_MAX = 60;

export const statGrid = blockKind({
  help: 'Figures of a run in a grid, or values given by the template.',
  schema: z
    .strictObject({
      kind: z.literal('stat_grid'),
      ...blockFields,
      stats: z.array(z.enum(STATS)).max(VALUES_MAX).nullable().default(null).meta({
        description:
          'Figures in the order printed. Default: all of them (exposures only for a run with short positions), or none where values are given.',
      }),
      columns: z.int().min(1).max(6).default(4).meta({ description: 'Figures in a row.' }),
      values: z
        .record(z.string().max(80), z.string().max(200))
        .refine((values) => Object.keys(values).length <= VALUES_MAX, {
          params: { finding: 'OUT_OF_RANGE' },
          error: `has more than ${VALUES_MAX} entries`,
        })
        .nullable()
        .default(null)
        .meta({ description: 'Label to text, printed as given after the figures.' }),
    })
    .meta({ id: 'StatGridBlock' }),
  example: {
    kind: 'stat_grid',
    index_id: 'LARGE-100',
    stats: ['total_return', 'annualised_return', 'volatility', 'max_drawdown'],
    columns: 4,
  },
  runUse: (block) => (statsOf(block).length > 0 ? 'always' : 'never'),
});

/** The figures that a grid shows, of a run with short positions or without. */
export function statsOf(
  {
    stats,
    values,
  }: { readonly stats: readonly Stat[] | null; readonly values: Readonly<Record<string, string>> | null },
  hasShorts = false,
): readonly Stat[] {
  return stats ?? (values === null ? (hasShorts ? STATS : USUAL) : []);
}
