import type uPlot from 'uplot';
import { formatFileName, saveFile } from '../../state/files.js';
import {
  formatAxisLabels,
  getSwatchWidth,
  getWidth,
  type Line,
  listEvenSplits,
  listLogSplits,
  sortForDrawing,
  stackLines,
  toDate,
  toSeconds,
  type NumberFormat,
} from './series.js';

export interface ChartContent {
  readonly label: string;
  readonly plot: uPlot;
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
  readonly unit: NumberFormat;
  readonly isLog: boolean;
  readonly isStacked: boolean;
  /** Positions of the first and last visible date. */
  readonly first: number;
  readonly last: number;
}

const PADDING = 16;
const TITLE_HEIGHT = 22;
const LEGEND_HEIGHT = 20;
const AXIS_RIGHT = 60;
const AXIS_BELOW = 24;

/** Saves a chart as a file. The label of the chart is the file name. */
export async function saveChart(chart: ChartContent, format: 'png' | 'svg'): Promise<void> {
  const bytes = format === 'svg' ? new TextEncoder().encode(renderSvg(chart)) : await renderPng(chart);
  saveFile(`${formatFileName(chart.label)}.${format}`, bytes);
}

const getPageStyle = (): CSSStyleDeclaration => getComputedStyle(document.documentElement);

const getColourIn = (pageStyle: CSSStyleDeclaration, n: number): string =>
  pageStyle.getPropertyValue(`--series-${((n - 1) % 12) + 1}`);

interface LegendEntry {
  readonly line: Line;
  readonly x: number;
  readonly y: number;
}

/** Returns the entries of the legend. They are wrapped to the width of the chart. */
function layOutLegend(lines: readonly Line[], width: number): readonly LegendEntry[] {
  let x = PADDING;
  let y = PADDING + TITLE_HEIGHT + 12;
  return lines.map((line) => {
    const entryWidth = 22 + line.label.length * 6.6 + 14;
    if (x > PADDING && x + entryWidth > width - PADDING) {
      x = PADDING;
      y += LEGEND_HEIGHT;
    }
    const entry = { line, x, y };
    x += entryWidth;
    return entry;
  });
}

const formatRange = ({ dates, first, last }: ChartContent): string => `${dates[first]} – ${dates[last]}`;

/** Draws the chart as a PNG image with its title and legend. The background is that of the current theme. */
async function renderPng(chart: ChartContent): Promise<Uint8Array> {
  const { canvas } = chart.plot.ctx;
  const pageStyle = getPageStyle();
  const scale = devicePixelRatio;
  const width = canvas.width / scale + 2 * PADDING;
  const legend = layOutLegend(chart.lines, width);
  const plotTop = (legend.at(-1)?.y ?? PADDING + TITLE_HEIGHT) + 12;
  const out = document.createElement('canvas');
  out.width = Math.round(width * scale);
  out.height = Math.round(plotTop * scale + canvas.height + PADDING * scale);
  const context = out.getContext('2d')!; // every browser that supports canvas supports the 2d context
  context.scale(scale, scale);
  context.fillStyle = pageStyle.getPropertyValue('--ground-raised');
  context.fillRect(0, 0, out.width, out.height);
  const font = pageStyle.getPropertyValue('--font');
  const write = (text: string, x: number, y: number, colour: string, weight = 400) => {
    context.font = `${weight} 12px ${font}`;
    context.fillStyle = pageStyle.getPropertyValue(colour);
    context.fillText(text, x, y);
  };
  write(chart.label, PADDING, PADDING + 12, '--text', 600);
  write(formatRange(chart), PADDING + 14 + chart.label.length * 7.2, PADDING + 12, '--text-third');
  for (const { line, x, y } of legend) {
    context.strokeStyle = getColourIn(pageStyle, line.colour);
    context.lineWidth = getSwatchWidth(line.width);
    context.setLineDash(line.isDashed === true ? [4, 3] : []);
    context.beginPath();
    context.moveTo(x, y - 4);
    context.lineTo(x + 14, y - 4);
    context.stroke();
    write(line.label, x + 20, y, '--text-second');
  }
  context.drawImage(canvas, PADDING, plotTop, canvas.width / scale, canvas.height / scale);
  const blob = await new Promise<Blob | null>((resolve) => out.toBlob(resolve, 'image/png'));
  if (blob === null) throw new Error('The browser cannot write the picture.');
  return new Uint8Array(await blob.arrayBuffer());
}

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

