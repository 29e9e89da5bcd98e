import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { blockFields, defineBlockKind, listNames } from '../block.js';

interface StatEntry {
  /** Label printed above the figure. */
  readonly label: string;
  /** Definition of the figure, printed after its label. */
  readonly meaning: string;
  /** Runs for which a grid shows the figure by default. */
  readonly usual: 'every run' | 'no overlay' | 'derived' | 'short positions' | 'none';
}

/** Figures of a run that a grid can show. */
export const STATS = {
  total_return: {
    label: 'Return',
    meaning: 'is the last level over the first, minus 1, for the named variant: price, total or net total return.',
    usual: 'every run',
  },
  month_to_date: {
    label: 'Month to date',
    meaning: 'is the return since the last session of the previous month, or since the first session of a shorter run.',
    usual: 'none',
  },
  year_to_date: {
    label: 'Year to date',
    meaning: 'is the return since the last session of the previous year, or since the first session of a shorter run.',
    usual: 'none',
  },
  annualised_return: {
    label: 'Annualised return',
    meaning: 'compounds the return over the sessions of a year: 252, or 365 if the calendar trades every day.',
    usual: 'every run',
  },
  volatility: {
    label: 'Volatility',
    meaning: 'is the standard deviation of session returns, annualised.',
    usual: 'every run',
  },
  sharpe_ratio: {
    label: 'Sharpe ratio',
    meaning: 'is the mean session return over its standard deviation, annualised, with a risk-free rate of zero.',
    usual: 'every run',
  },
  max_drawdown: {
    label: 'Max drawdown',
    meaning: 'is the deepest fall of the level from a previous high.',
    usual: 'every run',
  },
  tracking_error: {
    label: 'Tracking error to index',
    meaning:
      'is the standard deviation of the differences of session returns between the portfolio and its index, annualised.',
    usual: 'no overlay',
  },
  tracking_difference: {
    label: 'Tracking difference to index',
    meaning: 'is the return of the portfolio minus that of its index.',
    usual: 'no overlay',
  },
  parent_tracking_error: {
    label: 'Tracking error to parent',
    meaning: 'is the tracking error against the parent of a derived index.',
    usual: 'derived',
  },
  forecast_tracking_error: {
    label: 'Forecast tracking error',
    meaning:
      'is the tracking error to the parent forecast by the risk model at the rebalances, as a root mean square over the dates.',
    usual: 'derived',
  },
  constituents: {
    label: 'Constituents',
    meaning: 'are the securities with a weight above 0 on the last date.',
    usual: 'every run',
  },
  effective_assets: {
    label: 'Effective assets',
    meaning: 'is 1 over the sum of the squared weights on the last date.',
    usual: 'every run',
  },
  largest: { label: 'Largest weight', meaning: 'is the largest weight on the last date.', usual: 'every run' },
  long_exposure: {
    label: 'Long exposure',
    meaning: 'is the sum of the long weights of the last rebalance.',
    usual: 'short positions',
  },
  short_exposure: {
    label: 'Short exposure',
    meaning: 'is the sum of the short weights of the last rebalance.',
    usual: 'short positions',
  },
  gross_exposure: {
    label: 'Gross exposure',
    meaning: 'is the sum of the absolute weights of the last rebalance.',
    usual: 'short positions',
  },
  net_exposure: {
    label: 'Net exposure',
    meaning: 'is the sum of the weights of the last rebalance; the difference from 1 is cash.',
    usual: 'short positions',
  },
  transaction_cost: {
    label: 'Transaction cost',
    meaning: 'is the cost of a trade, in basis points of its value.',
    usual: 'none',
  },
} as const satisfies Readonly<Record<string, StatEntry>>;
export type Stat = keyof typeof STATS;

const NAMES = listNames(STATS);

const VALUES_MAX = 60;

export const statGrid = defineBlockKind({
  help: 'Figures of a run in a grid, or values in the template.',
  schema: defineObject(() => ({
    kind: z.literal('stat_grid'),
    ...blockFields,
    stats: z.array(z.enum(NAMES)).max(VALUES_MAX).nullable().default(null).meta({
      description:
        'Figures, in the order in which they are printed. Default: the figures of every run; tracking figures unless the index is an overlay; tracking error to the parent for a derived index; exposures for a run with short positions. There is no default if `values` is present.',
    }),
    columns: z.int().min(1).max(6).default(4).meta({ description: 'Number of figures per row.' }),
    values: z
      .record(z.string().max(80), z.string().max(200))
      .refine((values) => Object.keys(values).length <= VALUES_MAX, {
        params: { finding: 'OUT_OF_RANGE' },
        error: `has more than ${VALUES_MAX} entries`,
      })
      .nullable()
      .default(null)
      .meta({ description: 'Texts by label, which are printed after the figures.' }),
  })).meta({ id: 'StatGridBlock' }),
  example: {
    kind: 'stat_grid',
    index_id: 'LARGE-100',
    stats: ['total_return', 'annualised_return', 'volatility', 'max_drawdown'],
    columns: 4,
  },
  runUse: (block) => (selectStats(block).length > 0 ? 'always' : 'never'),
});

/** Properties of a run that determine its figures. */
export interface StatRun {
  readonly isDerived: boolean;
  /** True if the index is an overlay. No portfolio follows an overlay. */
  readonly isOverlay: boolean;
  readonly hasShorts: boolean;
}

/** Returns the figures of a run that a grid shows. Default: the usual figures of the run. */
export function selectStats(
  {
    stats,
    values,
  }: { readonly stats: readonly Stat[] | null; readonly values: Readonly<Record<string, string>> | null },
  { isDerived, isOverlay, hasShorts }: StatRun = { isDerived: false, isOverlay: false, hasShorts: false },
): readonly Stat[] {
  if (stats !== null) return stats;
  if (values !== null) return [];
  const isShown = {
    'every run': true,
    'no overlay': !isOverlay,
    derived: isDerived,
    'short positions': hasShorts,
    none: false,
  };
  return NAMES.filter((name) => isShown[STATS[name].usual]);
}
