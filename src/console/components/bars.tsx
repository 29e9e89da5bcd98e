import { partName } from '../state/part.js';
import { signClass } from '../words/numbers.js';
import './bars.css';

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** True if the bar is drawn from zero instead of from the end of the previous one. */
  readonly isTotal?: boolean;
  /** Address to which the label links. */
  readonly address?: string;
}

interface BarsProps {
  readonly label: string;
  readonly bars: readonly Bar[];
  /** True if each bar begins where the previous one ended. */
  readonly isRunning?: boolean;
  /** True if the sign is neither a gain nor a loss. */
  readonly isPlain?: boolean;
  readonly format: (value: number) => string;
}

/** Bars with their values, or steps from one to the next. The rows are a table, so that they can be read too. */
export function Bars({ label, bars, isRunning = false, isPlain = false, format }: BarsProps) {
  const placed = placeBars(bars, isRunning);
  const least = Math.min(0, ...placed.flatMap(({ from, to }) => [from, to]));
  const most = Math.max(0, ...placed.flatMap(({ from, to }) => [from, to]));
  const span = most - least || 1;
  const at = (value: number) => `${((value - least) / span) * 100}%`;
  return (
    <table class="bars" data-part={partName(label)}>
      <caption class="unseen">{label}</caption>
      <tbody>
        {placed.map(({ bar, from, to }) => (
          <tr key={bar.label} class={bar.isTotal === true ? 'bar-total' : ''}>
            <th scope="row">{bar.address === undefined ? bar.label : <a href={bar.address}>{bar.label}</a>}</th>
            <td class="bar-ground" aria-hidden="true">
              <span class="bar-zero" style={{ left: at(0) }} />
              <span
                class={`bar ${isPlain ? '' : bar.value < 0 ? 'down' : 'up'}`}
                style={{ left: at(Math.min(from, to)), width: `${(Math.abs(to - from) / span) * 100}%` }}
              />
            </td>
            <td class={`bar-value number ${isPlain ? '' : signClass(bar.value)}`}>{format(bar.value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Placed {
  readonly bar: Bar;
  readonly from: number;
  readonly to: number;
}

function placeBars(bars: readonly Bar[], isRunning: boolean): readonly Placed[] {
  let reached = 0;
  return bars.map((bar) => {
    const from = isRunning && bar.isTotal !== true ? reached : 0;
    const to = from + bar.value;
    reached = to;
    return { bar, from, to };
  });
}