export function renderSvg(chart: ChartContent): string {
  const pageStyle = getPageStyle();
  const { width: plotWidth, height: plotHeight } = chart.plot.rect;
  const width = Math.round(plotWidth + AXIS_RIGHT + 2 * PADDING);
  const legend = layOutLegend(chart.lines, width);
  const top = (legend.at(-1)?.y ?? PADDING + TITLE_HEIGHT) + 14;
  const height = Math.round(top + plotHeight + AXIS_BELOW + PADDING);
  const frame: ChartFrame = { left: PADDING, top, width: plotWidth, height: plotHeight, ...createScales(chart) };
  const formatText = (x: number, y: number, text: string, colour: string, more = '') =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${pageStyle.getPropertyValue(colour)}"${more}>${escape(text)}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Inter, system-ui, sans-serif" font-size="12">`,
    `<title>${escape(chart.label)}</title>`,
    `<rect width="100%" height="100%" fill="${pageStyle.getPropertyValue('--ground-raised')}"/>`,
    formatText(PADDING, PADDING + 12, chart.label, '--text', ' font-weight="600"'),
    formatText(width - PADDING, PADDING + 12, formatRange(chart), '--text-third', ' text-anchor="end"'),
    ...legend.flatMap(({ line, x, y }) => [
      `<path d="M${x} ${y - 4}h14" stroke="${getColourIn(pageStyle, line.colour)}" stroke-width="${getSwatchWidth(line.width)}"${line.isDashed === true ? ' stroke-dasharray="4 3"' : ''}/>`,
      formatText(x + 20, y, line.label, '--text-second'),
    ]),
    ...renderAxes(chart, frame, pageStyle.getPropertyValue('--line'), (x, y, text, more) =>
      formatText(x, y, text, '--text-third', more),
    ),
    ...renderLines(chart, frame, pageStyle),
    '</svg>',
  ].join('\n');
}

interface ChartFrame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
}

function createScales({ plot }: ChartContent): Pick<ChartFrame, 'x' | 'y'> {
  const getRange = (name: string): readonly [number, number] => {
    const { min, max } = plot.scales[name] ?? {};
    return [min ?? 0, max ?? 1];
  };
  return { x: getRange('x'), y: getRange('y') };
}

function createScale({ left, top, width, height, x, y }: ChartFrame, isLog: boolean) {
  const toScale = isLog ? Math.log : (value: number) => value;
  const [low, high] = [toScale(y[0]), toScale(y[1])];
  return {
    toX: (seconds: number) => left + ((seconds - x[0]) / (x[1] - x[0])) * width,
    toY: (value: number) => top + height - ((toScale(value) - low) / (high - low)) * height,
  };
}

type WriteText = (x: number, y: number, text: string, more?: string) => string;

const SECONDS_PER_DAY = 86_400;
/** Steps that the date axis can have. Each has the length of its labels in characters. */
const DATE_STEPS = [
  { seconds: 5 * 365.25 * SECONDS_PER_DAY, months: 60, length: 4 },
  { seconds: 2 * 365.25 * SECONDS_PER_DAY, months: 24, length: 4 },
  { seconds: 365.25 * SECONDS_PER_DAY, months: 12, length: 4 },
  { seconds: 91.3 * SECONDS_PER_DAY, months: 3, length: 7 },
  { seconds: 30.4 * SECONDS_PER_DAY, months: 1, length: 7 },
] as const;
const LABEL_WIDTH = 72;
/** Distance between the grid lines, in pixels. */
const ROW_HEIGHT = 40;

/**
 * Returns the dates of the axis that have a label: first days of years or months, far enough apart that labels do not
 * overlap. If the range has no such day, returns the ends of the range.
 */
function listDateSplits({ x, width }: ChartFrame): readonly { readonly date: string; readonly text: string }[] {
  const [from, to] = [toDate(x[0]), toDate(x[1])];
  const labelsMax = width / LABEL_WIDTH;
  const step = DATE_STEPS.findLast(({ seconds }) => (x[1] - x[0]) / seconds <= labelsMax) ?? DATE_STEPS[0];
  const year = Number(from.slice(0, 4));
  const splits: { date: string; text: string }[] = [];
  for (let month = 0; ; month += step.months) {
    const date = new Date(Date.UTC(year - (year % Math.max(1, step.months / 12)), month, 1)).toISOString().slice(0, 10);
    if (date > to) break;
    if (date >= from) splits.push({ date, text: date.slice(0, step.length) });
  }
  return splits.length > 0 ? splits : [from, to].map((date) => ({ date, text: date }));
}

function renderAxes(chart: ChartContent, frame: ChartFrame, line: string, write: WriteText): readonly string[] {
  const { toX, toY } = createScale(frame, chart.isLog);
  const splits = chart.isLog ? listLogSplits(...frame.y) : listEvenSplits(...frame.y, frame.height / ROW_HEIGHT);
  const texts = formatAxisLabels(splits, chart.unit);
  const right = frame.left + frame.width;
  return [
    ...splits.flatMap((value, k) => [
      `<path d="M${frame.left} ${toY(value).toFixed(1)}h${frame.width.toFixed(1)}" stroke="${line}"/>`,
      write(right + 8, toY(value) + 4, texts[k] ?? ''),
    ]),
    ...listDateSplits(frame).map(({ date, text }) =>
      write(toX(toSeconds(date)), frame.top + frame.height + 18, text, ' text-anchor="middle"'),
    ),
  ];
}

function renderLines(chart: ChartContent, frame: ChartFrame, pageStyle: CSSStyleDeclaration): readonly string[] {
  const { toX, toY } = createScale(frame, chart.isLog);
  const drawn = chart.isStacked ? stackLines(chart.lines).toReversed() : sortForDrawing(chart.lines);
  const ground = toY(Math.max(frame.y[0], chart.isLog ? frame.y[0] : 0));
  return drawn.map((line) => {
    const { values, colour, isDashed, isFilled } = line;
    const stroke = getColourIn(pageStyle, colour);
    const points: string[] = [];
    for (let t = chart.first; t <= chart.last; t++) {
      const value = values[t];
      const date = chart.dates[t];
      if (typeof value === 'number' && date !== undefined)
        points.push(`${toX(toSeconds(date)).toFixed(1)} ${toY(value).toFixed(1)}`);
    }
    const path = points.length === 0 ? '' : `M${points.join('L')}`;
    const [start, end] = [points[0]?.split(' ')[0], points.at(-1)?.split(' ')[0]];
    const area =
      (chart.isStacked || isFilled === true) && path !== ''
        ? `<path d="${path}L${end} ${ground.toFixed(1)}L${start} ${ground.toFixed(1)}Z" fill="${stroke}"${chart.isStacked ? '' : ' fill-opacity="0.14"'}/>`
        : '';
    const dash = isDashed === true ? ' stroke-dasharray="4 3"' : '';
    return `${area}<path d="${path}" fill="none" stroke="${stroke}" stroke-width="${getWidth(line)}"${dash}/>`;
  });
}
