import { formatDay } from '#domain/days.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import { orderFindings, type Finding, type FindingCode } from '#domain/findings.js';
import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { prefixMark } from '#market/content/prefix.js';
import type { ContentSummary } from '#market/process/market-tasks.js';
import { loadedFields } from './loading.js';

/** Codes of findings about a content that is another than was served before. */
const CHANGE_CODES: ReadonlySet<string> = new Set<FindingCode>(['HISTORY_CHANGED', 'DATES_ADDED']);

/**
 * What a store's document remembers of the market that is served of it.
 * @cost a pass over fewer than 64 days and over the tables
 */
export function servedFields({ market, handle: { digests } }: ServedMarket): Pick<DatasetDocument, 'served'> {
  const last = market.dates.at(-1);
  return digests === undefined || last === undefined ? {} : { served: prefixMark(market, digests, last) };
}

/** The document of a store after it was read again; findings report a change of content. */
export function reloadedFields(
  before: DatasetDocument,
  { summary, served }: { readonly summary: ContentSummary; readonly served: ServedMarket },
  at: string,
): Partial<DatasetDocument> {
  const change = changeOf(before, summary, served);
  return loadedFields(
    { ...summary, warnings: orderFindings([...(change === undefined ? [] : [change]), ...summary.warnings]) },
    at,
  );
}

/**
 * As `reloadedFields`, with what was found about changes before while nothing else has changed: a restart must not make
 * anyone miss it.
 */
export function resumedFields(
  before: DatasetDocument,
  loaded: { readonly summary: ContentSummary; readonly served: ServedMarket },
  at: string,
): Partial<DatasetDocument> {
  const fields = reloadedFields(before, loaded, at);
  const { findings = [] } = fields;
  if (findings.some(({ code }) => CHANGE_CODES.has(code))) return fields;
  return { ...fields, findings: [...before.findings.filter(({ code }) => CHANGE_CODES.has(code)), ...findings] };
}

function changeOf(
  before: DatasetDocument,
  summary: ContentSummary,
  { market, handle: { digests } }: ServedMarket,
): Finding | undefined {
  if (before.content_hash === null || before.content_hash === summary.contentHash) return undefined;
  const mark = before.served;
  const now = mark === undefined || digests === undefined ? undefined : prefixMark(market, digests, mark.day);
  const hashes = `content_hash ${before.content_hash.slice(0, 12)} before, ${summary.contentHash.slice(0, 12)} now`;
  const rows = TABLE_KINDS.flatMap((table) => {
    const [was, is] = [before.rows?.[table] ?? 0, summary.rows[table] ?? 0];
    return was === is ? [] : [`${table} ${was} rows before, ${is} now`];
  });
  const counts = [
    hashes,
    ...rows,
    ...(before.identifiers === summary.identifiers
      ? []
      : [`${before.identifiers ?? 0} identifiers before, ${summary.identifiers} now`]),
  ].join('; ');
  if (
    mark !== undefined &&
    now !== undefined &&
    now.hash === mark.hash &&
    now.axes === mark.axes &&
    now.rows === mark.rows
  ) {
    const message = `The source has grown since it was last read, with its history up to ${formatDay(mark.day)} unchanged: ${counts}.`;
    return { severity: 'info', code: 'DATES_ADDED', path: 'market', message };
  }
  const upTo = mark === undefined ? '' : ` up to ${formatDay(mark.day)}`;
  const message = `The history${upTo} is not what it was when the source was last read: ${counts}. What is served is what the source holds now; run again what was computed before.`;
  return { severity: 'warning', code: 'HISTORY_CHANGED', path: 'market', message };
}
