import { subtractMonths } from '../words/dates.js';
import { createStoredList } from './stored-list.js';
import { navigate, getParameter, addQuery } from './location.js';

/** Returns the date range in the address; null for all dates. */
export function findChosenRange(): { readonly from: string; readonly to: string } | null {
  const from = getParameter('from');
  const to = getParameter('to');
  return from === null || to === null ? null : { from, to };
}

/** Selects a date range and adds a history entry. */
export function chooseRange(range: { readonly from: string; readonly to: string } | null): void {
  const before = findChosenRange();
  if (before?.from === range?.from && before?.to === range?.to) return;
  if (range !== null) recordRange(range);
  navigate(addQuery({ from: range?.from ?? null, to: range?.to ?? null }));
}

interface DateRange {
  readonly from: string;
  readonly to: string;
}

const RANGES_MAX = 8;

const { items, set } = createStoredList<DateRange>('divisor.ranges', RANGES_MAX);

/** Date ranges selected in this browser, newest last. */
export const earlierRanges = items;

function recordRange(range: DateRange): void {
  set([...items.peek().filter(({ from, to }) => from !== range.from || to !== range.to), range]);
}

export interface Preset {
  readonly id: string;
  readonly text: string;
  from(end: string): string;
}

const createRangeBack = (months: number) => (end: string) => subtractMonths(end, months);

export const PRESETS: readonly Preset[] = [
  { id: '1m', text: '1M', from: createRangeBack(1) },
  { id: '3m', text: '3M', from: createRangeBack(3) },
  { id: 'ytd', text: 'YTD', from: (end) => `${Number(end.slice(0, 4)) - 1}-12-31` },
  { id: '1y', text: '1Y', from: createRangeBack(12) },
  { id: '3y', text: '3Y', from: createRangeBack(36) },
  { id: '5y', text: '5Y', from: createRangeBack(60) },
];
