import { parseDayNumber, subtractMonths } from '../../words/dates.js';

interface Closes {
  readonly dates: readonly string[];
  readonly closes: readonly number[];
}

/** Returns the closes of the year that ends on a date, with their positions on its axis from 0 to 1. */
export function placeOnAxis({ dates, closes }: Closes, end: string) {
  const start = subtractMonths(end, 12);
  // The base of the one-year return may be a few days before the axis. It is drawn at its start.
  const first = dates.findIndex((date, at) => date >= start || (dates[at + 1] ?? '') > start);
  if (first < 0) return { closes: [], positions: [] };
  const [startDay, endDay] = [parseDayNumber(start), parseDayNumber(end)];
  return {
    closes: closes.slice(first),
    positions: dates.slice(first).map((date) => Math.max(0, (parseDayNumber(date) - startDay) / (endDay - startDay))),
  };
}
