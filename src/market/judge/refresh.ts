import { compareText, type Finding, sortFindings } from '#domain/base/findings.js';
import { type Day, formatDay } from '#domain/base/time.js';
import type { Adjustment } from '#domain/market/market-data.js';
import {
  compareBars,
  compareTables,
  findNewColumns,
  hasAnyValue,
  type MarketChanges,
  type Restatement,
  RESTATEMENTS_MAX,
  type RowCounts,
  type SideTable,
  type TableChanges,
} from '../content/changes.js';
import { copyCloses, type DividendError, type MarketContent, type PriceLocation } from '../content/market-content.js';
import { allocateGrowablePanel, createUsedDays, type Panels, removeEmptyLines } from '../panels/panels.js';
import type { TableKind } from '../tables/table-kinds.js';
import {
  type Correction,
  judgeSecurities,
  type LateBars,
  type Rejection,
  type SecurityJudgement,
  type UnpublishedDates,
} from './judged-securities.js';

/**
 * Returns merged panels with changes on stored days. A security whose history was converted for a split takes the bars
 * of the source. A rejected security keeps the stored bars. Any other security has the stored bars, followed by the
 * later bars of the source.
 * @cost one pass over the cells of both, and a copy
 */
function mergeRestatedPanels(
  heldPanels: Panels,
  fresh: Panels,
  judgement: SecurityJudgement,
  until: Day | null,
): Panels {
  const last = until ?? Infinity;
  const lastDay = heldPanels.dates.at(-1)!;
  const identifiers = [...new Set([...heldPanels.identifiers, ...fresh.identifiers])].sort(compareText);
  const dates = Int32Array.from(
    new Set([...heldPanels.dates, ...fresh.dates.filter((day) => day <= Math.max(last, lastDay))]),
  ).sort();
  const [ownRows, freshRows] = [findPositions(dates, heldPanels.dates), findPositions(dates, fresh.dates)];
  const spans = listSpans(identifiers, { storedPanels: heldPanels, fresh }, judgement, { last, lastDay });
  const names = [...new Set([...heldPanels.fields.keys(), ...fresh.fields.keys()])];
  const width = identifiers.length;
  const fields = new Map<string, Float64Array>();
  for (const name of names) {
    const [was, is] = [heldPanels.fields.get(name), fresh.fields.get(name)];
    const panel = new Float64Array(allocateGrowablePanel(dates.length, width, names.length), 0, dates.length * width);
    let isUsed = was !== undefined;
    dates.forEach((day, t) => {
      for (let i = 0; i < width; i++) {
        const { n, m, from, to } = spans[i]!;
        const isFresh = day > from && day <= to;
        const value = isFresh
          ? getValueAt(is, freshRows[t]! * fresh.identifiers.length + m, freshRows[t]! >= 0 && m >= 0)
          : getValueAt(was, ownRows[t]! * heldPanels.identifiers.length + n, ownRows[t]! >= 0 && n >= 0);
        panel[t * width + i] = value;
        if (value === value) isUsed = true;
      }
    });
    if (isUsed) fields.set(name, panel);
  }
  const panels = removeEmptyLines({ identifiers, dates, fields });
  const isSameAxis =
    panels.identifiers.length === heldPanels.identifiers.length &&
    panels.identifiers.every((identifier, n) => identifier === heldPanels.identifiers[n]);
  return isSameAxis ? { ...panels, identifiers: heldPanels.identifiers } : panels;
}

const getValueAt = (panel: Float64Array | undefined, cell: number, isHeld: boolean): number =>
  isHeld && panel !== undefined ? panel[cell]! : Number.NaN;

/** Returns the position of each day in a second list of days. The position is -1 if the day is missing there. */
function findPositions(days: Int32Array, others: Int32Array): Int32Array {
  const positionByDay = new Map([...others].map((day, t) => [day, t]));
  return Int32Array.from(days, (day) => positionByDay.get(day) ?? -1);
}

/** Columns of a security in both versions, and the range of days taken from the source. */
interface Span {
  readonly n: number;
  readonly m: number;
  readonly from: number;
  readonly to: number;
}

