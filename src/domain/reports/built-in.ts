import type { z } from 'zod';
import { ReportTemplateDocument } from './template-document.js';

type Draft = z.input<typeof ReportTemplateDocument>;
type Blocks = NonNullable<Draft['blocks']>;

/** The ids of the templates that are generated: they can be rendered and read, not changed. */
export const BUILT_IN_IDS = ['FACTSHEET-A4', 'FACTSHEET-LETTER', 'REBALANCE-A4', 'TEARSHEET-A4'] as const;
export type BuiltInId = (typeof BUILT_IN_IDS)[number];

export function isBuiltIn(templateId: string): templateId is BuiltInId {
  return (BUILT_IN_IDS as readonly string[]).includes(templateId);
}

/** The document of a built-in, its blocks bound to an index; unbound for null. */
export function builtInTemplate(templateId: BuiltInId, indexId: string | null = null): ReportTemplateDocument {
  const document = ReportTemplateDocument.parse({ template_id: templateId, ...DRAFTS[templateId] });
  return {
    ...document,
    blocks: document.blocks.map((block) => ({ ...block, index_id: block.kind === 'text' ? null : indexId })),
  };
}

const MARGIN = 48;

const DEFINITIONS = `**Level** is the value of a portfolio that follows the index, rebased to 100 on its first date. **Annualised return** compounds the total return over 252 sessions a year. **Volatility** is the standard deviation of session returns, annualised. **Sharpe ratio** is the mean session return over its standard deviation, annualised, with a risk-free rate of zero. **Max drawdown** is the deepest fall of the level from a previous high. **Tracking error** and **tracking difference** compare the portfolio with the index it follows. **Effective assets** is the number of equally weighted names with the same concentration.

Figures come from a backtest over historical data, before fees and taxes unless costs were set. Past performance, actual or simulated, does not indicate future results.`;

/** Two pages: what the index is and did, then its risk and its history. Heights are those that fill the pages of a size. */
const factsheet = ({ performance, drawdown }: { readonly performance: number; readonly drawdown: number }): Blocks => [
  { kind: 'header', subtitle: 'Index factsheet' },
  { kind: 'stat_grid', columns: 5 },
  { kind: 'chart', title: 'Performance', lines: ['level', 'benchmark'], height: performance },
  { kind: 'bar_chart', title: 'Return by calendar year', source: 'annual_returns', limit: 10, width: 'half' },
  { kind: 'bar_chart', title: 'Weight by sector', source: 'sector_weights', limit: 10, width: 'half' },
  { kind: 'table', title: 'Largest constituents', source: 'constituents', limit: 10 },
  { kind: 'chart', title: 'Drawdown and volatility', lines: ['drawdown', 'rolling_volatility'], height: drawdown },
  { kind: 'table', title: 'Return by month', source: 'monthly_returns', limit: 10 },
  { kind: 'table', title: 'Latest rebalances', source: 'rebalances', limit: 4 },
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
  { kind: 'bar_chart', title: 'Largest and smallest contributions', source: 'contributions', limit: 20, width: 'half' },
  { kind: 'bar_chart', title: 'Largest weights', source: 'top_weights', limit: 20, width: 'half' },
  { kind: 'table', title: 'Attribution', source: 'attribution', limit: 15 },
  { kind: 'table', title: 'Risk', source: 'risk', limit: 15 },
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
  { kind: 'table', title: 'Constituents', source: 'constituents', limit: 100 },
];

const DRAFTS: Record<BuiltInId, Omit<Draft, 'template_id'>> = {
  'FACTSHEET-A4': {
    name: 'Factsheet',
    blocks: factsheet({ performance: 156, drawdown: 190 }),
    page: { size: 'A4', margin: MARGIN },
  },
  'FACTSHEET-LETTER': {
    name: 'Factsheet',
    blocks: factsheet({ performance: 126, drawdown: 160 }),
    page: { size: 'LETTER', margin: 42 },
  },
  'REBALANCE-A4': { name: 'Rebalance report', blocks: rebalance, page: { size: 'A4', margin: MARGIN } },
  'TEARSHEET-A4': { name: 'Tear sheet', blocks: tearsheet, page: { size: 'A4', margin: MARGIN } },
};
