import { formatDay } from '#domain/time/days.js';
import type { DatasetDocument, StartImport } from '#domain/documents/dataset-document.js';
import { sortFindings, type Finding, type FindingCode } from '#domain/refusals/findings.js';
import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { ChangeCounts } from '#market/versions/change-counts.js';
import type { RefreshReport } from '#market/content/refresh-report.js';
import { computeMarksWithoutLater } from '#market/content/later-names.js';
import { computePrefixMark, type PrefixMark } from '#market/content/prefix.js';
import type { ContentSummary } from '#market/process/market-tasks.js';
import { toStoredFindings, createLoadedFields } from './loading.js';

/** Codes of findings that report a difference between the new content and the previously served content. */
const CHANGE_CODES: ReadonlySet<string> = new Set<FindingCode>([
  'HISTORY_CHANGED',
  'DATES_ADDED',
  'SPLIT_RESTATED',
  'LATE_BARS',
]);

/** Returns true for the code of a finding about a difference from the previously served content. */
export const isChange = (code: string): boolean => CHANGE_CODES.has(code);

/** Maximum number of stored findings of starts. */
const STORED_FINDINGS_MAX = 20;

/**
 * Returns a summary of the served market for the document of its store.
 * @cost a pass over fewer than 64 days and over the tables
 */
export function summariseServed({ market, handle: { digests } }: ServedMarket): Pick<DatasetDocument, 'served'> {
  const last = market.dates.at(-1);
  return digests === undefined || last === undefined ? {} : { served: computePrefixMark(market, digests, last) };
}

/** Content that was read again. */
interface ReloadedContent {
  readonly summary: ContentSummary;
  readonly served: ServedMarket;
  /** True if the market still contains all rows of the earlier served content. */
  readonly hasGrown: boolean;
  /** Number of changed rows compared with the earlier content; null if that content is lost or has the same hash. */
  readonly counts: ChangeCounts | null;
  /** Report of the accepted and the discarded rows; absent or null if all rows were accepted unchanged. */
  readonly report?: RefreshReport | null;
}

/**
 * Returns true if a market contains the earlier served content unchanged. Later days, and securities that were listed
 * on them, may have been added.
 * @cost a pass over the panels if the securities differ, in turns of the event loop; otherwise the cost of
 * `summariseServed`
 */
export async function hasGrown(
  { served: prefixMark, content_hash: hash }: DatasetDocument,
  { market, handle: { digests, contentHash } }: ServedMarket,
): Promise<boolean> {
  if (prefixMark === undefined || digests === undefined || hash === contentHash) return false;
  const now = computePrefixMark(market, digests, prefixMark.day);
  const isSamePrefix = ({ axes, rows, hash: prefixHash }: PrefixMark): boolean =>
    axes === prefixMark.axes && rows === prefixMark.rows && prefixHash === prefixMark.hash;
  return (
    isSamePrefix(now) ||
    (now.axes !== prefixMark.axes && (await computeMarksWithoutLater(market, prefixMark.day)).some(isSamePrefix))
  );
}

/** Returns the document fields of a store that was read again. Findings report how the content changed. */
export function createReloadFields(
  previousDocument: DatasetDocument,
  { summary, hasGrown: isGrown, counts }: ReloadedContent,
  timestamp: string,
): Partial<DatasetDocument> {
  const change = describeChange(previousDocument, summary, { isGrown, counts });
  return {
    ...createLoadedFields(
      { ...summary, warnings: sortFindings([...(change === undefined ? [] : [change]), ...summary.warnings]) },
      timestamp,
    ),
    taken_at_start: null,
  };
}

/**
 * Returns the fields of `createReloadFields` for a start of the service. No person requested the changes, so accepted
 * changes are recorded for the next refresh. Findings about earlier changes remain until something else changes.
 */
export function createResumedFields(
  previousDocument: DatasetDocument,
  content: ReloadedContent,
  timestamp: string,
): Partial<DatasetDocument> {
  if (content.report != null)
    return createSettledFields(previousDocument, { ...content, report: content.report }, timestamp);
  const fields = createReloadFields(previousDocument, content, timestamp);
  const { findings = [] } = fields;
  const changes = findings.filter(({ code }) => isChange(code));
  if (changes.length > 0)
    return {
      ...fields,
      taken_at_start: mergeStartImport(
        previousDocument.taken_at_start,
        createAcceptedChanges(previousDocument, content, changes),
      ),
    };
  return {
    ...fields,
    findings: [...previousDocument.findings.filter(({ code }) => isChange(code)), ...findings],
    taken_at_start: previousDocument.taken_at_start,
  };
}

/** Returns the document fields after a start that accepted the same changes as a refresh. */
function createSettledFields(
  previousDocument: DatasetDocument,
  { summary, report }: ReloadedContent & { readonly report: RefreshReport },
  timestamp: string,
): Partial<DatasetDocument> {
  const findings = report.findings.filter(isWithoutCode(previousDocument.findings));
  const isUnchanged = findings.length === 0 && previousDocument.content_hash === summary.contentHash;
  const { dates_added, identifiers_added, datasets } = report;
  const now = {
    dates_added,
    rows_added: datasets.market.added,
    identifiers_added,
    findings: toStoredFindings(findings),
  };
  return {
    ...createLoadedFields(summary, timestamp),
    taken_at_start: isUnchanged
      ? previousDocument.taken_at_start
      : mergeStartImport(previousDocument.taken_at_start, now),
  };
}

