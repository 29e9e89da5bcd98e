import { getPartName } from '../state/part.js';
import { getSignClass } from '../words/numbers.js';
import './bars.css';

export interface BarEntry {
  readonly label: string;
  /** Name after the label, in a secondary colour. */
  readonly name?: string | null;
  readonly value: number;
  /** True if the row has no bar, for example a sum that would set the scale of the other bars. */
  readonly isText?: boolean;
  /** Values of the further columns. */
  readonly cells?: readonly string[];
  /** True if the bar starts at zero instead of at the end of the previous bar. */
  readonly isTotal?: boolean;
  /** Address to which the label links. */
  readonly address?: string;
}

interface BarsProps {
  readonly label: string;
  readonly bars: readonly BarEntry[];
  /** True if each bar starts at the end of the previous bar. */
  readonly isRunning?: boolean;
  /** True if values are no gains or losses. Negative values then have the second colour of charts. */
  readonly isPlain?: boolean;
  readonly format: (value: number) => string;
  /** Values that the scale also covers, for several lists with one scale. Default: only those of the bars. */
  readonly covers?: readonly number[];
  /** Titles of the column of values and of the further columns. Default: no titles. */
  readonly heads?: readonly string[];
}

/**
 * Renders a bar chart of values, or of steps from one total to the next. The rows form a table that screen readers can
 * read.
 */
export function Bars({ label, bars, isRunning = false, isPlain = false, format, covers = [], heads = [] }: BarsProps) {
  const placedBars = placeBars(bars, isRunning);
  const ends = [0, ...covers, ...placedBars.flatMap(({ bar, from, to }) => (bar.isText === true ? [] : [from, to]))];
  const least = Math.min(...ends);
  const largestEnd = Math.max(...ends);
  const span = largestEnd - least || 1;
  const [positiveClass, negativeClass] = isPlain ? ['', 'is-negative'] : ['up', 'down'];
  const formatPosition = (value: number) => `${((value - least) / span) * 100}%`;
  return (
    <table class="bars" data-part={getPartName(label)}>
      <caption class="unseen">{label}</caption>
      {heads.length > 0 && (
        <thead>
          <tr>
            <td colSpan={2} />
            {heads.map((head) => (
              <td key={head} role="columnheader" class="bar-value quiet">
                {head}
              </td>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {placedBars.map(({ bar, from, to }) => (
          <tr key={bar.label} class={bar.isTotal === true ? 'bar-total' : ''}>
            <th scope="row">
              <BarLabel {...bar} />
            </th>
            <td class="bar-ground" aria-hidden="true">
              <span class="bar-zero" style={{ left: formatPosition(0) }} />
              {bar.isText !== true && (
                <span
                  class={`bar ${bar.value < 0 ? negativeClass : positiveClass}`}
                  style={{ left: formatPosition(Math.min(from, to)), width: `${(Math.abs(to - from) / span) * 100}%` }}
                />
              )}
            </td>
            <td class={`bar-value number ${isPlain ? '' : getSignClass(bar.value)}`}>{format(bar.value)}</td>
            {bar.cells?.map((cell, at) => (
              <td key={at} class="bar-value number">
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function BarLabel({ label, name = null, address }: BarEntry) {
  const text = (
    <>
      {label}
      {name !== null && <span class="bar-name quiet"> {name}</span>}
    </>
  );
  return address === undefined ? text : <a href={address}>{text}</a>;
}

interface PlacedBar {
  readonly bar: BarEntry;
  readonly from: number;
  readonly to: number;
}

function placeBars(bars: readonly BarEntry[], isRunning: boolean): readonly PlacedBar[] {
  let lastEnd = 0;
  return bars.map((bar) => {
    const from = isRunning && bar.isTotal !== true ? lastEnd : 0;
    const to = from + bar.value;
    lastEnd = to;
    return { bar, from, to };
  });
}
