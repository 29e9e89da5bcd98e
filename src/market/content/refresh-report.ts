import { formatDay, type Day } from '#domain/time/days.js';
import { sortFindings, type Finding } from '#domain/refusals/findings.js';
import type { MarketContent } from './market-content.js';
import type { PriceLocation } from './override-prices.js';
import type { TableKind } from '../tables/table-kinds.js';
import { compareBars, hasAnyValue, type MarketChanges } from './market-changes.js';
import type { Adjustment } from '#domain/market/market-data.js';
import type { DividendError } from './dividend-errors.js';
import type { SecurityJudgement, Rejection, UnpublishedDates } from './judged-securities.js';
import {
  createColumnFindings,
  reportLateBars,
  createCorrectionFindings,
  createRejectionFindings,
  splitFindings,
  type AcceptedSplit,
} from './refresh-findings.js';
import type { Panels } from '../panels/panels.js';
import { RESTATEMENTS_MAX, type Restatement, type RowCounts, type TableChanges } from './restatements.js';
import { compareTables, type SideTable } from './table-changes.js';

export interface RefreshOptions {
  /** Last day to add. Stored days after it are unchanged. Null adds all days. */
  readonly until: Day | null;
  /** True to take every value from the source. Otherwise each security is accepted or rejected as a whole. */
  readonly full: boolean;
  /** True if the source delivered all bars, including those of stored days. */
  readonly isWhole: boolean;
  /** Tables that remain unchanged, because the source supplied no data for them. */
  readonly unchangedTables?: readonly TableKind[];
  /** Closes of stored sessions that are always taken from the source. */
  readonly accepted?: readonly PriceLocation[] | undefined;
  /** Price basis of CLOSE. */
  readonly adjustment: Adjustment;
  /** Precision of dividends that are implied by adjusted closes of the source. */
  readonly dividendErrors?: readonly DividendError[];
  /** Dates that were never published. */
  readonly unpublished?: UnpublishedDates | undefined;
}

/** Result of a refresh, as its job reports it. */
export interface RefreshReport {
  /** Number of new rows of all datasets. */
  readonly rows_added: number;
  /** Number of changed or removed stored rows, over all datasets. */
  readonly rows_changed: number;
  readonly datasets: Readonly<Record<TableKind, RowCounts>>;
  readonly dates_added: number;
  readonly identifiers_added: number;
  readonly start: string;
  readonly end: string;
  readonly restatements: readonly Restatement[];
  readonly restatements_total: number;
  /**
   * Differences on stored days that the refresh did not accept. It is null if there were none, or if all were accepted.
   */
  readonly left_out: OmittedBars | null;
  /** Securities whose history was converted for a split. The refresh accepted the new history. */
  readonly split_restatements: readonly AcceptedSplit[];
  /**
   * Securities that keep their bars and actions, because their history differs in the source. At most 200 are listed.
   */
  readonly rejected: readonly RejectedSecurity[];
  readonly rejected_total: number;
  /**
   * Findings of the refresh. SPLIT_RESTATED and HISTORY_CHANGED concern a security, HISTORY_CHANGED also a dataset, and
   * BAR_CORRECTED too; LATE_BARS concerns all late bars.
   */
  readonly findings: readonly Finding[];
}

export interface RejectedSecurity {
  readonly identifier: string;
  /** Differences in the bars and actions of its history. */
  readonly bars: RowCounts;
  readonly corporate_actions: RowCounts;
  /** Number of later bars that are held back. */
  readonly held_back: number;
  readonly first: readonly Restatement[];
}

/** Rejected bars of stored days, with the present values of the source. */
export interface OmittedBars extends RowCounts {
  /** Columns that the store lacks and that have values on stored days. */
  readonly columns: readonly string[];
  /** Securities with bars that the store lacks, at most 20. */
  readonly identifiers: readonly string[];
  readonly identifiers_total: number;
}

/** Maximum number of listed securities with bars that the store lacks. */
const NAMES_MAX = 20;

/** Maximum number of listed rejected securities. */
const REJECTED_LISTED_MAX = 200;

export interface Versions {
  /** Stored content before the refresh. */
  readonly storedContent: MarketContent;
  /** Stored content after the refresh. */
  readonly content: MarketContent;
}

export interface ReportTerms extends Pick<RefreshOptions, 'full'> {
  /** Decision about each security; undefined with `full`. */
  readonly judgement: SecurityJudgement | undefined;
  /** Ignored new columns with values on stored days. */
  readonly columns: readonly string[];
  /** True if no bar of a stored day changed. */
  readonly isKept: boolean;
}

/**
 * Reports the changes, findings and omissions of a refresh.
 * @cost one pass over the cells of the source and of the store, if all bars were delivered
 */
