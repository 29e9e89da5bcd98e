import type { AttributionView } from '#contract/analytics/analytics.js';
import { formatDay } from '#domain/base/time.js';
import { LIMIT_RULES } from '#domain/definition/compliance.js';
import {
  type BarSource,
  type BlockOf,
  CHART_LINES,
  type ChartLine,
  listEntryNames,
} from '#domain/outputs/report-templates.js';
import { createNotePart, createTitlePart, type Drawing, type DrawingContext, requireFigures } from './blocks.js';
import { type Bar, type ChartSeries, drawColumns, drawLineChart, layBars, type Panel } from './charts.js';
import {
  formatCountFigure,
  formatLevel,
  formatPercentFigure,
  formatPlainTexts,
  formatRatio,
  type Missing,
  type RunFigures,
  splitRows,
} from './figures.js';
import { AMBER, NAVY, NAVY_TINT, type Part, type Section, SIZE, SIZE_MIN, SLATE } from './page.js';
import { cleanLine } from './text.js';

interface Bars {
  readonly bars: readonly Bar[];
  /** True for years. Years are vertical bars if they fit; securities are always horizontal bars. */
  readonly isTime: boolean;
  readonly note: string | null;
}

/** Draws bars with their values. The bars are vertical for years that fit, otherwise horizontal. */
export const drawBarChart: Drawing<'bar_chart'> = (block, context) => {
  const { width, typesetter, pageHeight } = context;
  const result = BARS_BY_SOURCE[block.source](block, context);
  if (result === null) return { title: null, sections: [] };
  const { bars, isTime, note } = result;
  const title = createTitlePart(block.title, width, typesetter);
  const remark = note ?? (bars.length === 0 ? 'No values.' : null);
  const notes: Section[] = remark === null ? [] : [{ head: null, rows: [createNotePart(remark, width, typesetter)] }];
  if (bars.length === 0) return { title, sections: notes };
  const alt = `Bar chart: ${bars.map(({ label, text }) => `${label} ${text}`).join('; ')}.`;
  const size = isTime ? computeUprightSize(bars, context) : null;
  const height = Math.min(COLUMNS_HEIGHT, pageHeight - (title?.height ?? 0));
  const sections: Section[] =
    size === null
      ? layBars(bars, { width, typesetter, alt })
      : [
          {
            head: null,
            rows: [
              {
                height,
                draw(canvas, { x, y, parent }) {
                  const box = { x, y, width, height };
                  canvas.content(canvas.element(parent, 'Figure', { alt, box }), 'Figure', () =>
                    drawColumns(canvas, bars, { box, size }),
                  );
                },
              },
            ],
          },
        ];
  return { title, sections: [...sections, ...notes] };
};

const COLUMNS_HEIGHT = 120;
/** Minimum distance between adjacent values, in points. */
const VALUE_GAP = 2.5;

/**
 * Returns the largest font size at which the values of vertical bars fit. Returns null if that size is too small to
 * read.
 */
function computeUprightSize(bars: readonly Bar[], { width, typesetter }: DrawingContext): number | null {
  const pitch = width / bars.length;
  for (let size: number = SIZE.label; size >= SIZE_MIN; size -= 0.25) {
    if (
      bars.every(
        ({ text, label }) =>
          Math.max(typesetter.width(text, { size }), typesetter.width(label, { size })) + VALUE_GAP <= pitch,
      )
    )
      return size;
  }
  return null;
}

/** Function that returns the bars of a block. It returns null if nothing is printed, not even a title. */
type CreateBars = (block: BlockOf<'bar_chart'>, context: DrawingContext) => Bars | null;

const BARS_BY_SOURCE: Record<BarSource, CreateBars> = {
  annual_returns: ({ limit }, context) => ({
    bars: createAnnualBars(requireFigures(context), limit),
    isTime: true,
    note: null,
  }),
  top_weights: ({ limit }, context) => createWeightBars(requireFigures(context), limit),
  sector_weights: ({ limit }, context) => createSectorBars(requireFigures(context), limit),
  contributions: ({ limit }, context) => createContributionBars(requireFigures(context), limit),
  liquidation: ({ limit, aum }, context) => createLiquidationBars(requireFigures(context), { limit, aum }),
  literal: ({ values, limit }) => createLiteralBars(values!, limit), // the schema requires values in a literal chart
};

