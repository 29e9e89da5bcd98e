import { Button } from '../button.js';
import { Icon } from '../icon.js';
import { formatChange, formatPoints, getSignClass } from '../../words/numbers.js';
import { Swatch } from './legend.js';
import { formatValueAt, type Line, type Unit } from './series.js';

interface CursorTableProps {
  readonly label: string;
  readonly dates: readonly string[];
  readonly lines: readonly Line[];
  /** Positions of the cursor and of the date from which changes are measured. */
  readonly at: number;
  readonly from: number;
  readonly unit: Unit;
  readonly hasReference: boolean;
  /** Removes a removable line. */
  readonly onRemove?: ((id: string) => void) | undefined;
}

/**
 * Renders a table of the values at the cursor and their changes since a date. It also shows by how much each change
 * differs from the change of the reference line, if there is one. Default reference: the first line.
 */
export function CursorTable({ label, dates, lines, at, from, unit, hasReference, onRemove }: CursorTableProps) {
  const changes = lines.map(({ values }) => computeChange(values, from, at));
  const base = Math.max(
    0,
    lines.findIndex(({ reference }) => reference !== undefined),
  );
  const name = lines[base]?.reference ?? lines[base]?.label.split(',')[0];
  const hasDifference = hasReference && lines.length > 1;
  const basis = findSharedBasis(lines);
  return (
    <div class="cursor-table">
      <table aria-label={`${label} at the cursor`}>
        <thead>
          <tr>
            <th scope="col">
              {dates[at]}
              {basis}
            </th>
            <th scope="col">Rebased to 100</th>
            <th scope="col">
              Since <span class="whole-date">{dates[from]}</span>
            </th>
            {hasDifference && <th scope="col">Minus {name}</th>}
          </tr>
        </thead>
        <tbody>
          {lines.map(({ id, label: lineLabel, values, colour, isDashed, width, isRemovable }, k) => (
            <tr key={id}>
              <th scope="row" title={lineLabel}>
                <span class="cursor-name">
                  <Swatch {...{ colour, isDashed, width }} />
                  <span>{lineLabel.slice(0, lineLabel.length - basis.length)}</span>
                  {isRemovable === true && onRemove !== undefined && (
                    <Button kind="bare" aria-label={`Remove ${id}`} title={`Remove ${id}`} onClick={() => onRemove(id)}>
                      <Icon name="close" />
                    </Button>
                  )}
                </span>
              </th>
              <td>{formatValueAt(values, at, unit)}</td>
              <td class={getSignClass(changes[k])}>{formatChange(changes[k])}</td>
              {hasDifference && <td>{k === base ? '' : renderDifference(changes[k], changes[base])}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * Returns the end of the labels that all lines share, for example `, total return`. It is stated once next to the date.
 * Returns an empty text if the labels end differently.
 */
function findSharedBasis(lines: readonly Line[]): string {
  const basis = /, [^,]+$/.exec(lines[0]?.label ?? '')?.[0] ?? '';
  return lines.length > 1 && lines.every(({ label }) => label.endsWith(basis)) ? basis : '';
}

/** Returns the change of a line as a fraction; null if a value is missing or not positive. */
function computeChange(values: Line['values'], from: number, position: number): number | null {
  const [base, value] = [values[from] ?? null, values[position] ?? null];
  return base === null || value === null || base <= 0 ? null : value / base - 1;
}

/** Formats in percentage points how much two changes differ. */
function renderDifference(value: number | null | undefined, reference: number | null | undefined) {
  if (value == null || reference == null) return '–';
  return <span class={getSignClass(value - reference)}>{formatPoints(value - reference)}</span>;
}
