import { getPartName } from '../state/part.js';
import { formatChange, getSignClass } from '../words/numbers.js';
import './heatmap.css';

interface HeatmapProps {
  readonly label: string;
  /** Returns as fractions, by month (YYYY-MM). */
  readonly values: Readonly<Record<string, number>>;
  /** Returns as fractions, by year. */
  readonly totals: Readonly<Record<string, number>>;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;
/** Absolute return at which the colour is strongest. */
const FULL_COLOUR_RETURN = 0.08;

/** Renders returns by year and month. The colour only repeats the sign and size of each number. */
export function Heatmap({ label, values, totals }: HeatmapProps) {
  const years = Object.keys(totals).toSorted((a, b) => Number(b) - Number(a));
  return (
    <div class="heatmap" data-part={getPartName(label)} tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">Year</th>
            <th scope="col">Annual</th>
            {MONTHS.map((month) => (
              <th key={month} scope="col">
                {month}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {years.map((year) => (
            <tr key={year}>
              <th scope="row">{year}</th>
              <td class={`heatmap-total ${getSignClass(totals[year])}`}>{formatChange(totals[year])}</td>
              {MONTHS.map((month, m) => (
                <Cell key={month} value={values[`${year}-${String(m + 1).padStart(2, '0')}`]} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ value }: { readonly value: number | undefined }) {
  if (value === undefined) return <td class="quiet">–</td>;
  const strength = Math.round(Math.min(1, Math.abs(value) / FULL_COLOUR_RETURN) * 34);
  const colour = value >= 0 ? 'var(--up)' : 'var(--down)';
  return (
    <td style={{ background: `color-mix(in srgb, ${colour} ${strength}%, transparent)` }}>{formatChange(value, 1)}</td>
  );
}
