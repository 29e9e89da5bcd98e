import { parseDayNumber } from '../../words/dates.js';
import { formatDecimal, formatPercent, formatPoints } from '../../words/numbers.js';
import type { Cells } from '../../words/tables.js';

export interface FlagBox {
  readonly start: number;
  readonly end: number;
}

interface Label extends FlagBox {
  readonly width: number;
  readonly gap: number;
}

/** Returns the left end of a label: to the right of its flag, or to the left if it would leave the chart. */
export function placeLabel(
  { start, end, width, gap }: Label,
  chart: { readonly left: number; readonly right: number },
) {
  if (end + gap + width <= chart.right) return end + gap;
  return Math.max(chart.left, start - 2 * gap - width);
}

/** Minimum distance in pixels between date labels, and between year labels, which are shorter. */
const DATE_SPACE = 72;
const YEAR_SPACE = 44;

/** Longest step of month labels in seconds: six months, to which uPlot gives 30 days each. */
const HALF_YEAR_SECONDS = 6 * 30 * 86_400;

/**
 * Returns the minimum distance between labels in pixels. If neighbouring labels are more than half a year apart, they
 * are year labels.
 */
export const computeLabelSpace = (seconds: number, width: number): number =>
  (seconds / width) * YEAR_SPACE > HALF_YEAR_SECONDS ? YEAR_SPACE : DATE_SPACE;

export interface Line {
  readonly id: string;
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Number of the series colour, from 1. */
  readonly colour: number;
  readonly isDashed?: boolean;
  /** Width in pixels. Default: that of the chart. */
  readonly width?: number;
  /**
   * Short name of the line that a table subtracts from the other lines. If no line has such a name, the first line is
   * subtracted.
   */
  readonly reference?: string;
  /** True if the area below the line is filled. */
  readonly isFilled?: boolean;
  /** True if the line and its filled area have the colour of losses below zero. */
  readonly isSigned?: boolean;
  /** True if each value is drawn as a bar from zero. */
  readonly isBars?: boolean;
  /** True if missing values interrupt the line. Default: the line continues to the next value. */
  readonly hasGaps?: boolean;
  /** True if the user added the line and can remove it. */
  readonly isRemovable?: boolean;
}

export interface ValueRange {
  readonly from: string;
  readonly to: string;
}

/** A day that links to a page. */
export interface Mark {
  readonly date: string;
  readonly label: string;
  readonly address: string;
}

export const COLOUR_COUNT = 12;

/** Returns the CSS variable of the nth colour. */
export const getColour = (n: number): string => `var(--series-${((n - 1) % COLOUR_COUNT) + 1})`;

const SECONDS_PER_DAY = 86_400;

export const toSeconds = (date: string): number => parseDayNumber(date) * SECONDS_PER_DAY;

export const toDate = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

/** Stacks lines: the values of each line are added to the sum of the lines before it. */
export function stackLines(lines: readonly Line[]): readonly Line[] {
  const sums: number[] = [];
  return lines.map((line) => ({
    ...line,
    values: line.values.map((value, t) => (sums[t] = (sums[t] ?? 0) + (value ?? 0))),
  }));
}

/** Width of a line in pixels, and of a dashed line. */
const LINE_WIDTH = 1.75;
const DASHED_WIDTH = 1;

export const getWidth = ({ isDashed, width }: Line): number => width ?? (isDashed === true ? DASHED_WIDTH : LINE_WIDTH);

/** Minimum width of the key of a line in a legend. The colour of a thinner key is hard to recognise. */
const SWATCH_WIDTH = 3;

export const getSwatchWidth = (width: number | undefined): number => Math.max(SWATCH_WIDTH, width ?? 0);

/**
 * Sorts lines in the order in which they are drawn. The last line is on top. Thin lines are drawn above wide lines, and
 * dashed lines above solid lines, which stay visible below them. Among lines of the same width, the first line is drawn
 * last.
 */
