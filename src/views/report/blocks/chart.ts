import { listNames } from '#domain/reports/block.js';
import { CHART_LINES, type ChartLine } from '#domain/reports/blocks/chart.js';
import { LIMIT_RULES } from '#domain/compliance/rules.js';
import { formatDay } from '#domain/time/days.js';
import type { BlockOf } from '#domain/reports/block-kinds.js';
import { drawLineChart, type ChartSeries, type Panel } from '../chart/line-chart.js';
import type { RunFigures } from '../figures.js';
import type { Missing } from '../missing.js';
import { formatPercent, formatLevel, formatRatio } from '../numbers.js';
import type { Part } from '../page/layout.js';
import { AMBER, NAVY, NAVY_TINT, SLATE } from '../style-sheet.js';
import { cleanLine } from '../text/clean-text.js';
import { requireFigures, type Drawing } from './drawing.js';
import { createNotePart, createTitlePart } from './titled.js';

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
      const label = `Drawdown, lowest ${formatPercent(figures.overview.metrics.max_drawdown)}`;
      return { series: [{ ...figures.drawdown(), label, stroke: { colour: NAVY, width: 0.7 }, fill: NAVY_TINT }] };
    },
  },
  rolling_volatility: {
    panel: 'volatility',
    find(figures) {
      const volatility = figures.volatility();
      if (volatility === null) return { missing: 'The run is too short for a trailing volatility.' };
      const label = `Volatility over ${volatility.window} sessions, latest ${formatPercent(readLast(volatility.values))}`;
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
      const label = `Headroom ${LIMIT_RULES[name].label}, latest ${formatPercent(headroom.at(-1)!)}, least ${formatPercent(lowestHeadroom)}`;
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
          label: `${cleanLine(sector ?? 'Unclassified')} ${formatPercent(readLast(weights))}`,
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
  const results = listNames(CHART_LINES)
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
