import { TableExport } from '../../components/table-export.js';
import { Section } from '../../components/page.js';
import { formatFileName } from '../../state/files.js';
import { getPartName } from '../../state/part.js';
import { MISSING_TEXT } from '../../words/numbers.js';

interface MatrixProps {
  readonly title: string;
  readonly note: string;
  /** Name of the table for screen readers and on a dashboard. */
  readonly label: string;
  readonly ids: readonly string[];
  /** Returns the figure of a pair; null if there is none. */
  getValue(row: number, column: number): number | null;
  format(value: number): string;
}

/** Renders a figure for each pair of runs. An id may occur several times. */
export function Matrix({ title, note, ...table }: MatrixProps) {
  const { ids, getValue } = table;
  const listCells = () => ({
    header: ['Run', ...ids],
    rows: ids.map((id, row) => [id, ...ids.map((_, column) => getValue(row, column))]),
  });
  return (
    <Section
      title={title}
      aside={
        <>
          {note}
          <TableExport label={title.toLowerCase()} fileName={formatFileName(title)} listCells={listCells} />
        </>
      }
    >
      <MatrixTable {...table} />
    </Section>
  );
}

function MatrixTable({ label, ids, getValue, format }: Omit<MatrixProps, 'title' | 'note'>) {
  const formatPair = (row: number, column: number) => {
    const value = getValue(row, column);
    return value === null ? MISSING_TEXT : format(value);
  };
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
                <td key={column}>{formatPair(row, column)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