export const sortForDrawing = (lines: readonly Line[]): readonly Line[] =>
  lines.toReversed().toSorted((a, b) => getWidth(b) - getWidth(a));

/**
 * Combines marks that would overlap. The combined mark is in the middle of their positions.
 * @param positions positions in ascending order
 */
export function toBins(
  positions: readonly number[],
  gap: number,
): readonly { readonly at: number; readonly count: number }[] {
  const bins: { first: number; last: number; count: number }[] = [];
  for (const position of positions) {
    const bin = bins.at(-1);
    if (bin === undefined || position - bin.first >= gap) bins.push({ first: position, last: position, count: 1 });
    else Object.assign(bin, { last: position, count: bin.count + 1 });
  }
  return bins.map(({ first, last, count }) => ({ at: (first + last) / 2, count }));
}

/** Distance below which one line hides another, as a fraction of the range of all values. */
const COVERED = 0.02;

/** Widths of lines that are drawn over one another: of the line on top, of the next, and of all others. */
const LAYER_WIDTHS = [1.75, 3.5, 5.5] as const;

/**
 * Makes lines that stay close to one another on most dates visible: the first is on top, and the others are drawn wider
 * below it.
 */
export function layerCovered(lines: readonly Line[]): readonly Line[] {
  const all = lines.flatMap(({ values }) => values.filter((value) => value !== null));
  const reach =
    COVERED * (all.reduce((a, b) => Math.max(a, b), -Infinity) - all.reduce((a, b) => Math.min(a, b), Infinity));
  const isClose = (a: Line, b: Line): boolean => {
    let [shared, close] = [0, 0];
    a.values.forEach((value, t) => {
      const other = b.values[t] ?? null;
      if (value === null || other === null) return;
      shared++;
      if (Math.abs(value - other) <= reach) close++;
    });
    return close > shared / 2;
  };
  return lines.map((line, k) => {
    const layer = lines.slice(0, k).filter((other) => isClose(line, other)).length;
    const isCovered = lines.slice(k + 1).some((other) => isClose(line, other));
    return layer === 0 && !isCovered ? line : { ...line, width: LAYER_WIDTHS[Math.min(layer, 2)]! };
  });
}

/** Ratio of the largest to the smallest value. Above it, a linear scale hides early changes. */
const WIDE_RATIO = 5;

/** Returns true if only a logarithmic scale shows all changes: the values are positive and their range is wide. */
export function isWide(lines: readonly Line[], first: number, last: number): boolean {
  let least = Infinity;
  let largest = 0;
  for (const { values } of lines)
    for (let t = first; t <= last; t++) {
      const value = values[t] ?? null;
      if (value === null) continue;
      if (value <= 0) return false;
      least = Math.min(least, value);
      largest = Math.max(largest, value);
    }
  return largest > WIDE_RATIO * least;
}

/** Returns at most `most` positions. They are evenly spaced and include the first and the last. */
export function listSpreadPositions(length: number, most: number): readonly number[] {
  if (length <= most) return Array.from({ length }, (_, t) => t);
  return Array.from({ length: most }, (_, k) => Math.round((k * (length - 1)) / (most - 1)));
}

/** Returns the first and last position within a range. Default: the whole series. */
export function limitToRange(dates: readonly string[], range: ValueRange | null): readonly [number, number] {
  if (range === null || dates.length === 0) return [0, dates.length - 1];
  const first = dates.findIndex((date) => date >= range.from);
  const last = dates.findLastIndex((date) => date <= range.to);
  return first < 0 || last < first ? [0, dates.length - 1] : [first, last];
}

/** Number format of chart values: percentages or percentage points of fractions, or plain numbers, with decimals. */
export interface NumberFormat {
  readonly of: 'percent' | 'points' | 'number';
  readonly digits: number;
}