const createPercentBar = (label: string, value: number): Bar => ({
  label: cleanLine(label),
  value,
  text: formatPercentFigure(value),
});

function createAnnualBars({ annualReturns }: RunFigures, limit: number): Bar[] {
  return annualReturns()
    .slice(-limit)
    .map(([year, value]) => createPercentBar(String(year), value));
}

/** Returns the label of a bar: the name of a security if it is known, otherwise its identifier. */
function formatLabel(identifier: string, name: string | null): string {
  return name ?? identifier;
}

function createWeightBars({ constituents }: RunFigures, limit: number): Bars {
  const { shown } = splitRows(constituents(), limit);
  const bars = shown.map(({ identifier, name, weight }) => createPercentBar(formatLabel(identifier, name), weight));
  return { bars, isTime: false, note: null };
}

function createSectorBars({ sectors }: RunFigures, limit: number): Bars {
  const { shown, others } = splitRows(sectors(), limit);
  const bars = shown.map(({ sector, weight }) => createPercentBar(sector ?? 'Unclassified', weight));
  if (others.length > 0)
    bars.push(
      createPercentBar(
        `${formatCountFigure(others.length)} others`,
        others.reduce((sum, { weight }) => sum + weight, 0),
      ),
    );
  return { bars, isTime: false, note: null };
}

/**
 * Returns the largest contributors and the largest detractors in descending order, or all securities if they are few.
 */
function createContributionBars({ attribution, findName }: RunFigures, limit: number): Bars {
  const { contributions, start, end } = attribution();
  const isWhole = splitRows(contributions, limit).others.length === 0;
  const { contributors, detractors } = selectExtremes(contributions, limit);
  const shownRows = isWhole ? contributions : [...contributors, ...detractors];
  const bars = shownRows.map(({ asset_id, contribution }) =>
    createPercentBar(formatLabel(asset_id, findName(asset_id)), contribution),
  );
  const selectionText = isWhole
    ? ''
    : `${describeExtremes(contributors.length, detractors.length)} of ${formatCountFigure(contributions.length)} names, `;
  return { bars, isTime: false, note: `${selectionText}${start.slice(0, 10)} to ${end.slice(0, 10)}.` };
}

/** Describes which securities a chart shows. There may be no contributors, or no detractors. */
function describeExtremes(contributors: number, detractors: number): string {
  const sides = [
    ...(contributors > 0 ? [`${formatCountFigure(contributors)} largest contributors`] : []),
    ...(detractors > 0 ? [`${formatCountFigure(detractors)} largest detractors`] : []),
  ];
  return sides.join(' and ');
}

/** Minimum number of bars, even if the portfolio can be sold in fewer days. */
const BARS_MIN = 4;

/**
 * Returns the fraction of a portfolio that can be sold within each number of days. Returns null for an overlay, or if
 * the only rebalance is the first purchase.
 */
function createLiquidationBars(
  { pack, currency }: RunFigures,
  { limit, aum }: { readonly limit: number; readonly aum: number },
): Bars | null {
  const result = pack(aum);
  if (result === null) return null;
  if ('missing' in result) return { bars: [], isTime: true, note: result.missing };
  const { liquidation, participation, date } = result;
  const fullShareDay = liquidation.findIndex(({ share }) => share >= 1);
  const shownRows = liquidation.slice(
    0,
    Math.min(limit, fullShareDay < 0 ? liquidation.length : Math.max(BARS_MIN, fullShareDay + 1)),
  );
  return {
    bars: shownRows.map(({ days, share }) => createPercentBar(days === 1 ? '1 day' : `${days} days`, share)),
    isTime: true,
    note: `Sold of ${formatCountFigure(aum)} ${currency} in the index before ${date}, at ${formatPercentFigure(participation)} of the mean daily volume.`,
  };
}