function listSpans(
  identifiers: readonly string[],
  { storedPanels, fresh }: { readonly storedPanels: Panels; readonly fresh: Panels },
  { rejected, restated, late, corrected, lastOf }: SecurityJudgement,
  { last, lastDay }: { readonly last: number; readonly lastDay: Day },
): Span[] {
  const [storedPlaces, other] = [storedPanels, fresh].map(
    (panels) => new Map(panels.identifiers.map((identifier, place) => [identifier, place])),
  ) as [Map<string, number>, Map<string, number>];
  return identifiers.map((identifier) => {
    const [n, m] = [storedPlaces.get(identifier) ?? -1, other.get(identifier) ?? -1];
    const end = n < 0 ? lastDay : lastOf[n]!;
    if (rejected.has(identifier)) return { n, m, from: Infinity, to: -Infinity };
    if (restated.has(identifier)) return { n, m, from: -Infinity, to: Math.max(last, end) };
    // Except for late and corrected bars, both versions are equal on stored days.
    const firstChanged = Math.min(late.get(identifier)?.from ?? Infinity, corrected.get(identifier)?.from ?? Infinity);
    return { n, m, from: Math.min(end, firstChanged - 1), to: last };
  });
}

interface AcceptedSplit {
  readonly identifier: string;
  /** Number of shares after the split per share before it. */
  readonly ratio: number;
  /** First date whose prices are not divided. It is null if there is no such date yet. */
  readonly date: string | null;
}

/** Maximum number of securities with an individual finding. A single finding counts the others. */
const FINDINGS_MAX = 20;

/** Maximum number of securities that the finding about late bars names. */
const LATE_NAMES_MAX = 3;

const countText = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** Returns one finding for each security whose history was converted for a split and accepted. */
function splitFindings(splits: readonly AcceptedSplit[]): Finding[] {
  return limitItems(splits, 'SPLIT_RESTATED', ({ identifier, ratio, date }) => {
    const [one, other] = ratio >= 1 ? [ratio, 1] : [1, 1 / ratio];
    const dateText = date === null ? '' : ` before ${date}`;
    return {
      severity: 'info',
      code: 'SPLIT_RESTATED',
      path: `market.${identifier}`,
      message: `The source restated ${identifier} for a ${roundNumber(one)}:${roundNumber(other)} split. Prices${dateText} are divided by ${roundNumber(ratio)}. Its bars and corporate actions are now those of the source.`,
      value: ratio,
    };
  });
}

const roundNumber = (number: number): number => Number(number.toPrecision(6));

function createRejectionFindings(rejections: readonly Rejection[]): Finding[] {
  return limitItems(rejections, 'HISTORY_CHANGED', ({ identifier, bars, actions, heldBack, first }) => {
    const laterText =
      heldBack === 0 ? '' : `, and ${countText(heldBack, 'later bar')} ${heldBack === 1 ? 'was' : 'were'} not added`;
    return {
      severity: 'warning',
      code: 'HISTORY_CHANGED',
      path: `market.${identifier}`,
      message: `The history of ${identifier} differs in the source: ${describeDifferences(bars, actions)}${formatExamples(first)}. Its bars and corporate actions in the store are unchanged${laterText}. To use the history of the source, refresh with full: true (--full).`,
    };
  });
}

/** Returns one finding for each security with accepted corrections of bars that were never published. */
function createCorrectionFindings(corrections: readonly Correction[]): Finding[] {
  return limitItems(corrections, 'BAR_CORRECTED', ({ identifier, bars, actions, first }) => ({
    severity: 'warning',
    code: 'BAR_CORRECTED',
    path: `market.${identifier}`,
    message: `The source corrected ${identifier} on dates that were never published: ${describeDifferences(bars, actions)}${formatExamples(first)}. The store now has the values of the source. Results of those dates change.`,
  }));
}

function describeDifferences(bars: RowCounts, actions: RowCounts): string {
  const describeKind = (counts: RowCounts, one: string) =>
    (['changed', 'removed', 'added'] as const).flatMap((kind) =>
      counts[kind] === 0 ? [] : [countText(counts[kind], `${kind} ${one}`)],
    );
  return [...describeKind(bars, 'bar'), ...describeKind(actions, 'corporate action')].join(', ');
}