export const PERCENT_UNIT: NumberFormat = { of: 'percent', digits: 2 };
export const POINTS: NumberFormat = { of: 'points', digits: 2 };
export const NUMBER_UNIT: NumberFormat = { of: 'number', digits: 2 };

/** Formats a value; a missing value is shown as a dash. */
export function formatValueAt(values: Line['values'], position: number, { of, digits }: NumberFormat): string {
  const value = values[position];
  if (of === 'points') return formatPoints(value);
  return of === 'percent' ? formatPercent(value, digits) : formatDecimal(value, digits);
}

/**
 * Returns round values within a positive range. Within a decade they are evenly spaced; otherwise they are 1, 2 and 5
 * times each power of ten.
 */
export function listLogSplits(least: number, most: number): number[] {
  const listDecades = (low: number, high: number) => {
    const first = Math.floor(Math.log10(low));
    return Array.from({ length: Math.floor(Math.log10(high)) - first + 1 }, (_, k) => 10 ** (first + k));
  };
  const isIn = (value: number) => value >= least && value <= most;
  if (most > 10 * least) return listDecades(least, most).flatMap((ten) => [ten, 2 * ten, 5 * ten].filter(isIn));
  return listEvenSplits(least, most);
}

/**
 * Returns round values within a range, evenly spaced.
 * @param about approximate number of values
 */
export function listEvenSplits(least: number, most: number, about = 5): number[] {
  const raw = (most - least) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((times) => times * power >= raw) ?? 10);
  const first = Math.ceil(least / step);
  return Array.from({ length: Math.floor(most / step) - first + 1 }, (_, k) => (first + k) * step);
}

/** Highest values of a scale from zero as multiples of a power of ten. Every axis of some 60 pixels has a label there. */
const TOPS = [1, 2, 4, 5, 10];

/** Returns the round value at which a scale from zero ends, so that its highest bar is below a label. */
export function roundUpScale(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return power * (TOPS.find((times) => times * power >= most) ?? 10);
}

/** Number of the series colour of losses. */
export const LOSS_COLOUR = 7;

/** Steps of an axis as multiples of a power of ten. */
const STEPS = [1, 2, 5, 10];

/**
 * Returns the value at which a scale below zero begins, so that its lowest value is above a label.
 * @param steps maximum number of labels below zero
 */
export function roundDownScale(least: number, steps: number): number {
  const raw = -least / steps;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * (STEPS.find((times) => times * power >= raw * (1 - 1e-9)) ?? 10);
  return -step * Math.ceil(-least / step - 1e-9);
}

/** Formats the labels of an axis. They have no more decimals than the steps of the axis need. */
export function formatAxisLabels(splits: readonly (number | null)[], { of }: NumberFormat): string[] {
  const scale = of === 'number' ? 1 : 100;
  const knownSplits = splits.filter((value) => value !== null);
  const step = Math.abs((knownSplits[1] ?? 1) - (knownSplits[0] ?? 0)) * scale || 1;
  const least = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  // A step of 2.5 needs one more decimal than its magnitude suggests.
  const isWhole = (digits: number) => Math.abs(((step * 10 ** digits + 0.5) % 1) - 0.5) < 1e-6;
  const digits = Math.min(6, isWhole(least) || !isWhole(least + 1) ? least : least + 1);
  return splits.map((value) =>
    value === null
      ? ''
      : of === 'percent'
        ? formatPercent(value, digits)
        : `${formatDecimal(value * scale, digits)}${of === 'points' ? ' pp' : ''}`,
  );
}

interface VisibleLines {
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
  /** Positions of the first and last date. */
  readonly first: number;
  readonly last: number;
}

export const listLineCells = ({ dates, lines, first, last }: VisibleLines): Cells => ({
  header: ['Date', ...lines.map(({ label }) => label)],
  rows: dates.slice(first, last + 1).map((date, t) => [date, ...lines.map(({ values }) => values[first + t] ?? null)]),
});
