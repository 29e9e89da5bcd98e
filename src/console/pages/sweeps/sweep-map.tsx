import type { BacktestMetrics, SweepRow } from '#clients/typescript/divisor.js';
import { Select } from '../../components/choice.js';
import { Section } from '../../components/page.js';
import { parameter, setParameters } from '../../state/place.js';
import { decimal, percent } from '../../words/numbers.js';
import type { Json } from '../../words/paths.js';
import { patchText, withUnit, type Told } from './values.js';

interface SweepMapProps {
  readonly rows: readonly SweepRow[];
  readonly pointers: readonly string[];
  readonly rankBy: keyof BacktestMetrics;
  readonly told: Told;
}

const METRICS = [
  'sharpe_ratio',
  'annualised_return',
  'volatility',
  'max_drawdown',
  'total_return',
] as const satisfies readonly (keyof BacktestMetrics)[];

/** A metric over two parameters; where there are more, a cell has the best of the others by rank. */
export function SweepMap({ rows, pointers, rankBy, told }: SweepMapProps) {
  const across = pointers.find((pointer) => pointer === parameter('across')) ?? pointers[0] ?? '';
  const down = pointers.find((pointer) => pointer === parameter('down')) ?? pointers[1] ?? '';
  const metric = METRICS.find((one) => one === parameter('metric')) ?? rankBy;
  const columns = valuesOf(rows, across);
  const lines = down === '' ? [''] : valuesOf(rows, down);
  const known = rows.flatMap(({ metrics }) => metrics?.[metric] ?? []);
  const least = Math.min(...known);
  const span = Math.max(...known) - least || 1;
  const best = (column: string, line: string): number | null => {
    const fitting = rows
      .filter(
        ({ patch, rank }) =>
          rank !== null && patchText(patch[across]) === column && (down === '' || patchText(patch[down]) === line),
      )
      .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
    return fitting[0]?.metrics?.[metric] ?? null;
  };
  const named = pointers.map((pointer) => ({ value: pointer, text: told(pointer).label }));
  return (
    <Section
      title="Map"
      aside={
        <>
          {pointers.length > 1 && (
            <Select
              label="Across"
              isLabelShown
              options={named}
              value={across}
              onChoose={(chosen) => setParameters({ across: chosen })}
            />
          )}
          {pointers.length > 1 && (
            <Select
              label="Down"
              isLabelShown
              options={named}
              value={down}
              onChoose={(chosen) => setParameters({ down: chosen })}
            />
          )}
          <Select
            label="Metric"
            isLabelShown
            options={METRICS.map((value) => ({ value, text: value.replaceAll('_', ' ') }))}
            value={metric}
            onChoose={(chosen) => setParameters({ metric: chosen })}
          />
        </>
      }
    >
      <div class="sweep-map" tabIndex={0} role="region" aria-label={`${metric.replaceAll('_', ' ')} by parameters`}>
        <table>
          <thead>
            <tr>
              {down === '' ? <td /> : <th scope="col">{`${told(down).label} \\ ${told(across).label}`}</th>}
              {columns.map((column) => (
                <th key={column} scope="col">
                  {textOf(rows, across, column, told)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
              <tr key={line}>
                <th scope="row">{line === '' ? told(across).label : textOf(rows, down, line, told)}</th>
                {columns.map((column) => {
                  const value = best(column, line);
                  const strength = value === null ? 0 : Math.round(((value - least) / span) * 55);
                  return (
                    <td
                      key={column}
                      style={{ background: `color-mix(in srgb, var(--accent) ${strength}%, transparent)` }}
                    >
                      {metric === 'sharpe_ratio' ? decimal(value, 3) : percent(value)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

/** Values of a parameter in the order in which they were asked for. */
function valuesOf(rows: readonly SweepRow[], pointer: string): readonly string[] {
  const inOrder = rows.toSorted((a, b) => a.variant - b.variant);
  return [...new Set(inOrder.filter(({ patch }) => pointer in patch).map(({ patch }) => patchText(patch[pointer])))];
}

/** A value of a parameter with its unit. */
function textOf(rows: readonly SweepRow[], pointer: string, text: string, told: Told): string {
  const value = rows.find(({ patch }) => pointer in patch && patchText(patch[pointer]) === text)?.patch[pointer];
  return withUnit(value as Json, told(pointer).unit); // Values of a patch are JSON.
}
