import { useEffect, useState } from 'preact/hooks';
import { chooseRange, findChosenRange, earlierRanges, PRESETS } from '../state/range.js';
import { isDate } from '../words/dates.js';
import './control.css';
import './range-bar.css';

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
    <div class="range-bar" role="group" aria-label="Range of dates">
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
      <div class="range-dates">
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
        <span class="date-problem" role="alert">
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