function createAcceptedChanges(
  previousDocument: DatasetDocument,
  { summary, served: { market }, counts }: ReloadedContent,
  findings: StartImport['findings'],
): StartImport {
  const lastDay = previousDocument.served?.day ?? Infinity;
  const hasGrown = findings.every(({ code }) => code === 'DATES_ADDED');
  return {
    dates_added: market.dates.reduce((count, day) => (day > lastDay ? count + 1 : count), 0),
    rows_added:
      counts?.bars.added ??
      (hasGrown ? Math.max(0, summary.rows.market - (previousDocument.rows?.['market'] ?? 0)) : 0),
    identifiers_added: Math.max(0, summary.identifiers - (previousDocument.identifiers ?? 0)),
    findings,
  };
}

/** Combines the changes that several starts accepted. */
function mergeStartImport(earlierImport: StartImport | null, now: StartImport): StartImport {
  if (earlierImport === null) return now;
  return {
    dates_added: earlierImport.dates_added + now.dates_added,
    rows_added: earlierImport.rows_added + now.rows_added,
    identifiers_added: earlierImport.identifiers_added + now.identifiers_added,
    findings: [...earlierImport.findings, ...now.findings].slice(-STORED_FINDINGS_MAX),
  };
}

/** Returns the report of a refresh. Adds the changes that starts accepted since the previous refresh. */
export function addStartImport(report: RefreshReport, startImport: StartImport | null): RefreshReport {
  if (startImport === null) return report;
  const { market } = report.datasets;
  return {
    ...report,
    dates_added: report.dates_added + startImport.dates_added,
    rows_added: report.rows_added + startImport.rows_added,
    identifiers_added: report.identifiers_added + startImport.identifiers_added,
    datasets: { ...report.datasets, market: { ...market, added: market.added + startImport.rows_added } },
    findings: sortFindings([
      ...startImport.findings.filter((finding) => !isWithheld(finding) && isWithoutCode(report.findings)(finding)),
      ...report.findings,
    ] as Finding[]), // this engine wrote the findings
  };
}

/**
 * Returns true for the finding that a start rejected the changed history of a security. A refresh compares the history
 * again and reports the difference itself.
 */
const isWithheld = ({ code, path }: StartImport['findings'][number]): boolean =>
  code === 'HISTORY_CHANGED' && path.startsWith('market.');

/** Returns a test for findings. It is true if no other finding has the same code and path. */
const isWithoutCode =
  (otherFindings: readonly { readonly code: string; readonly path: string }[]) =>
  ({ code, path }: Pick<Finding, 'path'> & { readonly code: string }): boolean =>
    !otherFindings.some((other) => other.code === code && other.path === path);

function describeChange(
  previousDocument: DatasetDocument,
  summary: ContentSummary,
  { isGrown, counts: changeCounts }: { readonly isGrown: boolean; readonly counts: ChangeCounts | null },
): Finding | undefined {
  if (previousDocument.content_hash === null || previousDocument.content_hash === summary.contentHash) return undefined;
  const prefixMark = previousDocument.served;
  const hashText = `content_hash ${previousDocument.content_hash.slice(0, 12)} before, ${summary.contentHash.slice(0, 12)} now`;
  const rows = TABLE_KINDS.flatMap((table) => {
    const [was, is] = [previousDocument.rows?.[table] ?? 0, summary.rows[table] ?? 0];
    return was === is ? [] : [`${table} ${was} rows before, ${is} now`];
  });
  const countsText = [
    hashText,
    ...rows,
    ...(previousDocument.identifiers === summary.identifiers
      ? []
      : [`${previousDocument.identifiers ?? 0} identifiers before, ${summary.identifiers} now`]),
  ].join('; ');
  if (prefixMark !== undefined && isGrown) {
    const message = `The source has grown since it was last read, with its history up to ${formatDay(prefixMark.day)} unchanged: ${countsText}.`;
    return { severity: 'info', code: 'DATES_ADDED', path: 'market', message };
  }
  const rangeText = prefixMark === undefined ? '' : ` up to ${formatDay(prefixMark.day)}`;
  const message = `The history${rangeText} is not what it was when the source was last read: ${countsText}. ${formatCounts(changeCounts)}What is served is what the source holds now; run again what was computed before.`;
  return { severity: 'warning', code: 'HISTORY_CHANGED', path: 'market', message };
}

function formatCounts(counts: ChangeCounts | null): string {
  if (counts === null) return 'How many of the earlier rows differ is not known. ';
  const { changed, removed, added } = counts;
  return `${changed} ${changed === 1 ? 'row' : 'rows'} changed, ${removed} removed, ${added} added. `;
}
