import { dayNumber } from '../../words/dates.js';
import { decimal, percent } from '../../words/numbers.js';

export interface Line {
  readonly id: string;
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Number of its colour, from 1. */
  readonly colour: number;
  readonly isDashed?: boolean;
  /** Short name of the line from which the others are subtracted in a table. Default: none; the first line is used. */
  readonly reference?: string;
  /** True if the area below it is filled. */
  readonly isFilled?: boolean;
}

export interface Range {
  readonly from: string;
  readonly to: string;
}

/** A day that leads somewhere. */
export interface Mark {
  readonly date: string;
  readonly label: string;
  readonly address: string;
}

export const COLOURS = 12;

/** Returns the style name of the nth colour. */
export const colourOf = (n: number): string => `var(--series-${((n - 1) % COLOURS) + 1})`;

const SECONDS_PER_DAY = 86_400;

export const secondsOf = (date: string): number => dayNumber(date) * SECONDS_PER_DAY;

export const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

/** Stacks lines: each line is added to the sum of the previous ones. */
export function stack(lines: readonly Line[]): readonly Line[] {
  const sums: number[] = [];
  return lines.map((line) => ({
    ...line,
    values: line.values.map((value, t) => (sums[t] = (sums[t] ?? 0) + (value ?? 0))),
  }));
}

/**
 * Orders lines for drawing. The last one drawn is on top: the first line, and above it dashed lines, through which it
 * remains visible.
 */
export const sortForDrawing = (lines: readonly Line[]): readonly Line[] => {
  const reversed = lines.toReversed();
  const isDashed = (line: Line) => line.isDashed === true;
  return [...reversed.filter((line) => !isDashed(line)), ...reversed.filter(isDashed)];
};

/** Places that would touch, as one in their middle. @param places in ascending order */
export function toBins(
  places: readonly number[],
  gap: number,
): readonly { readonly at: number; readonly count: number }[] {
  const bins: { first: number; last: number; count: number }[] = [];
  for (const place of places) {
    const bin = bins.at(-1);
    if (bin === undefined || place - bin.first >= gap) bins.push({ first: place, last: place, count: 1 });
    else Object.assign(bin, { last: place, count: bin.count + 1 });
  }
  return bins.map(({ first, last, count }) => ({ at: (first + last) / 2, count }));
}

/** A range of values of which a linear scale hides the first part. */
const WIDE = 8;

/** Returns true if positive lines grow or fall so much that only a logarithmic scale shows all their changes. */
export function isWide(lines: readonly Line[], first: number, last: number): boolean {
  let least = Infinity;
  let most = 0;
  for (const { values } of lines)
    for (let t = first; t <= last; t++) {
      const value = values[t] ?? null;
      if (value === null) continue;
      if (value <= 0) return false;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
  return most > WIDE * least;
}

/** Positions of up to a number of dates, evenly spread, including the first and the last. */
export function spread(length: number, most: number): readonly number[] {
  if (length <= most) return Array.from({ length }, (_, t) => t);
  return Array.from({ length: most }, (_, k) => Math.round((k * (length - 1)) / (most - 1)));
}

/** Returns the first and last position within a range. Default: the whole series. */
export function limitToRange(dates: readonly string[], range: Range | null): readonly [number, number] {
  if (range === null || dates.length === 0) return [0, dates.length - 1];
  const first = dates.findIndex((date) => date >= range.from);
  const last = dates.findLastIndex((date) => date <= range.to);
  return first < 0 || last < first ? [0, dates.length - 1] : [first, last];
}

/** Format of the values of a chart: fractions written as percent, or plain numbers, with a number of decimals. */
export interface Unit {
  readonly of: 'percent' | 'number';
  readonly digits: number;
}

export const PERCENT: Unit = { of: 'percent', digits: 2 };
export const NUMBER: Unit = { of: 'number', digits: 2 };

/** Formats a value, a dash if it is missing. */
export function textAt(values: Line['values'], at: number, { of, digits }: Unit): string {
  const value = values[at];
  return of === 'percent' ? percent(value, digits) : decimal(value, digits);
}

/** Round values over a range above 0: in even steps within a decade, at 1, 2 and 5 of each over several. */
export function logSplits(least: number, most: number): number[] {
  const decades = (low: number, high: number) => {
    const first = Math.floor(Math.log10(low));
    return Array.from({ length: Math.floor(Math.log10(high)) - first + 1 }, (_, k) => 10 ** (first + k));
  };
  const isIn = (value: number) => value >= least && value <= most;
  if (most > 10 * least) return decades(least, most).flatMap((ten) => [ten, 2 * ten, 5 * ten].filter(isIn));
  return listEvenSplits(least, most);
}

/** Round values over a range in even steps. @param about their number */
export function listEvenSplits(least: number, most: number, about = 5): number[] {
  const raw = (most - least) / about;
  const ten = 10 ** Math.floor(Math.log10(raw));
  const step = ten * ([1, 2, 5].find((times) => times * ten >= raw) ?? 10);
  const first = Math.ceil(least / step);
  return Array.from({ length: Math.floor(most / step) - first + 1 }, (_, k) => (first + k) * step);
}

/** Labels of an axis: no more decimals than its steps need. */
export function axisTexts(splits: readonly (number | null)[], { of }: Unit): string[] {
  const scale = of === 'percent' ? 100 : 1;
  const known = splits.filter((value) => value !== null);
  const step = Math.abs((known[1] ?? 1) - (known[0] ?? 0)) * scale || 1;
  const least = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  // A step of 2.5 needs one more than its size has.
  const isWhole = (digits: number) => Math.abs(((step * 10 ** digits + 0.5) % 1) - 0.5) < 1e-6;
  const digits = Math.min(6, isWhole(least) || !isWhole(least + 1) ? least : least + 1);
  return splits.map((value) =>
    value === null ? '' : of === 'percent' ? percent(value, digits) : decimal(value, digits),
  );
}