function formatExamples(first: readonly Restatement[]): string {
  const texts = first.map(
    ({ column, date, before, after }) =>
      `${column}${date === null ? '' : ` on ${date}`} ${before ?? 'none'} in the store, ${after ?? 'none'} in the source`,
  );
  return texts.length === 0 ? '' : ` (${texts.join('; ')})`;
}

/** Reports columns that the store lacks and that have values on stored days. */
function createColumnFindings(columns: readonly string[], lastDay: Day): Finding[] {
  if (columns.length === 0) return [];
  const message = `The source has values up to ${formatDay(lastDay)} in ${countText(columns.length, 'column')} that the store does not have (${columns.join(', ')}). They were not added. To add them, refresh with full: true (--full).`;
  return [{ severity: 'warning', code: 'HISTORY_CHANGED', path: 'market', message }];
}

function reportLateBars(lateBars: ReadonlyMap<string, LateBars>): Finding[] {
  if (lateBars.size === 0) return [];
  const late = [...lateBars.values()].reduce((sum, { count }) => sum + count, 0);
  const names = [...lateBars.keys()].slice(0, LATE_NAMES_MAX);
  const nameText = `${names.join(', ')}${lateBars.size > names.length ? ' and others' : ''}`;
  const message = `${countText(late, 'late bar')} of ${nameText} ${late === 1 ? 'was' : 'were'} added on dates that the store already had. Results of those dates change.`;
  return [{ severity: 'info', code: 'LATE_BARS', path: 'market', message, count: late }];
}

/** Returns individual findings of the first items. A further finding counts the remaining items. */
function limitItems<T extends { readonly identifier: string }>(
  items: readonly T[],
  code: 'SPLIT_RESTATED' | 'HISTORY_CHANGED' | 'BAR_CORRECTED',
  findingOf: (item: T) => Finding,
): Finding[] {
  const findings = items.slice(0, FINDINGS_MAX).map(findingOf);
  const otherCount = items.length - findings.length;
  if (otherCount <= 0) return findings;
  const names = items.slice(FINDINGS_MAX, 2 * FINDINGS_MAX).map(({ identifier }) => identifier);
  const message = `The same applies to ${countText(otherCount, 'more security', 'more securities')}: ${names.join(', ')}${otherCount > names.length ? ' and others' : ''}.`;
  return [...findings, { severity: findings[0]!.severity, code, path: 'market', message, count: otherCount }];
}

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

