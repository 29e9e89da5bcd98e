import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { MISSING_TEXT } from '../../words/numbers.js';
import { computeWidth, type Column } from './columns.js';

interface RowRestProps<R> {
  /** Element that contains the rows. */
  readonly rows: RefObject<HTMLElement>;
  readonly at: number;
  readonly row: R;
  readonly columns: readonly Column<R>[];
  /** Visible columns. */
  readonly fits: readonly Column<R>[];
  /** Columns of the second line. */
  readonly below: readonly Column<R>[];
  readonly label: string;
}

/** Renders what the table does not show of a row: truncated texts and hidden columns. Its first column names the row. */
export function RowRest<R>({ rows, at, row, columns, fits, below, label }: RowRestProps<R>) {
  const [cut, setCut] = useState('');
  useLayoutEffect(() => {
    const row = rows.current?.querySelector(`[data-at="${at}"]`) ?? null;
    const foundColumns = [...fits, ...below].filter(({ id }) => {
      const cell = row?.querySelector<HTMLElement>(
        `[data-column="${CSS.escape(id)}"], [data-below="${CSS.escape(id)}"]`,
      );
      return cell && (isCut(cell) || isOutside(cell));
    });
    setCut(foundColumns.map(({ id }) => id).join(' '));
  }, [at, row, fits.length, computeWidth(fits)]);
  const ids = cut.split(' ');
  const restColumns = columns.filter(
    (column) =>
      column.title !== '' &&
      (ids.includes(column.id) || !(fits.includes(column) || below.includes(column))) &&
      column.value(row) !== null,
  );
  if (restColumns.length === 0) return null;
  const first = columns.find(({ title }) => title !== '')!; // a column of the rest has a title
  const name = first.value(row) ?? MISSING_TEXT;
  return (
    <dl class="table-rest" aria-label={`Details of ${name}, a row of ${label}`}>
      {[...new Set([first, ...restColumns])].map((column) => (
        <div key={column.id}>
          <dt>{column.title}</dt>
          <dd>{(column.show === undefined ? column.value(row) : column.show(row)) ?? MISSING_TEXT}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Returns true for a text that is wider than its cell, or that wraps to more lines than its cell has room for. */
export const isCut = (cell: HTMLElement): boolean =>
  cell.scrollWidth > cell.clientWidth || (cell.classList.contains('wraps') && cell.scrollHeight > cell.clientHeight);

/** Returns true for a value that does not fit into the second line. */
const isOutside = ({ offsetTop, parentElement }: HTMLElement): boolean =>
  parentElement?.classList.contains('table-below') === true &&
  offsetTop >= parentElement.offsetTop + parentElement.clientHeight;
