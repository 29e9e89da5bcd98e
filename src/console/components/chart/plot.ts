import 'uplot/dist/uPlot.min.css';
import uPlot from 'uplot';
import {
  computeLabelSpace,
  type FlagBox,
  formatAxisLabels,
  getWidth,
  type Line,
  listLogSplits,
  LOSS_COLOUR,
  type Mark,
  placeLabel,
  type ValueRange,
  roundDownScale,
  roundUpScale,
  sortForDrawing,
  stackLines,
  toBins,
  toDate,
  toSeconds,
  type NumberFormat,
} from './series.js';

export interface ShadedPeriod {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

export interface DayRemark {
  readonly date: string;
  readonly label: string;
  /** True if the label is drawn next to the flag. */
  readonly isWritten?: boolean;
}

type OverlayStyle = CSSStyleDeclaration;

/** Shades the visible part of periods behind the lines. */
function drawBands(plot: uPlot, bands: readonly ShadedPeriod[], style: OverlayStyle): void {
  const { ctx, bbox } = plot;
  const sight = findRange(plot);
  if (bands.length === 0 || sight === null) return;
  ctx.save();
  ctx.fillStyle = style.getPropertyValue('--band');
  for (const { from, to } of bands) {
    const [start, end] = [Math.max(toSeconds(from), sight.min), Math.min(toSeconds(to), sight.max)];
    if (end < start) continue;
    const left = plot.valToPos(start, 'x', true);
    ctx.fillRect(left, bbox.top, Math.max(1, plot.valToPos(end, 'x', true) - left), bbox.height);
  }
  ctx.restore();
}

/** Draws a vertical line for each remark, with a flag at its top. */
function drawFlags(plot: uPlot, flags: readonly DayRemark[], style: OverlayStyle): void {
  const { ctx, bbox } = plot;
  const sight = findRange(plot);
  if (flags.length === 0 || sight === null) return;
  const size = 6 * devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = style.getPropertyValue('--accent');
  ctx.fillStyle = ctx.strokeStyle;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.font = `${11 * devicePixelRatio}px ${style.getPropertyValue('--font')}`;
  for (const { date, label, isWritten = false } of flags) {
    const seconds = toSeconds(date);
    if (seconds < sight.min || seconds > sight.max) continue;
    const x = plot.valToPos(seconds, 'x', true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x + 1.5 * size, bbox.top + size / 2);
    ctx.lineTo(x, bbox.top + size);
    ctx.fill();
    if (isWritten) writeLabel(plot, label, { start: x, end: x + 1.5 * size }, style);
  }
  ctx.restore();
}

function findRange(plot: uPlot): { readonly min: number; readonly max: number } | null {
  const { min, max } = plot.scales['x'] ?? {};
  return typeof min === 'number' && typeof max === 'number' ? { min, max } : null;
}

/** Distance in pixels between a label and its flag, and between a label and the edge of its background. */
const LABEL_GAP = 3;
const LABEL_HEIGHT = 13;

/** Writes the label of a flag on a background next to the flag. */
function writeLabel({ ctx, bbox }: uPlot, label: string, flag: FlagBox, style: OverlayStyle): void {
  const gap = LABEL_GAP * devicePixelRatio;
  const { width } = ctx.measureText(label);
  const left = placeLabel({ ...flag, width, gap }, { left: bbox.left, right: bbox.left + bbox.width });
  const colour = ctx.fillStyle;
  ctx.fillStyle = style.getPropertyValue('--ground');
  ctx.fillRect(left - gap, bbox.top - gap, width + 2 * gap, LABEL_HEIGHT * devicePixelRatio + gap);
  ctx.fillStyle = style.getPropertyValue('--text-second');
  ctx.textAlign = 'left';
  ctx.textBaseline = 'top';
  ctx.fillText(label, left, bbox.top);
  ctx.fillStyle = colour;
}

export interface PlotOptions {
  readonly width: number;
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
  readonly height: number;
  readonly isLog: boolean;
  readonly isStacked: boolean;
  /** True if zero is always visible. */
  readonly hasZero: boolean;
  readonly marks: readonly Mark[];
  readonly bands: readonly ShadedPeriod[];
  readonly flags: readonly DayRemark[];
  /** Name of a cursor group. Charts with the same name share one cursor. */
  readonly sync: string | undefined;
  readonly unit: NumberFormat;
  onCursor(at: number | null): void;
  onRange(range: ValueRange): void;
}

/**
 * Draws lines into an element. Reports when the visible range or the cursor changes.
 * @cost some 10 ms for 5,000 dates and four lines
 */
export function createPlot(into: HTMLElement, options: PlotOptions): uPlot {
  const startMs = performance.now();
  const { dates, lines, isStacked } = options;
  const drawn = isStacked ? stackLines(lines).toReversed() : sortForDrawing(lines);
  const data = [dates.map(toSeconds), ...drawn.map(({ values }) => [...values])] as uPlot.AlignedData;
  const style = getComputedStyle(document.documentElement);
  const plot = new uPlot(
    {
      width: options.width,
      height: options.height,
      legend: { show: false },
      // The left half of the first date label is outside the plot area.
      padding: [8, 8, 0, 32],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      cursor: createCursor(options),
      focus: { alpha: FAINT },
      scales: { x: { time: true }, y: { distr: options.isLog ? 3 : 1, range: createRange(options) } },
      axes: createAxes(options, style),
      series: [{}, ...drawn.map((line) => createSeries(line, isStacked, style))],
      hooks: {
        // Called after the first drawing.
        ready: [() => performance.measure('chart', { start: startMs })],
        setCursor: [(u) => options.onCursor(u.cursor.idx ?? null)],
        setSelect: [(u) => reportRange(u, options)],
        drawClear: [(u) => drawBands(u, options.bands, style)],
        draw: [(u) => drawMarks(u, options.marks, style), (u) => drawFlags(u, options.flags, style)],
      },
    },
    data,
    into,
  );
  enablePan(plot, options);
  return plot;
}

/** Opacity of the other lines while one line is emphasised. */
const FAINT = 0.15;

/** Draws the other lines faintly. @param id line of the plot; null draws all lines alike */
export function emphasiseLine(plot: uPlot, id: string | null): void {
  plot.setSeries(id === null ? null : plot.series.findIndex(({ label }) => label === id), { focus: true });
}

type PlotStyle = CSSStyleDeclaration;

const readSeriesColour = (style: PlotStyle, n: number): string =>
  style.getPropertyValue(`--series-${((n - 1) % 12) + 1}`);

/** Width of a bar as a share of the distance between two dates, and maximum width in pixels. */
const BAR_SIZE: [number, number] = [0.5, 24];

function createSeries(line: Line, isStacked: boolean, style: PlotStyle): uPlot.Series {
  const stroke = readSeriesColour(style, line.colour);
  if (line.isSigned === true)
    return {
      label: line.id,
      stroke: (plot) => splitAtZero(plot, stroke, readSeriesColour(style, LOSS_COLOUR)),
      width: getWidth(line),
      points: { show: false },
      fill: (plot) => splitAtZero(plot, `${stroke}24`, `${readSeriesColour(style, LOSS_COLOUR)}24`),
    };
  return {
    label: line.id,
    stroke: isStacked ? style.getPropertyValue('--ground-raised') : stroke,
    width: isStacked ? 0.5 : getWidth(line),
    points: { show: false },
    spanGaps: line.hasGaps !== true,
    ...(line.isDashed === true ? { dash: [8, 8] } : {}),
    ...(line.isBars === true ? { fill: stroke, paths: uPlot.paths.bars!({ size: BAR_SIZE }) } : {}),
    ...(isStacked ? { fill: stroke } : line.isFilled === true ? { fill: `${stroke}24` } : {}),
  };
}

/** Returns one colour above zero and another below. */
function splitAtZero({ ctx, bbox, valToPos }: uPlot, above: string, below: string): CanvasGradient {
  const zero = Math.min(1, Math.max(0, (valToPos(0, 'y', true) - bbox.top) / bbox.height));
  const gradient = ctx.createLinearGradient(0, bbox.top, 0, bbox.top + bbox.height);
  for (const [at, colour] of [
    [0, above],
    [zero, above],
    [zero, below],
    [1, below],
  ] as const)
    gradient.addColorStop(at, colour);
  return gradient;
}

function createAxes({ unit, isLog, dates, lines }: PlotOptions, style: PlotStyle): uPlot.Axis[] {
  const text = style.getPropertyValue('--text-third');
  const line = style.getPropertyValue('--line');
  const font = `11px ${style.getPropertyValue('--font')}`;
  const common: uPlot.Axis = {
    stroke: text,
    font,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    border: { show: false },
  };
  return [
    {
      ...common,
      grid: { show: false },
      size: 26,
      space: (_, __, least, most, width) => computeLabelSpace(most - least, width),
      values: (_, splits, __, ___, step) => splits.map((at) => formatAxisDate(at, step)),
      ...(dates.length <= DATED_BARS_MAX &&
        lines.every(({ isBars }) => isBars) && {
          splits: (plot) => listBarSplits(dates, plot),
          values: (_, splits) => splits.map(toDate),
        }),
    },
    {
      ...common,
      side: 1,
      size: 60,
      space: 34,
      values: (_, splits) => formatAxisLabels(splits, unit),
      ...(unit.of === 'number' && unit.digits === 0 ? { incrs: WHOLE_STEPS } : {}),
      ...(isLog ? { splits: (_, __, least, most) => listLogSplits(least, most), filter: (_, splits) => splits } : {}),
    },
  ];
}

/** Maximum number of bars whose dates label the axis. Long daily series are labelled by months and years. */
const DATED_BARS_MAX = 200;

/** Minimum distance in pixels between the dates of bars. */
const BAR_LABEL_SPACE = 90;

/** Returns the dates of bars, evenly thinned if they need more than the width of the plot. */
function listBarSplits(dates: readonly string[], { bbox }: uPlot): number[] {
  const count = Math.max(1, Math.floor(bbox.width / devicePixelRatio / BAR_LABEL_SPACE));
  const every = Math.ceil(dates.length / count);
  return dates.filter((_, t) => t % every === 0).map(toSeconds);
}

/** Steps of an axis of counts, which have no decimals. */
const WHOLE_STEPS = Array.from({ length: 10 }, (_, k) => [10 ** k, 2 * 10 ** k, 5 * 10 ** k]).flat();

const MONTH_SECONDS = 28 * 86_400;

/** Formats a date of the axis as a year, a month or a day. This depends on the step of the axis. */
function formatAxisDate(seconds: number, step: number): string {
  const date = toDate(seconds);
  return step >= 12 * MONTH_SECONDS ? date.slice(0, 4) : step >= MONTH_SECONDS ? date.slice(0, 7) : date;
}

function createRange({ lines, isLog, isStacked, hasZero, height }: PlotOptions): uPlot.Scale.Range {
  if (isLog)
    return (_, least, most) => {
      const factor = (most / least) ** 0.06;
      return factor > 1 ? [least / factor, most * factor] : [least / 1.1, most * 1.1];
    };
  if (isStacked) return (_, __, most) => [0, Math.max(most, 1e-9)];
  const hasOnlyBars = lines.every(({ isBars }) => isBars);
  return (_, least, most) => {
    if (hasZero && hasOnlyBars && least >= 0 && most > 0) return [0, roundUpScale(most)];
    if (hasZero && most <= 0 && least < 0) return [roundDownScale(least, Math.floor(height / PLOT_LABEL_HEIGHT)), 0];
    const low = hasZero ? Math.min(0, least) : least;
    const high = hasZero ? Math.max(0, most) : most;
    const margin = (high - low || Math.abs(high) || 1) * 0.06;
    return [low === 0 && hasZero ? 0 : low - margin, high === 0 && hasZero ? 0 : high + margin];
  };
}

/** Height of a chart in pixels for each label of its vertical axis. */
const PLOT_LABEL_HEIGHT = 46;

/** Returns the cursor settings: dragging selects a range, and dragging with the shift key moves it. */
function createCursor({ sync, isStacked }: PlotOptions): uPlot.Cursor {
  return {
    y: false,
    drag: { x: true, y: false, setScale: false },
    points: { show: !isStacked, size: 7 },
    ...(sync === undefined ? {} : { sync: { key: sync, setSeries: false } }),
    bind: {
      mousedown: (_, __, handle) => (event) => (event.shiftKey ? null : handle(event)),
      dblclick: () => () => null,
    },
  };
}

const SELECTED_MIN = 6;

function reportRange(plot: uPlot, { onRange }: PlotOptions): void {
  const { left, width } = plot.select;
  if (width >= SELECTED_MIN)
    onRange({ from: toDate(plot.posToVal(left, 'x')), to: toDate(plot.posToVal(left + width, 'x')) });
  if (width > 0) plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

/**
 * Moves the visible range with the pointer while the shift key is pressed. The new range is reported when the pointer
 * is released.
 */
function enablePan(plot: uPlot, { dates, onRange }: PlotOptions): void {
  const first = toSeconds(dates[0] ?? '1970-01-01');
  const last = toSeconds(dates.at(-1) ?? '1970-01-01');
  plot.over.addEventListener('pointerdown', (down) => {
    if (!down.shiftKey) return;
    const { min = first, max = last } = plot.scales['x'] ?? {};
    const span = max! - min!;
    const perPixel = span / plot.rect.width;
    plot.over.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent) => {
      const start = Math.max(first, Math.min(last - span, min! - (event.clientX - down.clientX) * perPixel));
      plot.setScale('x', { min: start, max: start + span });
    };
    const end = () => {
      plot.over.removeEventListener('pointermove', move);
      const { min: from, max: to } = plot.scales['x'] ?? {};
      if (typeof from === 'number' && typeof to === 'number') onRange({ from: toDate(from), to: toDate(to) });
    };
    plot.over.addEventListener('pointermove', move);
    plot.over.addEventListener('pointerup', end, { once: true });
  });
  plot.over.addEventListener('contextmenu', (event) => event.shiftKey && event.preventDefault());
}

/** Draws small marks on the date axis. Marks that would overlap are drawn as one mark with their number. */
function drawMarks(plot: uPlot, marks: readonly Mark[], style: PlotStyle): void {
  if (marks.length === 0) return;
  const { ctx, bbox } = plot;
  const { min, max } = plot.scales['x'] ?? {};
  ctx.save();
  ctx.fillStyle = style.getPropertyValue('--text-third');
  const size = 3.5 * devicePixelRatio;
  ctx.font = `${9 * devicePixelRatio}px ${style.getPropertyValue('--font')}`;
  ctx.textAlign = 'center';
  if (typeof min !== 'number' || typeof max !== 'number') return ctx.restore();
  const markPositions = marks.map(({ date }) => toSeconds(date)).filter((at) => at >= min && at <= max);
  for (const { at: x, count } of toBins(
    markPositions.map((at) => plot.valToPos(at, 'x', true)),
    MARK_GAP * devicePixelRatio,
  )) {
    const y = bbox.top + bbox.height;
    // In a narrow chart the numbers would cover the lines.
    if (count > 1 && plot.width >= COUNTED_WIDTH) ctx.fillText(String(count), x, y - 2.4 * size);
    ctx.beginPath();
    ctx.moveTo(x - size, y);
    ctx.lineTo(x + size, y);
    ctx.lineTo(x, y - 1.6 * size);
    ctx.fill();
  }
  ctx.restore();
}

/** Minimum distance in pixels between two marks. Marks that are closer become one mark with their number. */
const MARK_GAP = 11;

/** Minimum width of a chart in pixels at which a combined mark shows its number. */
const COUNTED_WIDTH = 480;

const MARK_REACH = 6;

/** Returns the mark under the pointer. */
export function markAt(plot: uPlot, marks: readonly Mark[], x: number): Mark | undefined {
  const computeDistance = (mark: Mark) => Math.abs(plot.valToPos(toSeconds(mark.date), 'x') - x);
  const [nearest] = marks.toSorted((a, b) => computeDistance(a) - computeDistance(b));
  return nearest !== undefined && computeDistance(nearest) <= MARK_REACH ? nearest : undefined;
}
