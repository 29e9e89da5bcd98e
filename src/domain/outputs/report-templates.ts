import { z } from 'zod';
import { type Finding, reportFindings } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { refuseWithFindings } from '../base/refusals.js';
import { checkFinite, checkShape, defineObject, Id } from '../base/schema.js';
import { DEFAULT_LIMIT_RULE, LIMIT_RULE_NAMES } from '../definition/compliance.js';
import {
  type IndexDocument,
  isOverlayDocument,
  listSources,
  type OverlayDocument,
} from '../definition/index-document.js';
import { describeOverlay } from '../definition/methodology.js';
import { findOverlayType } from '../definition/overlays.js';
import { BacktestFields, type RunDocument } from '../definition/runs.js';
import type { Adjustment } from '../market/market-data.js';
import { ScenarioList } from '../studies/scenarios.js';

/** Document of a rendered report; its PDF is stored separately as bytes. */
export const RenderDocument = defineObject(() => ({
  render_id: z.string(),
  template_id: z.string(),
  name: z.string(),
  /** Index of a built-in report; null for a stored template. */
  index_id: z.string().nullable(),
  /** Indices and strategies that the report shows; absent in reports of earlier versions. */
  index_ids: z.array(z.string()).optional(),
  /** Last date of the runs that the report shows; absent without a run, and in reports of earlier versions. */
  as_of: z.string().optional(),
  blocks: z.int().min(0),
  pages: z.int().min(1),
  bytes: z.int().min(0),
  /** Wall-clock time of the rendering, ISO-8601 UTC with offset. */
  rendered_at: z.string(),
  artifact: z.strictObject({ name: z.string(), bytes: z.int().min(0), sha256: z.string() }),
}));
export type RenderDocument = z.infer<typeof RenderDocument>;

const blockFields = {
  title: z.string().max(200).nullable().default(null).meta({ description: 'Title that is printed above the block.' }),
  index_id: Id.nullable().default(null).meta({ description: 'Index (or strategy) whose latest run the block shows.' }),
  width: z
    .enum(['full', 'half'])
    .default('full')
    .meta({ description: 'Width of the block. Two consecutive half blocks are placed next to each other.' }),
};

type RunUse = 'never' | 'if-bound' | 'always';

/** Kind of block: its fields in a template, and the data that it needs. `#views/report/blocks` draws it. */
interface BlockKind<S extends z.ZodObject = z.ZodObject> {
  readonly help: string;
  readonly schema: S;
  /** Complete valid block, as an example. */
  readonly example: Readonly<Record<string, unknown>>;
  runUse(block: z.output<S>): RunUse;
  /** Members that only some blocks of the kind use, with their condition. */
  readonly readers?: Readonly<Record<string, Readers>>;
}

/** Condition under which a member has an effect: values of another member. */
interface Readers {
  readonly member: string;
  readonly of: readonly string[];
}

export function listEntryNames<T extends object>(catalogue: T): [keyof T & string, ...(keyof T & string)[]] {
  return Object.keys(catalogue) as [keyof T & string, ...(keyof T & string)[]]; // catalogues are not empty
}

function listMeanings(catalogue: Readonly<Record<string, string>>): string {
  return Object.entries(catalogue)
    .map(([name, meaning]) => `\`${name}\`: ${meaning}`)
    .join('; ');
}

/** Returns a kind of block and keeps the literal types of its schema. */
function defineBlockKind<S extends z.ZodObject>(entry: BlockKind<S>): BlockKind<S> {
  return entry;
}

export const BAR_SOURCES = {
  annual_returns: 'return of each calendar year',
  top_weights: 'largest weights on the last date',
  sector_weights: 'weight of each sector on the last date, beginning with the largest',
  contributions: 'largest contributors to the return of the portfolio, followed by the largest detractors',
  liquidation:
    'fraction of a portfolio of `aum` that can be sold within a number of days at a tenth of the daily volume; the portfolio held the index before its latest rebalance; empty for an overlay',
  literal: 'the values of `values`',
} as const;
export type BarSource = keyof typeof BAR_SOURCES;