type Contribution = AttributionView['contributions'][number];

/**
 * Returns as many contributors as detractors. If one side has fewer, the other side gets more.
 * @param rows in descending order
 */
function selectExtremes(
  rows: readonly Contribution[],
  limit: number,
): { readonly contributors: readonly Contribution[]; readonly detractors: readonly Contribution[] } {
  const gains = rows.filter(({ contribution }) => contribution > 0);
  const losses = rows.filter(({ contribution }) => contribution < 0);
  const contributors = Math.min(gains.length, Math.max(Math.ceil(limit / 2), limit - losses.length));
  const detractors = Math.min(losses.length, limit - contributors);
  return { contributors: gains.slice(0, contributors), detractors: losses.slice(losses.length - detractors) };
}

function createLiteralBars(values: Readonly<Record<string, number>>, limit: number): Bars {
  const entries = Object.entries(values).slice(0, limit);
  const texts = formatPlainTexts(entries.map(([, value]) => value));
  return {
    bars: entries.map(([label, value], i) => ({ label: cleanLine(label), value, text: texts[i]! })),
    isTime: false,
    note: null,
  };
}

/** Lines of a chart, or the reason why there are none. */
type FoundSeries = { readonly series: readonly ChartSeries[] } | Missing;

interface LineSource {
  readonly panel: PanelName;
  readonly find: (figures: RunFigures, block: BlockOf<'chart'>) => FoundSeries;
}

const LINES: Record<ChartLine, LineSource> = {
  level: {
    panel: 'levels',
    find: ({ level, levelDecimals: decimals }) => ({
      series: [
        {
          ...level,
          label: `Level ${formatLevel(readLast(level.values), decimals)}`,
          stroke: { colour: NAVY, width: 1.3 },
        },
      ],
    }),
  },
  index_level: {
    panel: 'levels',
    find(figures) {
      const index = figures.indexLevel();
      return {
        series: [
          {
            ...index,
            label: `Index level ${formatLevel(readLast(index.values), figures.levelDecimals)}`,
            stroke: { colour: AMBER, width: 1 },
          },
        ],
      };
    },
  },
  benchmark: {
    panel: 'levels',
    find(figures) {
      const benchmark = figures.benchmark();
      if (benchmark === null) return { missing: 'The run has no external benchmark.' };
      return {
        series: [
          {
            ...benchmark,
            label: `Benchmark ${benchmark.id} ${formatRatio(readLast(benchmark.values))}`,
            stroke: { colour: SLATE, width: 0.9, dash: [3, 2] },
          },
        ],
      };
    },
  },
  drawdown: {
    panel: 'drawdown',
    find(figures) {
      const label = `Drawdown, lowest ${formatPercentFigure(figures.overview.metrics.max_drawdown)}`;
      return { series: [{ ...figures.drawdown(), label, stroke: { colour: NAVY, width: 0.7 }, fill: NAVY_TINT }] };
    },
  },
  rolling_volatility: {
    panel: 'volatility',
    find(figures) {
      const volatility = figures.volatility();
      if (volatility === null) return { missing: 'The run is too short for a trailing volatility.' };
      const label = `Volatility over ${volatility.window} sessions, latest ${formatPercentFigure(readLast(volatility.values))}`;
      return { series: [{ ...volatility, label, stroke: { colour: NAVY, width: 0.9 } }] };
    },
  },
  headroom: {
    panel: 'headroom',
    find({ limits, watchedRule, level: { days } }, { rule: requestedRule, fallback_rule: fallback }) {
      const name = requestedRule ?? watchedRule ?? fallback;
      if (name === null) return { missing: 'No concentration rule triggers rebalances of this index.' };
      const { headroom } = limits().find(({ rule }) => rule === name)!; // every rule is measured
      const lowestHeadroom = Math.min(...headroom);
      const label = `Headroom ${LIMIT_RULES[name].label}, latest ${formatPercentFigure(headroom.at(-1)!)}, least ${formatPercentFigure(lowestHeadroom)}`;
      return { series: [{ days, values: Float64Array.from(headroom), label, stroke: { colour: NAVY, width: 0.9 } }] };
    },
  },
  sector_weights: {
    panel: 'weights',
    find({ sectorHistory, level: { days } }) {
      const sectors = sectorHistory().slice(0, SECTOR_STROKES.length);
      if (sectors.every(({ sector }) => sector === null)) return { missing: 'No sectors are stored with the run.' };
      return {
        series: sectors.map(({ sector, weights }, k) => ({
          days,
          values: weights,
          label: `${cleanLine(sector ?? 'Unclassified')} ${formatPercentFigure(readLast(weights))}`,
          stroke: SECTOR_STROKES[k]!,
        })),
      };
    },
  },
};

