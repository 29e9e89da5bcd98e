import type { z } from 'zod';
import { DEFAULT_LIMIT_RULE } from '../compliance/rules.js';
import { repeatTemplate } from './bind-template.js';
import { STATS, type Stat } from './blocks/stat-grid.js';
import { ReportTemplateDocument } from './template-document.js';

type Draft = z.input<typeof ReportTemplateDocument>;
type Blocks = NonNullable<Draft['blocks']>;

/** Ids of the built-in templates: they can be rendered and read, but not changed. */
export const BUILT_IN_IDS = ['FACTSHEET-A4', 'FACTSHEET-LETTER', 'REBALANCE-A4', 'TEARSHEET-A4'] as const;
export type BuiltInId = (typeof BUILT_IN_IDS)[number];

export function isBuiltIn(templateId: string): templateId is BuiltInId {
  return (BUILT_IN_IDS as readonly string[]).includes(templateId);
}

/** Returns the document of a built-in template with its blocks bound to an index. Null leaves them unbound. */
export function createBuiltInTemplate(templateId: BuiltInId, indexId: string | null = null): ReportTemplateDocument {
  return repeatTemplate(ReportTemplateDocument.parse({ template_id: templateId, ...DRAFTS[templateId] }), [indexId]);
}

const MARGIN = 48;

/** Figures with a definition in the notes of a report. */
const DEFINED_STATS = [
  'annualised_return',
  'volatility',
  'sharpe_ratio',
  'max_drawdown',
  'tracking_error',
  'tracking_difference',
  'parent_tracking_error',
  'forecast_tracking_error',
  'effective_assets',
] as const satisfies readonly Stat[];

const DEFINITIONS = `${[
  '**Level** is the value of a portfolio that follows the index, rebased to 100 on its first date.',
  ...DEFINED_STATS.map((stat) => `**${STATS[stat].label}** ${STATS[stat].meaning}`),
  '**Contributions** are linked over time so that they sum to the return of the portfolio.',
].join(' ')}

Figures come from a backtest over historical data, after the transaction cost named at the top, before fees and taxes. Past performance, actual or simulated, does not indicate future results.`;

interface FactsheetSizes {
  /** Heights of the charts in points. */
  readonly performance: number;
  readonly drawdown: number;
  /** Maximum number of constituents in a list, and of contributors and detractors together. */
  readonly names: number;
}

/**
 * Blocks of a factsheet of two pages: description and performance of the index, then its risk and history. There is
 * space for a third row of figures and a long name. Some sections exist only for some indices (parts of an overlay,
 * breaches); they may need a third page.
 */
const createFactsheet = ({ performance, drawdown, names }: FactsheetSizes): Blocks => [
  { kind: 'header', subtitle: 'Index factsheet' },
  { kind: 'stat_grid', columns: 6 },
  { kind: 'chart', title: 'Performance', lines: ['level', 'benchmark'], height: performance },
  { kind: 'table', title: 'Largest constituents', source: 'constituents', limit: names, width: 'half' },
  { kind: 'bar_chart', title: 'Contributors and detractors', source: 'contributions', limit: names, width: 'half' },
  { kind: 'bar_chart', title: 'Return by calendar year', source: 'annual_returns', limit: 10, width: 'half' },
  { kind: 'bar_chart', title: 'Weight by sector', source: 'sector_weights', limit: 10, width: 'half' },
  {
    kind: 'chart',
    title: 'Drawdown and volatility',
    lines: ['drawdown', 'rolling_volatility', 'headroom'],
    height: drawdown,
  },
  { kind: 'table', title: 'Return by month', source: 'monthly_returns', limit: 10 },
  { kind: 'table', title: 'Latest rebalances', source: 'rebalances', limit: 4 },
  { kind: 'table', title: 'Return of the overlay', source: 'overlay_parts' },
  { kind: 'table', title: 'Breaches of the rule watched', source: 'breaches', limit: 4 },
  { kind: 'text', title: 'Definitions', text: DEFINITIONS },
];

const tearsheet: Blocks = [
  { kind: 'header', subtitle: 'Performance and risk' },
  { kind: 'stat_grid', columns: 5 },
  {
    kind: 'chart',
    title: 'Performance, logarithmic scale',
    lines: ['level', 'index_level', 'benchmark'],
    log_scale: true,
    height: 200,
  },
  { kind: 'chart', title: 'Drawdown and volatility', lines: ['drawdown', 'rolling_volatility'], height: 200 },
  { kind: 'table', title: 'Return by month', source: 'monthly_returns', limit: 30 },
  { kind: 'bar_chart', title: 'Return by calendar year', source: 'annual_returns', limit: 30 },
  { kind: 'bar_chart', title: 'Contributors and detractors', source: 'contributions', limit: 20, width: 'half' },
  { kind: 'bar_chart', title: 'Largest weights', source: 'top_weights', limit: 20, width: 'half' },
  { kind: 'table', title: 'Attribution', source: 'attribution', limit: 15 },
  { kind: 'table', title: 'Risk', source: 'risk', limit: 15 },
  { kind: 'table', title: 'Dividends in index points', source: 'dividend_points', limit: 10 },
  { kind: 'text', title: 'Definitions', text: DEFINITIONS },
];

const rebalance: Blocks = [
  { kind: 'header', subtitle: 'Rebalances and composition' },
  {
    kind: 'stat_grid',
    stats: ['constituents', 'effective_assets', 'largest', 'tracking_error', 'tracking_difference'],
    columns: 5,
  },
  { kind: 'table', title: 'Latest rebalances', source: 'rebalances', limit: 12 },
  { kind: 'bar_chart', title: 'Largest weights', source: 'top_weights', limit: 15, width: 'half' },
  { kind: 'bar_chart', title: 'Weight by sector', source: 'sector_weights', limit: 15, width: 'half' },
  {
    kind: 'chart',
    title: 'Headroom and largest sectors through time',
    lines: ['headroom', 'sector_weights'],
    fallback_rule: DEFAULT_LIMIT_RULE,
    height: 200,
  },
  { kind: 'table', title: 'Sectors through time', source: 'exposures', limit: 15 },
  { kind: 'table', title: 'Limits of concentration', source: 'limits' },
  { kind: 'table', title: 'Breaches of the rule watched', source: 'breaches', limit: 15 },
  { kind: 'table', title: 'Orders of the latest rebalance', source: 'pack', limit: 20 },
  { kind: 'bar_chart', title: 'Liquidation', source: 'liquidation' },
  { kind: 'table', title: 'Dividends in index points', source: 'dividend_points', limit: 10 },
  { kind: 'table', title: 'Constituents', source: 'constituents', limit: 100 },
];

const DRAFTS: Record<BuiltInId, Omit<Draft, 'template_id'>> = {
  'FACTSHEET-A4': {
    name: 'Factsheet',
    blocks: createFactsheet({ performance: 124, drawdown: 190, names: 10 }),
    page: { size: 'A4', margin: MARGIN },
  },
  'FACTSHEET-LETTER': {
    name: 'Factsheet',
    blocks: createFactsheet({ performance: 96, drawdown: 160, names: 8 }),
    page: { size: 'LETTER', margin: 42 },
  },
  'REBALANCE-A4': { name: 'Rebalance report', blocks: rebalance, page: { size: 'A4', margin: MARGIN } },
  'TEARSHEET-A4': { name: 'Tear sheet', blocks: tearsheet, page: { size: 'A4', margin: MARGIN } },
};