const BARS_MAX = 200;

const barChart = defineBlockKind({
  help: 'Bars of figures of a run, or of values in the template.',
  schema: defineObject(() => ({
    kind: z.literal('bar_chart'),
    ...blockFields,
    source: z
      .enum(listEntryNames(BAR_SOURCES))
      .default('annual_returns')
      .meta({ description: `Source of the bars. ${listMeanings(BAR_SOURCES)}.` }),
    limit: z.int().min(1).max(BARS_MAX).default(10).meta({
      description:
        'Maximum number of bars, with equal numbers of contributors and detractors. A single further sector is shown; several further sectors are added up.',
    }),
    aum: z
      .number()
      .gt(0)
      .max(1e15)
      .default(100_000_000)
      .meta({ description: 'Value of the portfolio that is sold, in the currency of the index.' }),
    values: z
      .record(z.string().max(80), z.number())
      .refine((values) => Object.keys(values).length <= BARS_MAX, {
        params: { finding: 'OUT_OF_RANGE' },
        error: `has more than ${BARS_MAX} entries`,
      })
      .nullable()
      .default(null)
      .meta({ description: 'Values by label, for a literal chart.' }),
  }))
    .superRefine(({ source, values }, context) => {
      if (source === 'literal' && values === null)
        context.addIssue({
          code: 'custom',
          message: 'is required for a literal chart',
          path: ['values'],
          params: { finding: 'REQUIRED' },
        });
    })
    .meta({ id: 'BarChartBlock' }),
  example: {
    kind: 'bar_chart',
    title: 'Returns by year',
    index_id: 'LARGE-100',
    source: 'annual_returns',
    limit: 10,
    width: 'half',
  },
  runUse: ({ source }) => (source === 'literal' ? 'never' : 'always'),
  readers: {
    aum: { member: 'source', of: ['liquidation'] },
    values: { member: 'source', of: ['literal'] },
  },
});

export const CHART_LINES = {
  level: 'portfolio, rebased to 100',
  index_level: 'index that the portfolio follows, rebased to 100',
  benchmark: 'benchmark, rebased to 100, if the run has one',
  drawdown: 'level relative to its running maximum, less 1',
  rolling_volatility: 'annualised volatility of the latest 252 sessions, or fewer for a short run',
  headroom: 'distance to the nearest bound of a concentration rule, set by `rule` and `fallback_rule`',
  sector_weights: 'weights of the three sectors with the largest mean weight',
} as const;
export type ChartLine = keyof typeof CHART_LINES;

const NAMES = listEntryNames(CHART_LINES);

const chart = defineBlockKind({
  help: 'Lines of a run over time. Levels are in one panel. Other lines have separate panels below it.',
  schema: defineObject(() => ({
    kind: z.literal('chart'),
    ...blockFields,
    lines: z
      .array(z.enum(NAMES))
      .min(1)
      .max(NAMES.length)
      .default(['level'])
      .meta({ description: `Series of the chart. ${listMeanings(CHART_LINES)}.` }),
    log_scale: z.boolean().default(false).meta({ description: 'True draws a logarithmic axis for the levels.' }),
    rule: z.enum(LIMIT_RULE_NAMES).nullable().default(null).meta({
      description: 'Published concentration rule whose headroom is drawn. Default: the rule that triggers rebalances.',
    }),
    fallback_rule: z.enum(LIMIT_RULE_NAMES).nullable().default(null).meta({
      description:
        'Rule whose headroom is drawn if `rule` is absent and no rule triggers rebalances of the index. Default: none.',
    }),
    height: z
      .number()
      .min(60)
      .max(1000)
      .default(180)
      .meta({ description: 'Height of the chart in points, at most the height of the page.' }),
  })).meta({ id: 'ChartBlock' }),
  example: {
    kind: 'chart',
    title: 'Level',
    index_id: 'LARGE-100',
    lines: ['level', 'benchmark'],
    log_scale: true,
    height: 200,
  },
  runUse: () => 'always',
  readers: {
    log_scale: { member: 'lines', of: ['level', 'index_level', 'benchmark'] },
    rule: { member: 'lines', of: ['headroom'] },
    fallback_rule: { member: 'lines', of: ['headroom'] },
  },
});