export interface RefreshReport {
  readonly rows_added: number;
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

interface RejectedSecurity {
  readonly identifier: string;
  /** Differences in the bars and actions of its history. */
  readonly bars: RowCounts;
  readonly corporate_actions: RowCounts;
  readonly held_back: number;
  readonly first: readonly Restatement[];
}

/** Rejected bars of stored days, with the present values of the source. */
interface OmittedBars extends RowCounts {
  /** Columns that the store lacks and that have values on stored days. */
  readonly columns: readonly string[];
  /** Securities with bars that the store lacks, at most 20. */
  readonly identifiers: readonly string[];
  readonly identifiers_total: number;
}

/** Maximum number of listed securities with bars that the store lacks. */
const NAMES_MAX = 20;

const REJECTED_LISTED_MAX = 200;

interface ContentVersions {
  readonly storedContent: MarketContent;
  readonly content: MarketContent;
}

interface ReportTerms extends Pick<RefreshOptions, 'full'> {
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
function createRefreshReport(
  { storedContent, content }: ContentVersions,
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

interface RefreshedContent {
  readonly content: MarketContent;
  readonly report: RefreshReport;
  /** True if no bar of a stored day changed. */
  readonly isHistoryKept: boolean;
  /**
   * Number of used days in the memory of the panels. The next refresh writes after these days. Undefined if the memory
   * cannot be extended.
   */
  readonly taken: SharedArrayBuffer | undefined;
}

/**
 * Returns the content of a store after a refresh. With `full`, every bar up to `until` and every table comes from the
 * source. Otherwise each security is accepted or rejected as a whole: a security with an unchanged history gets its
 * later bars and actions; a security whose history was converted for a split is replaced; any other security keeps its
 * bars and actions.
 * @param used number of used days in the memory of the stored panels; later days are written after them without copying
 * the stored ones.
 * @cost one pass over the cells of both; only over the added days if no other data arrived, securities and fields are
 * unchanged and memory is available
 */
export function refreshContent(
  stored: MarketContent,
  fresh: MarketContent,
  options: RefreshOptions,
  used?: SharedArrayBuffer,
): RefreshedContent {
  const marketContent = copyCloses(stored, fresh, options.accepted ?? []);
  const isCorrected = marketContent !== stored;
  const usedDays = isCorrected ? undefined : used; // a corrected panel is a copy, and the memory of the other panels is unchanged
  const { unchangedTables = [], adjustment, dividendErrors = [] } = options;
  const { series } = unchangedTables.includes('series') ? marketContent : fresh;
  const actions = unchangedTables.includes('corporate_actions') ? marketContent.actions : fresh.actions;
  const judgement = options.full
    ? undefined
    : judgeSecurities(marketContent, fresh, actions, { ...options, adjustment, dividendErrors });
  const columns =
    judgement === undefined || !options.isWhole
      ? []
      : findNewColumns(marketContent, fresh, marketContent.dates.at(-1)!);
  const { panels, ...rest } =
    judgement === undefined
      ? restatePanels(marketContent, fresh, options)
      : createNextPanels(
          marketContent,
          { ...fresh, fields: removeFields(fresh.fields, columns) },
          judgement,
          options,
          usedDays,
        );
  const content: MarketContent = {
    identifiers: panels.identifiers,
    dates: panels.dates,
    fields: panels.fields,
    reference: unchangedTables.includes('reference') ? marketContent.reference : fresh.reference,
    actions: judgement?.actions ?? actions,
    universes: unchangedTables.includes('universes') ? marketContent.universes : fresh.universes,
    ...(series === undefined ? {} : { series }),
  };
  const isKept = judgement !== undefined && !isCorrected && isHistoryKept(judgement);
  return {
    content,
    report: createRefreshReport({ storedContent: stored, content }, { ...options, judgement, columns, isKept }),
    isHistoryKept: isKept,
    taken: rest.taken,
  };
}

/** Returns true if no bar of a stored day changed. */
const isHistoryKept = ({ restated, late, corrected }: SecurityJudgement): boolean =>
  restated.size === 0 && late.size === 0 && corrected.size === 0;

const removeFields = (fields: Panels['fields'], names: readonly string[]): Panels['fields'] =>
  names.length === 0 ? fields : new Map([...fields].filter(([name]) => !names.includes(name)));

/** Returns the stored bars merged with the accepted bars of the source. */
function createNextPanels(
  heldPanels: Panels,
  fresh: Panels,
  judgement: SecurityJudgement,
  options: RefreshOptions,
  usedDays: SharedArrayBuffer | undefined,
): NextPanels {
  if (isHistoryKept(judgement))
    return appendLaterPanels(
      heldPanels,
      removeSecurities(fresh, judgement.rejected, heldPanels.dates.at(-1)!),
      options,
      usedDays,
    );
  const panels = mergeRestatedPanels(heldPanels, fresh, judgement, options.until);
  return { panels, taken: createUsedDays(panels.dates.length) };
}

/**
 * Returns the days of a source after a given day, without the rejected securities. Returns the whole source if it has
 * no rejected security.
 */
function removeSecurities(fresh: Panels, rejected: SecurityJudgement['rejected'], after: Day): Panels {
  if (!fresh.identifiers.some((identifier) => rejected.has(identifier))) return fresh;
  const columns = fresh.identifiers.flatMap((identifier, n) => (rejected.has(identifier) ? [] : [n]));
  const rows = selectRows(fresh.dates, (day) => day > after);
  const width = fresh.identifiers.length;
  const pick = (panel: Float64Array): Float64Array => {
    const out = new Float64Array(rows.length * columns.length);
    rows.forEach((t, i) => columns.forEach((n, k) => (out[i * columns.length + k] = panel[t * width + n]!)));
    return out;
  };
  return removeEmptyLines({
    identifiers: columns.map((n) => fresh.identifiers[n]!),
    dates: Int32Array.from(rows, (t) => fresh.dates[t]!),
    fields: new Map([...fresh.fields].map(([name, panel]) => [name, pick(panel)])),
  });
}

type NextPanels = { readonly panels: Panels; readonly taken: SharedArrayBuffer | undefined };

/** Returns the bars of the source up to `until`, followed by the stored bars of later days. */
function restatePanels(heldPanels: Panels, fresh: Panels, { until }: RefreshOptions): NextPanels {
  const laterRows = until === null ? [] : selectRows(heldPanels.dates, (day) => day > until);
  const parts = [
    { panels: fresh, rows: selectRows(fresh.dates, (day) => until === null || day <= until) },
    ...(laterRows.length === 0 ? [] : [{ panels: heldPanels, rows: laterRows }]),
  ];
  const panels = removeEmptyLines(combine(parts));
  return { panels, taken: createUsedDays(panels.dates.length) };
}

/** Returns the stored bars, followed by the bars of the source on later days. */
function appendLaterPanels(
  heldPanels: Panels,
  fresh: Panels,
  { until }: RefreshOptions,
  usedDays: SharedArrayBuffer | undefined,
): NextPanels {
  const lastHeld = heldPanels.dates.at(-1)!;
  const laterPart = selectLaterPart(
    heldPanels,
    fresh,
    selectRows(fresh.dates, (day) => day > lastHeld && day <= (until ?? Infinity)),
  );
  if (laterPart.rows.length === 0) return { panels: heldPanels, taken: usedDays };
  if (addsOnlyDays(heldPanels, laterPart)) {
    const isTaken = claimSpareRows(heldPanels, usedDays, laterPart.rows.length);
    const panels = addLaterDays(heldPanels, laterPart, isTaken);
    return { panels, taken: isTaken ? usedDays! : createUsedDays(panels.dates.length) };
  }
  const panels = removeEmptyLines(
    combine([{ panels: heldPanels, rows: selectRows(heldPanels.dates, () => true) }, laterPart]),
  );
  return { panels, taken: createUsedDays(panels.dates.length) };
}

/** Returns some rows of a source. Omits new columns that are empty in these rows. */
function selectLaterPart(heldPanels: Panels, fresh: Panels, rows: readonly number[]): PanelPart {
  const width = fresh.identifiers.length;
  const isUsed = (panel: Float64Array): boolean =>
    rows.some((t) => panel.subarray(t * width, (t + 1) * width).some((value) => value === value));
  return {
    panels: {
      ...fresh,
      fields: new Map([...fresh.fields].filter(([name, panel]) => heldPanels.fields.has(name) || isUsed(panel))),
    },
    rows,
  };
}

/** Returns true if a part adds neither fields nor securities with bars to the store. */
function addsOnlyDays(heldPanels: Panels, { panels, rows }: PanelPart): boolean {
  const names = new Set(heldPanels.identifiers);
  const newColumns = panels.identifiers.flatMap((identifier, n) => (names.has(identifier) ? [] : [n]));
  const addedPanels = [...panels.fields.values()];
  const width = panels.identifiers.length;
  return (
    newColumns.every((n) => rows.every((t) => !hasAnyValue(addedPanels, t * width + n))) &&
    [...panels.fields.keys()].every((name) => heldPanels.fields.has(name))
  );
}

/**
 * Claims the memory after the stored days. Returns false if there is too little memory or another version has claimed
 * it.
 */
function claimSpareRows(heldPanels: Panels, usedDays: SharedArrayBuffer | undefined, days: number): boolean {
  const bytes = (heldPanels.dates.length + days) * heldPanels.identifiers.length * Float64Array.BYTES_PER_ELEMENT;
  const hasRoom = [...heldPanels.fields.values()].every(
    ({ buffer, byteOffset }) => buffer instanceof SharedArrayBuffer && byteOffset === 0 && buffer.byteLength >= bytes,
  );
  return (
    usedDays !== undefined &&
    hasRoom &&
    Atomics.compareExchange(new Int32Array(usedDays), 0, heldPanels.dates.length, heldPanels.dates.length + days) ===
      heldPanels.dates.length
  );
}

/**
 * Returns the stored panels, followed by later days of the same securities and fields. The days are in the same memory
 * if it was claimed.
 */
function addLaterDays(heldPanels: Panels, { panels, rows }: PanelPart, isTaken: boolean): Panels {
  const width = heldPanels.identifiers.length;
  const heldCells = heldPanels.dates.length * width;
  const cells = heldCells + rows.length * width;
  const position = new Map(heldPanels.identifiers.map((identifier, n) => [identifier, n]));
  // A security that is not in the store has no bar in these rows.
  const columns = Int32Array.from(panels.identifiers, (identifier) => position.get(identifier) ?? -1);
  const fields = new Map(
    [...heldPanels.fields].map(([name, old]) => {
      const panel = new Float64Array(
        isTaken
          ? old.buffer
          : allocateGrowablePanel(heldPanels.dates.length + rows.length, width, heldPanels.fields.size),
        0,
        cells,
      );
      if (!isTaken) panel.set(old);
      panel.fill(Number.NaN, heldCells);
      const source = panels.fields.get(name);
      if (source === undefined) return [name, panel] as const;
      rows.forEach((t, i) => {
        const to = heldCells + i * width;
        for (let n = 0; n < columns.length; n++)
          if (columns[n]! >= 0) panel[to + columns[n]!] = source[t * columns.length + n]!;
      });
      return [name, panel] as const;
    }),
  );
  return {
    identifiers: heldPanels.identifiers,
    dates: Int32Array.from([...heldPanels.dates, ...rows.map((t) => panels.dates[t]!)]),
    fields,
  };
}

interface PanelPart {
  readonly panels: Panels;
  readonly rows: readonly number[];
}

function selectRows(dates: Int32Array, isTaken: (day: Day) => boolean): number[] {
  const rows: number[] = [];
  for (let t = 0; t < dates.length; t++) if (isTaken(dates[t]!)) rows.push(t);
  return rows;
}

/** Combines rows of several panels that have no day in common. */
function combine(parts: readonly PanelPart[]): Panels {
  const identifiers = [
    ...new Set(parts.flatMap(({ panels, rows }) => (rows.length === 0 ? [] : panels.identifiers))),
  ].sort(compareText);
  const columnByIdentifier = new Map(identifiers.map((identifier, n) => [identifier, n]));
  const days = parts.flatMap(({ panels, rows }) => rows.map((t) => panels.dates[t]!));
  const dates = Int32Array.from(days).sort();
  const rowByDay = new Map([...dates].map((day, t) => [day, t]));
  const names = [...new Set(parts.flatMap(({ panels }) => [...panels.fields.keys()]))];
  const width = identifiers.length;
  const fields = new Map(
    names.map((name) => {
      const panel = new Float64Array(allocateGrowablePanel(dates.length, width, names.length), 0, dates.length * width);
      for (const { panels, rows } of parts) {
        const source = panels.fields.get(name);
        const step = panels.identifiers.length;
        const isSameAxis = step === width && panels.identifiers.every((identifier, n) => identifier === identifiers[n]);
        const columns = Int32Array.from(panels.identifiers, (identifier) => columnByIdentifier.get(identifier) ?? -1);
        for (const t of rows) {
          const to = rowByDay.get(panels.dates[t]!)! * width;
          if (source !== undefined && isSameAxis) {
            panel.set(source.subarray(t * step, (t + 1) * step), to);
            continue;
          }
          panel.fill(Number.NaN, to, to + width);
          if (source !== undefined) for (let n = 0; n < step; n++) panel[to + columns[n]!] = source[t * step + n]!;
        }
      }
      return [name, panel] as const;
    }),
  );
  return { identifiers, dates, fields };
}
