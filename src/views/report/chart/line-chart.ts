import { LIMITS } from '#domain/refusals/limits.js';
import type { DateSpan } from './date-axis.js';
import { createDateTicks } from './date-axis.js';
import { simplifyLine } from './simplify.js';
import { createLinearAxis, createLogAxis, type ValueAxis } from './value-axis.js';
import type { DatedLine } from '../figures.js';
import { formatTick } from '../numbers.js';
import type { Box, Canvas, Stroke } from '../page/canvas.js';
import { HAIRLINE, INK, LINE, MUTED_INK, RULE_COLOUR, SIZE } from '../style-sheet.js';

export interface ChartSeries extends DatedLine {
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
export function drawLineChart(canvas: Canvas, panels: readonly Panel[], box: Box): void {
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
