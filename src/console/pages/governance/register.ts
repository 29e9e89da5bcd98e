import type { ComponentChildren } from 'preact';
import type { Fact } from '../../components/facts.js';
import type { Metric } from '../../components/metrics.js';
import type { Column, Sort } from '../../components/table/columns.js';

/** A range of days. */
export interface Range {
  readonly from: string;
  readonly to: string;
}

/** Description of a register or of a list of documents. It is shown as one table. */
export interface Register<R> {
  readonly title: string;
  /** Short description of the contents. */
  readonly brief: string;
  /** Page of the guide about the register. */
  readonly guide: string;
  /** Noun for a row in the title of its panel. */
  readonly noun?: string;
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<R>[];
  /** Returns the columns that the rows need. Default: all columns. */
  listColumns?(rows: readonly R[]): readonly Column<R>[];
  readonly sort: Sort;
  /** Title and text shown if the register is empty. */
  readonly empty: readonly [title: string, text: string];
  /** Returns the kind of a row. The table can be filtered by it. */
  formatGroup?(row: R): string;
  readonly groupLabel?: string;
  /** Figures of all rows. */
  summarise?(rows: readonly R[]): readonly Metric[];
  /** True if the newest row is shown below the table until the user opens another row. */
  readonly isNewestShown?: boolean;
  /** Content between the figures and the table. */
  above?(rows: readonly R[]): ComponentChildren;
  /** Content below the table. */
  below?(rows: readonly R[]): ComponentChildren;
  getKey(row: R): string;
  /** Returns the number of a row in the title of its panel. Default: the key. */
  formatName?(row: R): string;
  searchIn(row: R): string;
  /**
   * Reads the rows.
   * @param range ignored unless `hasRange` is true
   */
  read(range: Range, signal: AbortSignal): Promise<readonly R[]>;
  /** True if the rows are read for a range of days. */
  readonly hasRange?: boolean;
  /** Returns the address of the page of a row. Default: a row opens to its facts. */
  formatAddress?(row: R): string;
  /** Returns the facts of a row. */
  listFacts?(row: R): readonly Fact[];
  listTexts?(row: R): readonly (readonly [title: string, text: string | null])[];
  /** Renders the buttons of the page. */
  actions?(range: Range): ComponentChildren;
  /** Scope required to read the register. Default: `read`. */
  readonly scope?: 'audit';
}

/** Maximum number of requests at the same time, for a register of all indices or schedules. */
const READ_CONCURRENCY = 8;

/** Collects the rows of several documents, in the order of the documents. */
export async function collectRows<T, R>(
  entries: readonly T[],
  read: (one: T) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const rows: R[] = [];
  for (let begin = 0; begin < entries.length; begin += READ_CONCURRENCY)
    rows.push(...(await Promise.all(entries.slice(begin, begin + READ_CONCURRENCY).map(read))).flat());
  return rows;
}