const SECTOR_STROKES = [
  { colour: NAVY, width: 1 },
  { colour: AMBER, width: 1 },
  { colour: SLATE, width: 0.9, dash: [3, 2] },
] as const;

/** Panels of a chart from top to bottom. */
const PANELS = {
  levels: { unit: 'points', share: 2 },
  drawdown: { unit: 'percent', share: 1 },
  volatility: { unit: 'percent', share: 1 },
  headroom: { unit: 'percent', share: 1 },
  weights: { unit: 'percent', share: 1 },
} as const;
type PanelName = keyof typeof PANELS;
const PANEL_NAMES = Object.keys(PANELS) as PanelName[]; // Object.keys returns plain strings.

/** Draws lines over time, in one panel per unit. */
export const drawChart: Drawing<'chart'> = (block, context) => {
  const { width, typesetter, pageHeight } = context;
  const figures = requireFigures(context);
  const title = createTitlePart(block.title, width, typesetter);
  const results = listEntryNames(CHART_LINES)
    .filter((line) => block.lines.includes(line))
    .map((line) => ({
      panel: LINES[line].panel,
      found: LINES[line].find(figures, block),
    }));
  const panels = PANEL_NAMES.flatMap((name): Panel[] => {
    const series = results.flatMap((line) => (line.panel === name && 'series' in line.found ? line.found.series : []));
    if (series.length === 0) return [];
    return [
      {
        ...PANELS[name],
        isLogarithmic: block.log_scale && name === 'levels',
        hasZero: name !== 'levels',
        series,
        ...(name === 'levels' ? { note: formatRebasing(figures) } : {}),
      },
    ];
  });
  const missingTexts = results.flatMap((line) => ('missing' in line.found ? [line.found.missing] : []));
  const showsMissing = panels.length === 0 || block.lines.length === missingTexts.length;
  const notes = showsMissing ? missingTexts.map((sentence) => createNotePart(sentence, width, typesetter)) : [];
  const height = Math.min(block.height, pageHeight - (title?.height ?? 0));
  const chart: Part[] =
    panels.length === 0 ? [] : [createChartPart(panels, { width, height, alt: describePanels(panels, figures) })];
  return { title, sections: [{ head: null, rows: [...chart, ...notes] }] };
};

/** States on which date levels are 100, for example `rebased to 100 on 2016-01-04, after costs`. */
function formatRebasing({ level, terms }: RunFigures): string {
  const date = formatDay(level.days[0]!);
  return `rebased to 100 on ${date}${terms.transactionCostBps === 0 ? '' : ', after costs'}`;
}

function createChartPart(
  panels: readonly Panel[],
  { width, height, alt }: { readonly width: number; readonly height: number; readonly alt: string },
): Part {
  return {
    height,
    draw(canvas, { x, y, parent }) {
      const box = { x, y, width, height };
      canvas.content(canvas.element(parent, 'Figure', { alt, box }), 'Figure', () =>
        drawLineChart(canvas, panels, box),
      );
    },
  };
}

function describePanels(panels: readonly Panel[], { overview }: RunFigures): string {
  const lines = panels.flatMap(({ series }) =>
    series.map(({ label, days }) => `${label} (${formatDay(days[0]!)} to ${formatDay(days.at(-1)!)})`),
  );
  return `Line chart for ${overview.name}: ${lines.join('; ')}.`;
}

function readLast(values: Float64Array): number {
  return values.at(-1)!;
}
