import { LIMITS } from '#domain/base/limits.js';
import { type Day, formatDay, toCivilDate, toDay, toWeekday } from '#domain/base/time.js';
import { raiseToPower } from '#kernels/power.js';
import {
  type DatedLine,
  formatTick,
  formatCountFigure,
  formatLevel,
  formatPercentFigure,
  formatPlainTexts,
  formatRatio,
  type Missing,
  type RunFigures,
  splitRows,
} from './figures.js';
import {
  AMBER,
  type Box,
  type Canvas,
  HAIRLINE,
  INK,
  LINE,
  MUTED_INK,
  NAVY,
  type Part,
  RULE_COLOUR,
  type Section,
  SIZE,
  type Stroke,
  type StructureElement,
  NAVY_TINT,
  SIZE_MIN,
  SLATE,
} from './page.js';
import { type Typesetter, cleanLine } from './text.js';
import type { AttributionView } from '#contract/analytics/analytics.js';
import { LIMIT_RULES } from '#domain/definition/compliance.js';
import {
  type BarSource,
  type BlockOf,
  CHART_LINES,
  type ChartLine,
  listEntryNames,
} from '#domain/outputs/report-templates.js';
import { createNotePart, createTitlePart, type Drawing, type DrawingContext, requireFigures } from './blocks.js';

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
function formatSecurity(identifier: string, name: string | null): string {
  return name ?? identifier;
}

function createWeightBars({ constituents }: RunFigures, limit: number): Bars {
  const { shown } = splitRows(constituents(), limit);
  const bars = shown.map(({ identifier, name, weight }) => createPercentBar(formatSecurity(identifier, name), weight));
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
    createPercentBar(formatSecurity(asset_id, findName(asset_id)), contribution),
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

export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
}

const getColour = (value: number): string => (value < 0 ? AMBER : NAVY);

interface ColumnsInput {
  readonly box: Box;
  /** Font size of values and labels in points. */
  readonly size: number;
}

/** Draws vertical bars from a zero line. Each bar has its value at its end and its label at the bottom. */
function drawColumns(canvas: Canvas, bars: readonly Bar[], { box, size }: ColumnsInput): void {
  const low = Math.min(0, ...bars.map(({ value }) => value));
  const high = Math.max(0, ...bars.map(({ value }) => value));
  const rowHeight = size + 3;
  const top = box.y + (high > 0 ? rowHeight : 2);
  const bottom = box.y + box.height - rowHeight - 4 - (low < 0 ? rowHeight : 0);
  const scale = high > low ? (bottom - top) / (high - low) : 0;
  const zero = top + high * scale;
  const pitch = box.width / bars.length;
  const width = Math.min(pitch * 0.62, 34);
  bars.forEach(({ value, text, label }, i) => {
    const middle = box.x + pitch * (i + 0.5);
    const length = Math.abs(value) * scale;
    if (length > 0)
      canvas.rectangle(
        { x: middle - width / 2, y: value < 0 ? zero : zero - length, width, height: length },
        getColour(value),
      );
    canvas.text(text, {
      x: middle,
      y: value < 0 ? zero + length + size : zero - length - 3,
      size,
      colour: INK,
      align: 'middle',
    });
    canvas.text(label, { x: middle, y: box.y + box.height - 3, size, colour: MUTED_INK, align: 'middle' });
  });
  canvas.line([box.x, zero], [box.x + box.width, zero], { colour: RULE_COLOUR, width: LINE.rule });
}

interface BarsInput {
  readonly width: number;
  readonly typesetter: Typesetter;
  readonly alt: string;
}

const ROW_HEIGHT = 13.5;
const BAR_HEIGHT = 7.5;
const GAP = 6;
/** Maximum width of labels as a fraction of the width. */
const LABEL_SHARE = 0.45;

/**
 * Lays out horizontal bars with labels on the left and values at their ends. Each bar is a part, so a long chart can
 * continue on the next page.
 */
