import { parseFilter } from '../../words/filters.js';
import type { Column } from './columns.js';

/** Filters of a column of numbers. */
export const NUMBER_FILTERS = '5, > 5, <= 5 or 2..5';

/** Returns true if a text can be the filter of a column. An empty text filters nothing. */
export const isFilter = <R,>({ align }: Column<R>, text = ''): boolean =>
  text.trim() === '' || parseFilter(text, align === 'right', false) !== undefined;

interface FilterProblemsProps<R> {
  readonly columns: readonly Column<R>[];
  /** Filter text by column. */
  readonly filters: Readonly<Record<string, string>>;
}

/** Renders why filters have no effect. */
export function FilterProblems<R>({ columns, filters }: FilterProblemsProps<R>) {
  const wrong = columns.filter((column) => !isFilter(column, filters[column.id]));
  return (
    <>
      {wrong.map(({ id, title }) => (
        <p key={id} class="down" role="alert">
          The filter “{filters[id]}” of {title} is ignored: write {NUMBER_FILTERS}.
        </p>
      ))}
    </>
  );
}
