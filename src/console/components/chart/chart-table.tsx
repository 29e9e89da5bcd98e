import { listSpreadPositions, formatValueAt, type Line, type Unit } from './series.js';

interface ChartTableProps {
  readonly label: string;
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
  readonly from: number;
  readonly to: number;
  readonly unit: Unit;
}

/** Maximum number of rows in the table that describes the chart to screen readers. The arrow keys read every value. */
const ROWS_MAX = 25;

export function ChartTable({ label, dates, lines, from, to, unit }: ChartTableProps) {
  const rows = listSpreadPositions(to - from + 1, ROWS_MAX).map((t) => from + t);
  return (
    <div class="unseen">
      <table>
        <caption>
          {label}: {rows.length} of {to - from + 1} dates
        </caption>
        <thead>
          <tr>
            <th scope="col">Date</th>
            {lines.map(({ id, label: name }) => (
              <th key={id} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((t) => (
            <tr key={t}>
              <th scope="row">{dates[t]}</th>
              {lines.map(({ id, values }) => (
                <td key={id}>{formatValueAt(values, t, unit)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