function layBars(bars: readonly Bar[], { width, typesetter, alt }: BarsInput): Section[] {
  const valueWidth = Math.max(...bars.map(({ text }) => typesetter.width(text, { size: SIZE.label })));
  const labelWidth = Math.min(
    LABEL_SHARE * width,
    Math.max(...bars.map(({ label }) => typesetter.width(label, { size: SIZE.table }))) + 1,
  );
  const low = Math.min(0, ...bars.map(({ value }) => value));
  const high = Math.max(0, ...bars.map(({ value }) => value));
  const labelSpace = low < 0 ? valueWidth + 3 : 0;
  const barWidth = width - labelWidth - GAP - labelSpace - valueWidth - 3;
  const scale = high > low ? barWidth / (high - low) : 0;
  const zero = labelWidth + GAP + labelSpace - low * scale;
  let figure: StructureElement | null = null;
  const rows = bars.map(({ label, value, text }): Part => {
    const [line] = typesetter.fit(label, { size: SIZE.table, maxWidth: labelWidth, linesMax: 1 });
    return {
      height: ROW_HEIGHT,
      draw(canvas, { x, y, parent }) {
        figure ??= canvas.element(parent, 'Figure', { alt, box: { x, y, width, height: ROW_HEIGHT * bars.length } });
        canvas.content(figure, 'Figure', () => {
          const baseline = y + ROW_HEIGHT / 2 + SIZE.table * 0.34;
          const length = Math.abs(value) * scale;
          canvas.text(line!, { x, y: baseline, size: SIZE.table, colour: INK });
          if (length > 0)
            canvas.rectangle(
              {
                x: x + (value < 0 ? zero - length : zero),
                y: y + (ROW_HEIGHT - BAR_HEIGHT) / 2,
                width: length,
                height: BAR_HEIGHT,
              },
              getColour(value),
            );
          canvas.text(text, {
            x: x + (value < 0 ? zero - length - 3 : zero + length + 3),
            y: baseline,
            size: SIZE.label,
            colour: INK,
            align: value < 0 ? 'right' : 'left',
          });
          canvas.line([x + zero, y], [x + zero, y + ROW_HEIGHT], { colour: RULE_COLOUR, width: LINE.rule });
        });
      },
    };
  });
  return [{ head: null, rows }];
}

export interface DateTick {
  readonly day: Day;
  readonly label: string;
}

interface DateSpan {
  readonly first: Day;
  readonly last: Day;
}

export const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;

/** Steps between ticks, finest first: weeks starting on Mondays, or months counted from January. */
const STEPS = [
  { unit: 'week', count: 1 },
  { unit: 'week', count: 2 },
  { unit: 'month', count: 1 },
  { unit: 'month', count: 3 },
  { unit: 'month', count: 6 },
  { unit: 'month', count: 12 },
  { unit: 'month', count: 24 },
  { unit: 'month', count: 60 },
  { unit: 'month', count: 120 },
  { unit: 'month', count: 240 },
] as const;
type Step = (typeof STEPS)[number];

/**
 * Returns ticks at the starts of weeks, months, quarters or years, depending on the span. A label leaves out what the
 * previous label already shows. The year is printed at the first tick and at each January.
 * @param labelsFit returns true if the labels of the ticks do not overlap
 * @returns the ticks of the finest step that fits, or the two ends if none fits
 */
export function createDateTicks(span: DateSpan, labelsFit: (ticks: readonly DateTick[]) => boolean): DateTick[] {
  for (const step of STEPS) {
    if (countTicks(span, step) > TICKS_MAX) continue;
    const ticks = listTicks(span, step);
    if (ticks.length >= 2 && labelsFit(ticks)) return ticks;
  }
  const endTicks = [...new Set([span.first, span.last])].map((day) => ({ day, label: formatDay(day) }));
  return labelsFit(endTicks) ? endTicks : endTicks.slice(0, 1);
}

/** Maximum number of labels that fit on a page. */
const TICKS_MAX = 60;
const DAYS_OF = { week: 7, month: 30.4 } as const;

