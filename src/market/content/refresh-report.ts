import { formatDay, type Day } from '#domain/time/days.js';
import { orderFindings, type Finding } from '#domain/refusals/findings.js';
import type { MarketContent } from './market-content.js';
import type { TableKind } from '../tables/table-kinds.js';
import { compareBars, holdsAny, newColumns, type MarketChanges } from './market-changes.js';
import type { Panels } from '../panels/panels.js';
import { RESTATEMENTS_MAX, type Restatement, type RowCounts, type TableChanges } from './restatements.js';
import { compareTables, type SideTable } from './table-changes.js';

export interface RefreshOptions {
  /** Last day to bring in; later days that are held stay as they are. Null: whatever there is. */
  readonly until: Day | null;
  /** Take every value from the source, rather than only days after the last one held. */
  readonly full: boolean;
  /** Whether all bars of the source came, those of days that are held among them. */
  readonly isWhole: boolean;
  /** Tables that are as they are held: nothing of them came. */
  readonly unchangedTables?: readonly TableKind[];
}

/** What a refresh did, as its job reports it. */
export interface RefreshReport {
  /** Rows of all datasets that are new. */
  readonly rows_added: number;
  /** Rows of all datasets that were held and are others now, or gone. */
  readonly rows_changed: number;
  readonly datasets: Readonly<Record<TableKind, RowCounts>>;
  readonly dates_added: number;
  readonly identifiers_added: number;
  readonly start: string;
  readonly end: string;
  readonly restatements: readonly Restatement[];
  readonly restatements_total: number;
  /**
   * Differences of the source on days that the store has, which the refresh did not take; null when it took all, or
   * there were none.
   */
  readonly left_out: LeftOut | null;
  /** HISTORY_CHANGED, by dataset. */
  readonly findings: readonly Finding[];
}

/** Bars of days that the store has, as the source has them now. */
export interface LeftOut extends RowCounts {
  /** Columns with values of those days that are not held. */
  readonly columns: readonly string[];
  /** Names among them with bars that are not held, at most 20. */
  readonly identifiers: readonly string[];
  readonly identifiers_total: number;
}

/** Names listed of those with earlier bars. */
const NAMES_MAX = 20;

export interface Versions {
  /** What was held. */
  readonly held: MarketContent;
  /** What the source has, or its part that came. */
  readonly fresh: MarketContent;
  /** What is held from now on. */
  readonly content: MarketContent;
}

/**
 * What a refresh did, and what it found and left.
 * @cost one pass over the cells of what came and of what was held, where all came
 */
export function refreshReport({ held, fresh, content }: Versions, { full, isWhole }: RefreshOptions): RefreshReport {
  const lastDay = held.dates.at(-1)!;
  const taken = full ? compareBars(held, content) : addedBars(held, content);
  const tables = compareTables(held, content, { identifiers: held.identifiers, lastDay });
  const left = full || !isWhole ? undefined : leftOut(held, fresh, lastDay);
  const all = [taken, ...Object.values(tables)];
  const known = new Set(held.identifiers);
  const oldDays = new Set(held.dates);
  return {
    rows_added: sum(all, ({ added }) => added),
    rows_changed: sum(all, ({ changed, removed }) => changed + removed),
    datasets: {
      market: countsOf(taken),
      reference: countsOf(tables.reference),
      corporate_actions: countsOf(tables.corporate_actions),
      universes: countsOf(tables.universes),
      series: countsOf(tables.series),
    },
    dates_added: content.dates.reduce((count, day) => (oldDays.has(day) ? count : count + 1), 0),
    identifiers_added: content.identifiers.reduce(
      (count, identifier) => (known.has(identifier) ? count : count + 1),
      0,
    ),
    start: formatDay(content.dates[0]!),
    end: formatDay(content.dates.at(-1)!),
    restatements: all.flatMap(({ restatements }) => restatements).slice(0, RESTATEMENTS_MAX),
    restatements_total: sum(all, ({ total }) => total),
    left_out: left?.summary ?? null,
    findings: full
      ? []
      : orderFindings([
          ...(left === undefined ? [] : [leftOutFinding(left, lastDay)]),
          ...tableFindings(tables, lastDay),
        ]),
  };
}

const sum = <T>(items: readonly T[], valueOf: (item: T) => number): number =>
  items.reduce((total, item) => total + valueOf(item), 0);
const countsOf = ({ added, changed, removed }: RowCounts): RowCounts => ({ added, changed, removed });

/** Bars after the last day held, which are all that differ without `full`. */
function addedBars(held: Panels, now: Panels): MarketChanges {
  const panels = [...now.fields.values()];
  let added = 0;
  for (let cell = held.dates.length * now.identifiers.length; cell < now.dates.length * now.identifiers.length; cell++)
    if (holdsAny(panels, cell)) added += 1;
  return { added, changed: 0, removed: 0, gained: [], restatements: [], total: 0 };
}

interface Left {
  readonly summary: LeftOut;
  readonly first: Restatement | undefined;
}

/** What the source has of the days held that is not held; undefined when that is nothing. */
function leftOut(held: Panels, fresh: Panels, lastDay: Day): Left | undefined {
  const { added, changed, removed, gained, restatements } = compareBars(held, fresh, {
    columns: [...held.fields.keys()],
    to: lastDay,
  });
  const columns = newColumns(held, fresh, lastDay);
  if (added + changed + removed + columns.length === 0) return undefined;
  return {
    summary: {
      added,
      changed,
      removed,
      columns,
      identifiers: gained.slice(0, NAMES_MAX),
      identifiers_total: gained.length,
    },
    first: restatements[0],
  };
}

function leftOutFinding({ summary, first }: Left, lastDay: Day): Finding {
  const { added, changed, removed, columns, identifiers, identifiers_total: names } = summary;
  const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
  const of = names === 1 ? identifiers[0]! : `${names} names`;
  const found = inWords([
    ...(changed > 0 ? [counted(changed, 'changed bar')] : []),
    ...(removed > 0 ? [counted(removed, 'removed bar')] : []),
    ...(added > 0 ? [`${counted(added, 'bar')} of ${of} that the store lacks`] : []),
    ...(columns.length > 0 ? [`values in the new column${columns.length === 1 ? '' : 's'} ${columns.join(', ')}`] : []),
  ]);
  const message = `The history of the source up to ${formatDay(lastDay)} differs from that of the store: ${found}. It was not taken${exampleOf(first)}; refresh with full: true (--full) to take it.`;
  return { severity: 'warning', code: 'HISTORY_CHANGED', path: 'market', message };
}

function inWords(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)!}`;
}

function exampleOf(first: Restatement | undefined): string {
  return first === undefined
    ? ''
    : ` (first: ${first.column} of ${first.identifier}${first.date === null ? '' : ` on ${first.date}`}, ${first.before ?? 'nothing'} in the store, ${first.after ?? 'nothing'} in the source)`;
}

/** Warnings about rows that changed days which the store had already: earlier results rest on other data. */
function tableFindings(tables: Readonly<Record<SideTable, TableChanges>>, lastDay: Day): Finding[] {
  return Object.entries(tables).flatMap(([tableKind, { history }]): Finding[] => {
    const { added, changed, removed } = history;
    if (added + changed + removed === 0) return [];
    const message = `Rows about days up to ${formatDay(lastDay)}: ${changed} changed, ${removed} removed, ${added} added. They are served from now on; run earlier computations again.`;
    return [{ severity: 'warning', code: 'HISTORY_CHANGED', path: tableKind, message }];
  });
}