export function createRefreshReport(
  { storedContent, content }: Versions,
  { full, judgement, columns, isKept }: ReportTerms,
): RefreshReport {
  const lastDay = storedContent.dates.at(-1)!;
  const marketChanges = isKept ? countAddedBars(storedContent, content) : compareBars(storedContent, content);
  const tables = compareTables(storedContent, content, { identifiers: storedContent.identifiers, lastDay });
  const allChanges = [marketChanges, ...Object.values(tables)];
  const storedIdentifiers = new Set(storedContent.identifiers);
  const oldDays = new Set(storedContent.dates);
  const rejections = [...(judgement?.rejected.values() ?? [])];
  const splits = [...(judgement?.restated ?? [])].map(([identifier, { ratio, exDay }]) => ({
    identifier,
    ratio,
    date: exDay === null ? null : formatDay(exDay),
  }));
  return {
    rows_added: sum(allChanges, ({ added }) => added),
    rows_changed: sum(allChanges, ({ changed, removed }) => changed + removed),
    datasets: {
      market: createCounts(marketChanges),
      reference: createCounts(tables.reference),
      corporate_actions: createCounts(tables.corporate_actions),
      universes: createCounts(tables.universes),
      series: createCounts(tables.series),
    },
    dates_added: content.dates.reduce((count, day) => (oldDays.has(day) ? count : count + 1), 0),
    identifiers_added: content.identifiers.reduce(
      (count, identifier) => (storedIdentifiers.has(identifier) ? count : count + 1),
      0,
    ),
    start: formatDay(content.dates[0]!),
    end: formatDay(content.dates.at(-1)!),
    restatements: allChanges.flatMap(({ restatements }) => restatements).slice(0, RESTATEMENTS_MAX),
    restatements_total: sum(allChanges, ({ total }) => total),
    left_out: findOmittedBars(rejections, columns),
    split_restatements: splits,
    rejected: rejections.slice(0, REJECTED_LISTED_MAX).map(({ identifier, bars, actions, heldBack, first }) => ({
      identifier,
      bars,
      corporate_actions: actions,
      held_back: heldBack,
      first,
    })),
    rejected_total: rejections.length,
    findings: full
      ? []
      : sortFindings([
          ...splitFindings(splits),
          ...createRejectionFindings(rejections),
          ...createCorrectionFindings([...(judgement?.corrected.values() ?? [])]),
          ...createColumnFindings(columns, lastDay),
          ...reportLateBars(judgement?.late ?? new Map()),
          ...createTableFindings(tables, lastDay),
        ]),
  };
}

const sum = <T>(items: readonly T[], valueOf: (item: T) => number): number =>
  items.reduce((total, item) => total + valueOf(item), 0);
const createCounts = ({ added, changed, removed }: RowCounts): RowCounts => ({ added, changed, removed });

/** Counts bars after the last stored day. All other bars are equal. */
function countAddedBars(heldPanels: Panels, refreshedPanels: Panels): MarketChanges {
  const panels = [...refreshedPanels.fields.values()];
  let addedBars = 0;
  for (
    let cell = heldPanels.dates.length * refreshedPanels.identifiers.length;
    cell < refreshedPanels.dates.length * refreshedPanels.identifiers.length;
    cell++
  )
    if (hasAnyValue(panels, cell)) addedBars += 1;
  return { added: addedBars, changed: 0, removed: 0, gained: [], restatements: [], total: 0 };
}

/** Returns the bars of stored days that differ in the source and were not accepted; null if there are none. */
function findOmittedBars(rejections: readonly Rejection[], columns: readonly string[]): OmittedBars | null {
  const counts = {
    added: sum(rejections, ({ bars }) => bars.added),
    changed: sum(rejections, ({ bars }) => bars.changed),
    removed: sum(rejections, ({ bars }) => bars.removed),
  };
  if (counts.added + counts.changed + counts.removed + columns.length === 0) return null;
  const gainedIdentifiers = rejections.flatMap(({ identifier, bars }) => (bars.added > 0 ? [identifier] : []));
  return {
    ...counts,
    columns,
    identifiers: gainedIdentifiers.slice(0, NAMES_MAX),
    identifiers_total: gainedIdentifiers.length,
  };
}

/** Warns of changed rows on stored days. Earlier results were computed from different data. */
function createTableFindings(tables: Readonly<Record<SideTable, TableChanges>>, lastDay: Day): Finding[] {
  return Object.entries(tables).flatMap(([tableKind, { history }]): Finding[] => {
    const { added, changed, removed } = history;
    // Actions of stored days are accepted only together with a split, which has a separate finding.
    if (tableKind === 'corporate_actions' || added + changed + removed === 0) return [];
    const message = `Rows up to ${formatDay(lastDay)} differ: ${changed} changed, ${removed} removed, ${added} added. The service now uses them. Repeat earlier computations.`;
    return [{ severity: 'warning', code: 'HISTORY_CHANGED', path: tableKind, message }];
  });
}