function countTicks({ first, last }: DateSpan, { unit, count: length }: Step): number {
  return (last - first) / (DAYS_OF[unit] * length);
}

function listTicks(span: DateSpan, step: Step): DateTick[] {
  const days = step.unit === 'week' ? listMondays(span, step.count) : listMonthStarts(span, step.count);
  return days.map((day, i) => ({ day, label: formatLabel(day, step, i === 0 ? null : days[i - 1]!) }));
}

function listMondays({ first, last }: DateSpan, weeks: number): Day[] {
  const days: Day[] = [];
  for (let day = first + ((7 - toWeekday(first)) % 7); day <= last; day += 7 * weeks) days.push(day);
  return days;
}

/**
 * Maximum number of days between the start of a year or month and the first date of a line. If the line starts within
 * these days, it counts as starting with the year or month. The first session is rarely the first day.
 */
const LATE_DAYS = 6;

function listMonthStarts({ first, last }: DateSpan, months: number): Day[] {
  const { year } = toCivilDate(first);
  const startYear = months > 12 ? Math.floor(year / (months / 12)) * (months / 12) : year;
  const days: Day[] = [];
  for (let month = 0; ; month += months) {
    const day = toDay({ year: startYear + Math.floor(month / 12), month: (month % 12) + 1, day: 1 });
    if (day > last) return days;
    if (day >= first - LATE_DAYS) days.push(Math.max(day, first));
  }
}

function formatLabel(day: Day, { unit, count: length }: Step, previousDay: Day | null): string {
  const { year, month, day: dayOfMonth } = toCivilDate(day);
  if (unit === 'month' && length >= 12) return String(year);
  const isNewYear = previousDay === null || toCivilDate(previousDay).year !== year;
  const name = MONTHS[month - 1]!;
  if (unit === 'month') return isNewYear ? `${name} ${year}` : name;
  return isNewYear ? `${dayOfMonth} ${name} ${year}` : `${dayOfMonth} ${name}`;
}

interface SimplifyInput {
  /** Horizontal positions in points, ascending. */
  readonly xs: ArrayLike<number>;
  readonly values: Float64Array;
  /** Width of a bucket in points. */
  readonly bucket: number;
}

/**
 * Selects the first, lowest, highest and last point in each bucket of a line. If a bucket is not wider than the pen,
 * the line looks the same.
 * @returns positions of the selected points, ascending
 * @source U. Jugel et al., M4: a visualization-oriented time series data aggregation, VLDB 2014
 * @cost O(n)
 */
export function simplifyLine({ xs, values, bucket }: SimplifyInput): Int32Array {
  const chosenPoints: number[] = [];
  let from = 0;
  while (from < values.length) {
    const end = xs[from]! + bucket;
    let lowest = from;
    let highest = from;
    let last = from;
    while (last + 1 < values.length && xs[last + 1]! < end) {
      last++;
      if (values[last]! < values[lowest]!) lowest = last;
      if (values[last]! > values[highest]!) highest = last;
    }
    for (const position of [from, Math.min(lowest, highest), Math.max(lowest, highest), last])
      if (chosenPoints.at(-1) !== position) chosenPoints.push(position);
    from = last + 1;
  }
  return Int32Array.from(chosenPoints);
}

/** Scale of the values of a chart with labelled ticks. */
interface ValueAxis {
  /** Ticks within the range, ascending. */
  readonly ticks: readonly number[];
  /**
   * Distance between neighbouring ticks. It determines the number of decimals. If the distances differ, it is the
   * smallest one.
   */
  readonly step: number;
  /** Returns the position of a value: 0 at the lower end of the axis, 1 at the upper end. */
  position(value: number): number;
}

interface ValueExtent {
  readonly low: number;
  readonly high: number;
}

/** Factors of round steps, relative to a power of ten. */
const NICE_STEPS = [1, 2, 2.5, 5, 10] as const;

/** Padding above and below the values as a fraction of their range. There is no padding at a zero end of the axis. */
const PADDING_SHARE = 0.05;

