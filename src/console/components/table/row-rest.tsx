import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { widthOf, type Column } from './columns.js';

interface RowRestProps<R> {
  /** Element that contains the rows. */
  readonly rows: RefObject<HTMLElement>;
  readonly at: number;
  readonly row: R;
  readonly columns: readonly Column<R>[];
  /** Visible columns. */
  readonly fits: readonly Column<R>[];
  readonly label: string;
}

/** Renders the content of a row that is not visible in the table: truncated texts and hidden columns. */
export function RowRest<R>({ rows, at, row, columns, fits, label }: RowRestProps<R>) {
  const [cut, setCut] = useState('');
  useLayoutEffect(() => {
    const cells = [...(rows.current?.querySelectorAll<HTMLElement>(`[data-at="${at}"] > .table-cell`) ?? [])];
    const found = fits.filter((_, k) => {
      const cell = cells[k];
      return cell !== undefined && cell.scrollWidth > cell.clientWidth;
    });
    setCut(found.map(({ id }) => id).join(' '));
  }, [at, row, fits.length, widthOf(fits)]);
  const ids = cut.split(' ');
  const rest = columns.filter(
    (column) =>
      column.title !== '' && (ids.includes(column.id) || !fits.includes(column)) && column.value(row) !== null,
  );
  if (rest.length === 0) return null;
  return (
    <dl class="table-rest" aria-label={`Details of a row of ${label}`}>
      {rest.map((column) => (
        <div key={column.id}>
          <dt>{column.title}</dt>
          <dd>{column.show === undefined ? column.value(row) : column.show(row)}</dd>
        </div>
      ))}
    </dl>
  );
}
