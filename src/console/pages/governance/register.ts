import type { ComponentChildren } from 'preact';
import type { Fact } from '../../components/facts.js';
import type { Metric } from '../../components/metrics.js';
import type { Column, Sort } from '../../components/table/columns.js';

/** Range of days. */
export interface Range {
  readonly from: string;
  readonly to: string;
}

/** A register or a list of documents, shown as one table. */
export interface Register<R> {
  readonly title: string;
  /** A sentence about its contents. */
  readonly help: string;
  /** Its contents in a few words, for the overview. */
  readonly brief: string;
  /** Page of the guide. */
  readonly guide: string;
  /** The noun for a row, in the title of its panel. */
  readonly noun?: string;
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<R>[];
  readonly sort: Sort;
  /** Shown without rows: that there are none, and a sentence. */
  readonly empty: readonly [title: string, text: string];
  /** Kind of a row, by which the table can be filtered, and the name of kinds. */
  groupOf?(row: R): string;
  readonly groupLabel?: string;
  /** Figures of all rows. */
  sumsOf?(rows: readonly R[]): readonly Metric[];
  /** True if the newest row is shown below the table, until another one is opened. */
  readonly isNewestShown?: boolean;
  /** Rendered below the table. */
  below?(rows: readonly R[]): ComponentChildren;
  keyOf(row: R): string;
  searchIn(row: R): string;
  /** @param range if the register has one */
  read(range: Range, signal: AbortSignal): Promise<readonly R[]>;
  /** True if it is read for a range of days. */
  readonly hasRange?: boolean;
  /** Address of a row with a page; otherwise a row opens to its facts. */
  addressOf?(row: R): string;
  /** Facts of a row, and the sentences below them. */
  factsOf?(row: R): readonly Fact[];
  textsOf?(row: R): readonly (readonly [title: string, text: string | null])[];
  /** Buttons of the page. */
  actions?(range: Range): ComponentChildren;
  /** Scope that reads it. Default: `read`. */
  readonly scope?: 'audit';
}

/** Requests that are sent at once for a register of all indices or schedules. */
const AT_ONCE = 8;

/** Collects the rows of several documents. */
export async function collectRows<T, R>(
  of: readonly T[],
  read: (one: T) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const rows: R[] = [];
  for (let begin = 0; begin < of.length; begin += AT_ONCE)
    rows.push(...(await Promise.all(of.slice(begin, begin + AT_ONCE).map(read))).flat());
  return rows;
}