/**
 * Returns a linear axis slightly longer than the range of its values, with ticks at round values.
 * @param ticksMax at least 2
 */
export function createLinearAxis(extent: ValueExtent, ticksMax: number): ValueAxis {
  const { low, high } = addPadding(extent);
  let step = roundStep((high - low) / (ticksMax + 1));
  while (computeFloor(high / step) - computeCeiling(low / step) + 1 > ticksMax) step = roundStep(step * 1.01);
  const firstStep = computeCeiling(low / step);
  const ticks = Array.from({ length: computeFloor(high / step) - firstStep + 1 }, (_, i) => (firstStep + i) * step);
  return { ticks, step, position: (value) => (value - low) / (high - low) };
}

/** Range relative to the upper end below which values differ only by rounding errors. */
const FLAT_RANGE = 1e-12;

function addPadding({ low, high }: ValueExtent): ValueExtent {
  if (!(high - low > FLAT_RANGE * Math.abs(high))) {
    const padding = Math.abs(high) * PADDING_SHARE || 1;
    return { low: low - padding, high: high + padding };
  }
  const margin = (high - low) * PADDING_SHARE;
  return { low: low === 0 ? 0 : low - margin, high: high === 0 ? 0 : high + margin };
}

/** Tolerance that prevents rounding from adding a tick. */
const TICK_TOLERANCE = 1e-9;
const computeFloor = (value: number): number => Math.floor(value + TICK_TOLERANCE);
const computeCeiling = (value: number): number => Math.ceil(value - TICK_TOLERANCE);

/** Returns the smallest round step that is not less than a value. */
function roundStep(minimum: number): number {
  const powerOfTen = raiseToPower(10, Math.floor(Math.log10(minimum)));
  return (NICE_STEPS.find((factor) => factor * powerOfTen >= minimum * (1 - TICK_TOLERANCE)) ?? 10) * powerOfTen;
}

/**
 * Returns a logarithmic axis over positive values. Ticks are at 1, 2 and 5 times powers of ten. If these are too many,
 * ticks are at 1 and 3 times powers of ten, or only at powers of ten; if they are too few, at evenly spaced round
 * values.
 */
export function createLogAxis(extent: ValueExtent, ticksMax: number): ValueAxis {
  const factor = raiseToPower(extent.high / extent.low, PADDING_SHARE) * 1.005;
  const low = extent.low / factor;
  const high = extent.high * factor;
  const bottom = Math.log(low);
  const span = Math.log(high) - bottom;
  const evenTicks = createLinearAxis({ low, high }, ticksMax).ticks.filter((tick) => tick >= low && tick <= high);
  const candidates = [
    listLogTicks(low, high, [1, 2, 5]),
    listLogTicks(low, high, [1, 3]),
    listLogTicks(low, high, [1]),
    evenTicks,
  ];
  const fittingTicks = candidates.filter(({ length }) => length <= ticksMax);
  const ticks =
    fittingTicks.find(({ length }) => length >= 3) ?? fittingTicks.toSorted((a, b) => b.length - a.length)[0]!;
  const step = ticks.slice(1).reduce((smallest, tick, i) => Math.min(smallest, tick - ticks[i]!), Infinity);
  return { ticks, step: Number.isFinite(step) ? step : 1, position: (value) => (Math.log(value) - bottom) / span };
}

