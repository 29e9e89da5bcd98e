import { widthOf, type Column, type Sort } from './columns.js';

interface TableHeadProps<R> {
  readonly columns: readonly Column<R>[];
  readonly all: readonly Column<R>[];
  readonly template: string;
  readonly order: Sort | undefined;
  onSort(sort: Sort): void;
}

export function TableHead<R>({ columns, all, template, order, onSort }: TableHeadProps<R>) {
  return (
    <div role="rowgroup" class="table-head" style={{ minWidth: `${widthOf(columns)}px` }}>
      <div role="row" aria-rowindex={1} class="table-row" style={{ gridTemplateColumns: template }}>
        {columns.map((column) => (
          <div
            key={column.id}
            role="columnheader"
            aria-colindex={all.indexOf(column) + 1}
            aria-sort={
              order?.column === column.id ? (order.direction === 'asc' ? 'ascending' : 'descending') : undefined
            }
            class={`table-cell${column.align === 'right' ? ' right' : ''}`}
            data-column={column.id}
          >
            {column.title === '' ? (
              <span class="unseen">{column.id}</span>
            ) : (
              <button type="button" title={column.help} onClick={() => onSort(nextSort(column, order))}>
                {column.title}
                <span class="table-order" aria-hidden="true">
                  {order?.column === column.id ? (order.direction === 'asc' ? '↑' : '↓') : ''}
                </span>
              </button>
            )}
          </div>
        ))}
      </div>
    </div>
  );
}

/** Numbers begin with the largest, texts with A. */
function nextSort<R>(column: Column<R>, order: Sort | undefined): Sort {
  const first = column.align === 'right' ? 'desc' : 'asc';
  const other = first === 'asc' ? 'desc' : 'asc';
  const isAgain = order?.column === column.id && order.direction === first;
  return { column: column.id, direction: isAgain ? other : first };
}
