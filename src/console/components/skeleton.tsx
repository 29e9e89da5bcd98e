import type { Column } from './table/columns.js';
import './skeleton.css';

/** Renders the outline of a page before its script is loaded. */
export const PageSkeleton = () => (
  <div class="page" aria-hidden="true">
    <span class="skeleton skeleton-title" />
    <FiguresSkeleton />
    <span class="skeleton skeleton-chart" />
  </div>
);

/** Renders the outline of figures with their labels. */
export const FiguresSkeleton = () => (
  <div class="skeleton-figures" aria-hidden="true">
    {[1, 2, 3, 4, 5].map((at) => (
      <span key={at} class="skeleton skeleton-figure" />
    ))}
  </div>
);

/** Renders the outline of a value in a cell or next to a label. */
export const ValueSkeleton = () => (
  <span class="skeleton skeleton-value">
    <span class="unseen">loading</span>
  </span>
);

/** Renders the outline of a few rows. */
export const RowsSkeleton = () => (
  <div class="skeleton-rows" aria-hidden="true">
    {[1, 2, 3].map((at) => (
      <span key={at} class="skeleton skeleton-row" />
    ))}
  </div>
);

/** Returns a column of a table that shows outlines, because its values are loading. */
export const createAwaitedColumn = <R,>(column: Column<R>): Column<R> => ({ ...column, show: () => <ValueSkeleton /> });