function listLogTicks(low: number, high: number, factors: readonly number[]): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const factor of factors) {
      const tick = factor * raiseToPower(10, power);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

interface ChartSeries extends DatedLine {
  readonly label: string;
  readonly stroke: Stroke;
  /** Colour of the area between the line and zero. */
  readonly fill?: string;
}

export interface Panel {
  readonly unit: 'percent' | 'points';
  readonly isLogarithmic: boolean;
  /** True if the axis includes zero. */
  readonly hasZero: boolean;
  /** Series in the order of the legend. The first series is drawn on top. */
  readonly series: readonly ChartSeries[];
  /** Fraction of the height of the chart. */
  readonly share: number;
  /** Text after the legend, for example the date on which the lines are 100. */
  readonly note?: string;
}

const LEGEND_HEIGHT = 13;
const AXIS_HEIGHT = 13;
const PANEL_GAP = 8;
/** Minimum distance between value ticks in points. */
const TICK_SPACE = 24;
const LABEL_GAP = 5;
/** Minimum distance between date ticks in points; more dates would add no information. */
const PITCH_MIN = 46;
/** Minimum distance that a line can show, in points. Closer points coincide. */
const BUCKET_MIN = 0.4;

/** Draws panels one above the other with a common date axis. Each panel has its own legend. */
function drawLineChart(canvas: Canvas, panels: readonly Panel[], box: Box): void {
  const span = createSpan(panels);
  const plots = createPlots(canvas, panels, box);
  const left = Math.max(...plots.map(({ labelWidth }) => labelWidth)) + LABEL_GAP;
  const innerBox = { x: box.x + left, width: box.width - left };
  const computePosition = (day: number): number =>
    innerBox.x + (span.last > span.first ? (day - span.first) / (span.last - span.first) : 0.5) * innerBox.width;
  const ticks = selectFittingTicks(canvas, span, { position: computePosition, box });
  for (const { panel, axis, top, height } of plots) {
    const plot = { x: innerBox.x, y: top + LEGEND_HEIGHT, width: innerBox.width, height: height - LEGEND_HEIGHT };
    drawLegend(canvas, panel, { x: box.x, y: top });
    drawGrid(canvas, { axis, panel, plot });
    for (const { day } of ticks) {
      const x = computePosition(day);
      canvas.line([x, plot.y + plot.height], [x, plot.y + plot.height + 3], { colour: RULE_COLOUR, width: LINE.rule });
    }
    drawSeries(canvas, { panel, axis, plot, position: computePosition });
  }
  const baseline = box.y + box.height - 2;
  for (const { day, label } of ticks)
    canvas.text(label, {
      x: createLabel(canvas, { x: computePosition(day), label, box }),
      y: baseline,
      size: SIZE.label,
      colour: MUTED_INK,
      align: 'middle',
    });
}

function createSpan(panels: readonly Panel[]): DateSpan {
  const chartSeries = panels.flatMap(({ series }) => series);
  return {
    first: Math.min(...chartSeries.map(({ days }) => days[0]!)),
    last: Math.max(...chartSeries.map(({ days }) => days.at(-1)!)),
  };
}

interface Plot {
  readonly panel: Panel;
  readonly axis: ValueAxis;
  readonly top: number;
  /** Height including the legend. */
  readonly height: number;
  readonly labelWidth: number;
}

function createPlots(canvas: Canvas, panels: readonly Panel[], box: Box): Plot[] {
  const shares = panels.reduce((sum, { share }) => sum + share, 0);
  const plotHeight = box.height - AXIS_HEIGHT - PANEL_GAP * (panels.length - 1);
  let top = box.y;
  return panels.map((panel) => {
    const height = (plotHeight * panel.share) / shares;
    const axis = createAxis(panel, height - LEGEND_HEIGHT);
    const labelWidth = Math.max(
      ...axis.ticks.map((tick) =>
        canvas.typesetter.width(formatTick(tick, { step: axis.step, unit: panel.unit }), { size: SIZE.label }),
      ),
    );
    const plot = { panel, axis, top, height, labelWidth };
    top += height + PANEL_GAP;
    return plot;
  });
}

function createAxis({ series, isLogarithmic, hasZero }: Panel, height: number): ValueAxis {
  let low = hasZero ? 0 : Infinity;
  let high = hasZero ? 0 : -Infinity;
  for (const { values } of series) {
    for (let i = 0; i < values.length; i++) {
      if (values[i]! < low) low = values[i]!;
      if (values[i]! > high) high = values[i]!;
    }
  }
  const ticksMax = Math.max(2, Math.floor(height / TICK_SPACE) + 1);
  return isLogarithmic && low > 0 ? createLogAxis({ low, high }, ticksMax) : createLinearAxis({ low, high }, ticksMax);
}

function selectFittingTicks(
  canvas: Canvas,
  span: DateSpan,
  { position, box }: { readonly position: (day: number) => number; readonly box: Box },
) {
  const measureWidth = (label: string): number => canvas.typesetter.width(label, { size: SIZE.label });
  return createDateTicks(span, (ticks) => {
    let end = -Infinity;
    let previousMiddle = -Infinity;
    return ticks.every(({ day, label }) => {
      const middle = createLabel(canvas, { x: position(day), label, box });
      const isFree = middle - measureWidth(label) / 2 >= end + 2 * LABEL_GAP && middle >= previousMiddle + PITCH_MIN;
      end = middle + measureWidth(label) / 2;
      previousMiddle = middle;
      return isFree;
    });
  });
}

/** Returns the horizontal centre at which a label stays within the chart. */
function createLabel(
  canvas: Canvas,
  { x, label, box }: { readonly x: number; readonly label: string; readonly box: Box },
): number {
  const halfWidth = canvas.typesetter.width(label, { size: SIZE.label }) / 2;
  return Math.min(Math.max(x, box.x + halfWidth), box.x + box.width - halfWidth);
}

function drawLegend(
  canvas: Canvas,
  { series, note }: Panel,
  { x, y }: { readonly x: number; readonly y: number },
): void {
  let left = x;
  const baseline = y + SIZE.label;
  for (const { label, stroke } of series) {
    canvas.line([left, baseline - 2.4], [left + 14, baseline - 2.4], { ...stroke, width: Math.max(1.2, stroke.width) });
    canvas.text(label, { x: left + 18, y: baseline, size: SIZE.label, colour: INK });
    left += 18 + canvas.typesetter.width(label, { size: SIZE.label }) + 14;
  }
  if (note !== undefined) canvas.text(note, { x: left, y: baseline, size: SIZE.label, colour: MUTED_INK });
}

interface PlotInput {
  readonly panel: Panel;
  readonly axis: ValueAxis;
  readonly plot: Box;
}

function drawGrid(canvas: Canvas, { axis, panel, plot }: PlotInput): void {
  const bottom = plot.y + plot.height;
  for (const tick of axis.ticks) {
    const y = bottom - axis.position(tick) * plot.height;
    const isZero = tick === 0 && panel.unit === 'percent';
    canvas.line(
      [plot.x, y],
      [plot.x + plot.width, y],
      isZero ? { colour: RULE_COLOUR, width: LINE.rule } : { colour: HAIRLINE, width: LINE.hair },
    );
    canvas.text(formatTick(tick, { step: axis.step, unit: panel.unit }), {
      x: plot.x - LABEL_GAP,
      y: y + SIZE.label * 0.34,
      size: SIZE.label,
      colour: MUTED_INK,
      align: 'right',
    });
  }
  canvas.line([plot.x, bottom], [plot.x + plot.width, bottom], { colour: RULE_COLOUR, width: LINE.rule });
}

function drawSeries(
  canvas: Canvas,
  { panel, axis, plot, position }: PlotInput & { readonly position: (day: number) => number },
): void {
  const bottom = plot.y + plot.height;
  const pointsMax = Math.floor(LIMITS.MAX_REPORT_POINTS / panel.series.length);
  const bucket = Math.max(BUCKET_MIN, (4 * plot.width) / pointsMax);
  for (const { days, values, stroke, fill } of panel.series.toReversed()) {
    const dayPositions = Float64Array.from(days, position);
    const points = simplifyLine({ xs: dayPositions, values, bucket });
    const xs = Float64Array.from(points, (i) => dayPositions[i]!);
    const ys = Float64Array.from(points, (i) => bottom - axis.position(values[i]!) * plot.height);
    if (fill !== undefined) canvas.area({ xs, ys }, bottom - axis.position(0) * plot.height, fill);
    canvas.polyline({ xs, ys }, stroke);
  }
}
