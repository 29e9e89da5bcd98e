import '../control.css';
import '../range-bar.css';
import { useEffect, useState } from 'preact/hooks';
import { addQuery, getParameter, navigate } from '../../state/location.js';
import { createStoredList } from '../../state/stored-list.js';
import { formatWeekday, isDate, subtractMonths } from '../../words/dates.js';

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
const earlierRanges = items;

function recordRange(range: DateRange): void {
  set([...items.peek().filter(({ from, to }) => from !== range.from || to !== range.to), range]);
}

export interface Preset {
  readonly id: string;
  readonly text: string;
  from(end: string): string;
}

const createRangeBack = (months: number) => (end: string) => subtractMonths(end, months);

const PRESETS: readonly Preset[] = [
  { id: '1m', text: '1M', from: createRangeBack(1) },
  { id: '3m', text: '3M', from: createRangeBack(3) },
  { id: 'ytd', text: 'YTD', from: (end) => `${Number(end.slice(0, 4)) - 1}-12-31` },
  { id: '1y', text: '1Y', from: createRangeBack(12) },
  { id: '3y', text: '3Y', from: createRangeBack(36) },
  { id: '5y', text: '5Y', from: createRangeBack(60) },
];

interface RangeBarProps {
  /** First and last available date. */
  readonly start: string;
  readonly end: string;
  /** True if parts of the page have separate ranges until a range is chosen. Default: false. */
  readonly hasOwnRanges?: boolean;
}

/** Renders a selector of the date range, with named ranges and inputs for two dates. */
export function RangeBar({ start, end, hasOwnRanges = false }: RangeBarProps) {
  const range = findChosenRange();
  const from = range?.from ?? start;
  const to = range?.to ?? end;
  const isOwn = hasOwnRanges && range === null;
  return (
    <div class="flow gap-2 range-bar" role="group" aria-label="Range of dates">
      <div class="range-presets">
        {PRESETS.map((preset) => {
          const begin = selectLater(preset.from(end), start);
          return (
            <button
              key={preset.id}
              type="button"
              aria-pressed={range !== null && from === begin && to === end}
              onClick={() => chooseRange({ from: begin, to: end })}
            >
              {preset.text}
            </button>
          );
        })}
        <button
          type="button"
          aria-pressed={hasOwnRanges ? range !== null && from === start && to === end : range === null}
          onClick={() => chooseRange(hasOwnRanges ? { from: start, to: end } : null)}
        >
          All
        </button>
        {hasOwnRanges && (
          <button type="button" aria-pressed={isOwn} onClick={() => chooseRange(null)}>
            As pinned
          </button>
        )}
      </div>
      <EarlierRanges start={start} end={end} />
      <div class="inline-line gap-1 range-dates">
        <DateInput
          label="From"
          value={isOwn ? '' : from}
          least={start}
          most={to}
          onChange={(date) => chooseRange({ from: date, to })}
        />
        <span class="quiet" aria-hidden="true">
          –
        </span>
        <DateInput
          label="To"
          value={isOwn ? '' : to}
          least={from}
          most={end}
          onChange={(date) => chooseRange({ from, to: date })}
        />
      </div>
    </div>
  );
}

/** Renders the ranges that were used recently, if they are within the available dates. */
function EarlierRanges({ start, end }: RangeBarProps) {
  const now = findChosenRange();
  const otherRanges = earlierRanges.value
    .filter(({ from, to }) => from >= start && to <= end && (from !== now?.from || to !== now.to))
    .toReversed();
  if (otherRanges.length === 0) return null;
  return (
    <select
      class="control"
      aria-label="Earlier ranges"
      value=""
      onChange={({ currentTarget }) => {
        const [from, to] = currentTarget.value.split(' ');
        if (from !== undefined && to !== undefined) chooseRange({ from, to });
      }}
    >
      <option value="">Earlier …</option>
      {otherRanges.map(({ from, to }) => (
        <option key={`${from} ${to}`} value={`${from} ${to}`}>
          {from} to {to}
        </option>
      ))}
    </select>
  );
}

const selectLater = (a: string, b: string): string => (a > b ? a : b);

interface DateInputProps {
  readonly label: string;
  readonly value: string;
  readonly least: string;
  readonly most: string;
  onChange(date: string): void;
}

/** Renders a date input. A date that is invalid or not available stays in the input, with the reason below it. */
export function DateInput({ label, value, least, most, onChange }: DateInputProps) {
  const [typed, setTyped] = useState<TypedDate | null>(null);
  useEffect(() => setTyped(null), [value]);
  const isWrong = typed !== null && typed.problem !== '';
  return (
    <span class="date-field">
      <input
        class="control date-input"
        aria-label={label}
        aria-invalid={isWrong}
        value={typed?.text ?? value}
        size={10}
        maxLength={10}
        placeholder="YYYY-MM-DD"
        onInput={({ currentTarget }) => setTyped({ text: currentTarget.value, problem: '' })}
        onChange={({ currentTarget }) => {
          const text = currentTarget.value.trim();
          const problem = findDateProblem(text, { least, most });
          setTyped(problem === '' ? null : { text, problem });
          if (problem === '') onChange(text);
        }}
      />
      {isWrong && (
        <span class="small date-problem" role="alert">
          {typed.problem}
        </span>
      )}
    </span>
  );
}

/** Text that differs from the chosen date, and why it cannot be chosen; an empty text while the user types. */
interface TypedDate {
  readonly text: string;
  readonly problem: string;
}

/** Returns why a date cannot be chosen; an empty text if it can. */
function findDateProblem(date: string, { least, most }: Pick<DateInputProps, 'least' | 'most'>): string {
  if (!isDate(date)) return `“${date}” is not a date such as ${least}.`;
  if (date < least) return `${date} is before ${least}, the first available date.`;
  return date > most ? `${date} is after ${most}, the last available date.` : '';
}

export const WeekdayDate = ({ date }: { readonly date: string }) => (
  <>
    {date} <span class="quiet">{formatWeekday(date)}</span>
  </>
);
