import { getPartName } from '../../state/part.js';

interface MatrixProps {
  readonly label: string;
  readonly ids: readonly string[];
  valueAt(row: number, column: number): string;
}

/** Renders a figure for each pair of runs. An id may occur several times. */
export function Matrix({ label, ids, valueAt }: MatrixProps) {
  return (
    <div class="compare-correlations" data-part={getPartName(label)} tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">Run</span>
            </th>
            {ids.map((id, column) => (
              <th key={column} scope="col">
                {id}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ids.map((id, row) => (
            <tr key={row}>
              <th scope="row">{id}</th>
              {ids.map((_, column) => (
                <td key={column}>{valueAt(row, column)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