const header = defineBlockKind({
  help: 'Header of a report: a large title (default: the name of the index) and a subtitle. It also shows the last date, currency, return variant, price basis, transaction cost and state of the run.',
  schema: defineObject(() => ({
    kind: z.literal('header'),
    ...blockFields,
    subtitle: z
      .string()
      .max(400)
      .nullable()
      .default(null)
      .meta({ description: 'Subtitle that is printed below the title.' }),
    stamp: z.boolean().default(true).meta({ description: 'True prints the last date and the settings of the run.' }),
    new_page: z.boolean().optional().meta({ description: 'True begins a new page. Default: false.' }),
  })).meta({ id: 'HeaderBlock' }),
  example: { kind: 'header', title: 'Large hundred', subtitle: 'Index factsheet', index_id: 'LARGE-100', stamp: true },
  runUse: () => 'if-bound',
});

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

const STAT_GRID_NAMES = listEntryNames(STATS);

const VALUES_MAX = 60;

const statGrid = defineBlockKind({
  help: 'Figures of a run in a grid, or values in the template.',
  schema: defineObject(() => ({
    kind: z.literal('stat_grid'),
    ...blockFields,
    stats: z.array(z.enum(STAT_GRID_NAMES)).max(VALUES_MAX).nullable().default(null).meta({
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
  return STAT_GRID_NAMES.filter((name) => isShown[STATS[name].usual]);
}

export const TABLE_SOURCES = {
  constituents: 'holdings on the last date, beginning with the largest',
  rebalances: 'latest rebalances, with securities added and removed, turnover, cap and redistributed weight',
  annual_returns: 'return of each calendar year',
  monthly_returns: 'return of each month, one row per year',
  attribution: 'contribution of each security to the return of the portfolio, beginning with the largest',
  risk: 'contribution of each holding to the volatility, beginning with the largest',
  exposures: 'weight of each sector at the end of each year, beginning with the largest',
  limits: 'published concentration rules: headroom, sessions in breach and number of breaches',
  breaches: 'breaches of the rule that triggers rebalances, latest first; empty if the index has no such rule',
  overlay_parts: 'contribution of the underlying securities and of the parts of an overlay; empty for other indices',
  dividend_points: 'ordinary dividends in index points, latest years first; empty if there are none',
  pack: 'orders of the latest rebalance for a portfolio of `aum` that held the index, beginning with the largest; empty for an overlay',
  scenarios: 'holdings of the last date in past windows and under shocks, as defined in `scenarios`',
  differences:
    'causes of the last comparison with a level from outside, and what remains after each; empty if there is none',
  literal: 'the rows of `frame`',
} as const;
export type TableSource = keyof typeof TABLE_SOURCES;

const SOURCES = listEntryNames(TABLE_SOURCES);

const MARKET_SOURCES: ReadonlySet<TableSource> = new Set(['risk', 'dividend_points', 'pack', 'scenarios']);

/** Sources that show all their rows, regardless of the limit. */
const UNLIMITED_SOURCES: ReadonlySet<TableSource> = new Set(['limits', 'overlay_parts', 'scenarios']);

/** Maximum number of rows: the largest universe, about 120 pages. */
const ROWS_MAX = 5000;
const COLUMNS_MAX = 40;

const Cell = z.union([z.string().max(400), z.number(), z.boolean(), z.null()]);

export const LiteralTable = defineObject(() => ({
  index: z.array(z.union([z.string().max(200), z.int()])).max(ROWS_MAX),
  columns: z.array(z.string().max(200)).max(COLUMNS_MAX),
  data: z.array(z.array(Cell).max(COLUMNS_MAX)).max(ROWS_MAX),
}))
  .superRefine(({ index, columns, data }, context) => {
    const refuseMember = (message: string, path: (string | number)[]) =>
      context.addIssue({ code: 'custom', message, path, params: { finding: 'WRONG_TYPE' } });
    if (data.length !== index.length) refuseMember(`has ${data.length} rows for ${index.length} labels`, ['data']);
    const irregularRow = data.findIndex((row) => row.length !== columns.length);
    if (irregularRow >= 0)
      refuseMember(`has ${data[irregularRow]!.length} cells for ${columns.length} columns`, ['data', irregularRow]);
  })
  .meta({ id: 'LiteralTable', description: 'Table in the "split" format of pandas.' });
export type LiteralTable = z.infer<typeof LiteralTable>;

const table = defineBlockKind({
  help: 'Table of a run, or a table in the template.',
  schema: defineObject(() => ({
    kind: z.literal('table'),
    ...blockFields,
    source: z
      .enum(SOURCES)
      .default('constituents')
      .meta({ description: `Source of the rows. ${listMeanings(TABLE_SOURCES)}.` }),
    limit: z.int().min(1).max(ROWS_MAX).default(10).meta({
      description:
        'Maximum number of rows: the largest holdings, the latest rebalances, or the latest years. A single further security is shown; several further securities are added up.',
    }),
    aum: z
      .number()
      .gt(0)
      .max(1e15)
      .default(100_000_000)
      .meta({ description: 'Value of the portfolio of a table of orders, in the currency of the index.' }),
    scenarios: ScenarioList.nullable()
      .default(null)
      .meta({ description: 'Past windows and shocks of a table of scenarios, as in a request for scenarios.' }),
    frame: LiteralTable.nullable().default(null).meta({ description: 'Rows of a literal table.' }),
  }))
    .superRefine(({ source, frame, scenarios }, context) => {
      const requireMember = (member: string, what: string) =>
        context.addIssue({
          code: 'custom',
          message: `is required for a ${what}`,
          path: [member],
          params: { finding: 'REQUIRED' },
        });
      if (source === 'literal' && frame === null) requireMember('frame', 'literal table');
      if (source === 'scenarios' && scenarios === null) requireMember('scenarios', 'table of scenarios');
    })
    .meta({ id: 'TableBlock' }),
  example: { kind: 'table', title: 'Largest constituents', index_id: 'LARGE-100', source: 'constituents', limit: 10 },
  runUse: ({ source }) => (source === 'literal' ? 'never' : 'always'),
  readers: {
    limit: { member: 'source', of: SOURCES.filter((source) => !UNLIMITED_SOURCES.has(source)) },
    aum: { member: 'source', of: ['pack'] },
    scenarios: { member: 'source', of: ['scenarios'] },
    frame: { member: 'source', of: ['literal'] },
  },
});

/** Maximum number of characters: about six printed pages. */
const CHARACTERS_MAX = 20_000;

const text = defineBlockKind({
  help: 'Paragraphs, separated by empty lines. Supported markup: `**bold**`, lists of lines that begin with `- ` or `* `, and numbered lists with `1. `.',
  schema: defineObject(() => ({
    kind: z.literal('text'),
    ...blockFields,
    text: z.string().max(CHARACTERS_MAX).meta({ description: 'The paragraphs.' }),
  })).meta({ id: 'TextBlock' }),
  example: {
    kind: 'text',
    title: 'Method',
    text: 'The **hundred largest** companies.\n\n- reviewed quarterly\n- weighted by free-float capitalisation',
  },
  runUse: () => 'never',
});

export const BLOCK_KINDS = {
  bar_chart: barChart,
  chart,
  header,
  stat_grid: statGrid,
  table,
  text,
} as const;

export type BlockKindName = keyof typeof BLOCK_KINDS;

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

function listIdleMembers(block: ReportBlock): IdleMember[] {
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

/** Returns true if a report shows the explanation of a level from outside. */
export function needsDifference({ blocks }: { readonly blocks: readonly ReportBlock[] }, indexId: string): boolean {
  return blocks.some((block) => block.kind === 'table' && block.source === 'differences' && block.index_id === indexId);
}

export const PAGE_SIZES = {
  A4: { width: 595.28, height: 841.89 },
  LETTER: { width: 612, height: 792 },
  A3: { width: 841.89, height: 1190.55 },
} as const;

export const ReportPage = defineObject(() => ({
  size: z.enum(['A4', 'LETTER', 'A3']).default('A4'),
  orientation: z.enum(['portrait', 'landscape']).default('portrait'),
  margin: z.number().min(0).max(144).default(36).meta({ description: 'Points on every side.' }),
})).meta({ id: 'ReportPage' });
export type ReportPage = z.infer<typeof ReportPage>;

export const ReportTemplateDocument = defineObject(() => ({
  template_id: Id.meta({ description: 'Id of the template, which is part of its URL.' }),
  name: z.string().min(1).max(200).meta({ description: 'Title of the rendered report.' }),
  blocks: z.array(ReportBlock).max(LIMITS.MAX_REPORT_BLOCKS).default([]).meta({
    description: 'Blocks, drawn from top to bottom. A template without blocks can be stored but not rendered.',
  }),
  page: ReportPage.prefault({}),
})).meta({ id: 'ReportTemplateDocument' });
export type ReportTemplateDocument = z.infer<typeof ReportTemplateDocument>;

export interface RequestedIndices {
  readonly index_id: string | null;
  readonly index_ids: readonly string[] | null;
}

/**
 * Returns the template with an index for every block. A block without an index uses the indices of the request.
 * @throws Refusal VALIDATION_FAILED, INDEX_REQUIRED
 */
export function bindTemplate(
  template: ReportTemplateDocument,
  requestedIndices: RequestedIndices,
): ReportTemplateDocument {
  const findings = reportBothIndexFields(requestedIndices);
  if (findings.length > 0) throw refuseWithFindings('request', findings);
  const ids = requestedIndices.index_ids ?? (requestedIndices.index_id === null ? [] : [requestedIndices.index_id]);
  if (ids.length > 0 && requestsIndices(template)) return repeatTemplate(template, ids);
  // The requested index_id is ignored if every block has an index.
  if (requestedIndices.index_ids !== null) throw refuseWithFindings('request', [refuseNothingToBind(template)]);
  const unbound = template.blocks.flatMap((block, i) => (needsIndex(block) ? [reportUnboundBlock(block, i)] : []));
  if (unbound.length > 0) throw refuseWithFindings('report template', unbound, 'INDEX_REQUIRED');
  return template;
}

/**
 * Repeats the template for several indices, each on a new page. Blocks without an index are repeated for each index.
 * Blocks with an index occur once. If they follow the last repeated block, they are placed at the end.
 */
export function repeatTemplate(
  template: ReportTemplateDocument,
  indexIds: readonly (string | null)[],
): ReportTemplateDocument {
  const { blocks } = template;
  const end = blocks.findLastIndex(acceptsIndex) + 1;
  const boundBlocks = indexIds.flatMap((indexId, k) =>
    blocks.slice(0, end).flatMap((block): ReportBlock[] => {
      if (!acceptsIndex(block)) return k === 0 ? [block] : [];
      return [{ ...block, index_id: indexId, ...(block.kind === 'header' && k > 0 ? { new_page: true } : {}) }];
    }),
  );
  return { ...template, blocks: [...boundBlocks, ...blocks.slice(end)] };
}

function acceptsIndex(block: ReportBlock): boolean {
  return block.index_id === null && findRunUse(block) !== 'never';
}

function needsIndex(block: ReportBlock): boolean {
  return block.index_id === null && findRunUse(block) === 'always';
}

function reportUnboundBlock({ kind }: ReportBlock, position: number): Finding {
  const path = `blocks[${position}].index_id`;
  const message = `${path} is required, or index_id or index_ids of the request, because a ${kind} block shows the run of an index.`;
  return { severity: 'error', code: 'REQUIRED', path, message };
}

export const requestsIndices = ({ blocks }: ReportTemplateDocument): boolean => blocks.some(acceptsIndex);

function refuseNothingToBind({ template_id: id }: ReportTemplateDocument): Finding {
  const path = 'index_ids';
  const message = `${path} is present, but no block of the template ${id} uses it. All blocks that show a run have an index.`;
  return { severity: 'error', code: 'OUT_OF_RANGE', path, message };
}

function reportBothIndexFields({ index_id: id, index_ids: ids }: RequestedIndices): Finding[] {
  if (ids === null) return [];
  if (id !== null) {
    const message = 'Only one of index_id and index_ids can be present.';
    return [{ severity: 'error', code: 'OUT_OF_RANGE', path: 'index_ids', message }];
  }
  return ids.flatMap((indexId, i): Finding[] => {
    const first = ids.indexOf(indexId);
    if (first === i) return [];
    const message = `index_ids[${i}] is ${indexId}, the same index as index_ids[${first}].`;
    return [{ severity: 'error', code: 'DUPLICATE_ID', path: `index_ids[${i}]`, message, value: indexId }];
  });
}

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

export interface RunTerms {
  /** Transaction costs in basis points. For an overlay, the costs that its setting states. */
  readonly transactionCostBps: number;
  /** Price basis of the store; null for a run of a version that did not record it. */
  readonly adjustment: Adjustment | null;
  /** Description of an overlay; null for other indices. */
  readonly overlay: OverlayTerms | null;
}

export interface OverlayTerms {
  readonly label: string;
  /** Ids of the underlying indices. */
  readonly sources: readonly string[];
  readonly sentences: readonly string[];
}

/** Returns the terms of a run. @param index definition of the index of the run; undefined if it cannot be read */
export function createTerms(
  { request, adjustment }: Pick<RunDocument, 'request' | 'adjustment'>,
  index: IndexDocument | undefined,
): RunTerms {
  const overlay = index !== undefined && isOverlayDocument(index) ? index : null;
  return {
    transactionCostBps: findOwnCost(overlay) ?? BacktestFields.parse(request).transaction_cost_bps,
    adjustment: adjustment ?? null,
    overlay: overlay && createOverlayTerms(overlay),
  };
}

/** Returns the cost that an overlay charges for changes of exposure. Returns null if its type has no costs. */
function findOwnCost(document: OverlayDocument | null): number | null {
  return document !== null && 'cost_bps' in document.overlay ? (document.overlay.cost_bps ?? null) : null;
}

const createOverlayTerms = (document: OverlayDocument): OverlayTerms => ({
  label: findOverlayType(document.overlay).label,
  sources: listSources(document),
  sentences: describeOverlay(document),
});

export interface CheckedTemplate {
  /** Document with defaults, without unknown fields; undefined if a finding is an error. */
  readonly document: ReportTemplateDocument | undefined;
  readonly findings: readonly Finding[];
}

export function validateTemplate(body: Readonly<Record<string, unknown>>): CheckedTemplate {
  const nonFinite = checkFinite(body);
  const { value, findings } = checkShape(ReportTemplateDocument, body, { unknownFields: 'warning' });
  const all = [
    ...nonFinite,
    ...(value?.blocks.flatMap(reportIdleMembers) ?? []),
    ...findings.filter(({ path }) => nonFinite.every((reported) => reported.path !== path)).map(toBlockFinding),
  ];
  return { document: nonFinite.length > 0 ? undefined : value, findings: reportFindings(all) };
}

const reportIdleMembers = (block: ReportBlock, position: number): Finding[] =>
  listIdleMembers(block).map(({ member, value, readers }): Finding => {
    const path = `blocks[${position}].${member}`;
    const message = `${path} has no effect: only ${readers.member} ${readers.of.join(', ')} reads it.`;
    return { severity: 'warning', code: 'NO_EFFECT', path, message, value };
  });

/** Describes an unknown kind of block in the terms of templates. */
function toBlockFinding(finding: Finding): Finding {
  return finding.code === 'NOT_IN_CHOICES' && /^blocks\[\d+\]\.kind$/.test(finding.path)
    ? { ...finding, code: 'UNKNOWN_BLOCK_KIND' }
    : finding;
}

/** Reads a stored body as a template. Returns undefined if it does not match the schema. */
export function readTemplate(body: unknown): ReportTemplateDocument | undefined {
  const result = ReportTemplateDocument.safeParse(body);
  return result.success ? result.data : undefined;
}
