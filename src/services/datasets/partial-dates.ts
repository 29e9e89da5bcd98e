import type { Health } from '#contract/health.js';
import type { DataAudit } from '#contract/stores/audit.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { DocumentStore } from '#store/port.js';
import { readDataset } from '../stored/dataset-documents.js';

/** Day of a finding about one date. */
const DATED = /^market\[(\d{4}-\d{2}-\d{2})\]$/;

/** Findings of the last read on dates that have bars of only some securities of a store, latest first. */
export function partialDateFindings({ findings }: Pick<DatasetDocument, 'findings'>): DataAudit['partial_dates'] {
  return (findings as DataAudit['partial_dates']).filter(({ code }) => code === 'PARTIAL_DATE'); // Written as such.
}

/** Returns true if a finding reports a gap of the whole market before its date. */
export const isHole = ({ code, path }: Pick<Finding, 'code' | 'path'>): boolean =>
  code === 'GAP_LONG' && DATED.test(path);

/** Returns findings about gaps of the whole market. */
export const holeFindings = ({ findings }: Pick<DatasetDocument, 'findings'>): DataAudit['partial_dates'] =>
  (findings as DataAudit['partial_dates']).filter(isHole); // as above

/** The partial dates in the words of health; null if the document of the store cannot be read. */
export type PartialDatesOf = (datasetId: string) => Promise<Health['store']['partial_dates']>;

/** Creates a reader that parses the document of a store again only if it changed. */
export function createPartialDatesOf(documents: Pick<DocumentStore, 'get'>): PartialDatesOf {
  let seen: { readonly etag: string; readonly dates: Health['store']['partial_dates'] } | undefined;
  return async (datasetId) => {
    const stored = await documents.get('store', datasetId).catch(() => undefined);
    if (stored === undefined || 'unreadable' in stored) return null;
    if (seen?.etag !== stored.etag) {
      const document = readDataset(stored.body);
      seen = { etag: stored.etag, dates: document === undefined ? null : partialDatesIn(document) };
    }
    return seen.dates;
  };
}

/** Returns the number of partial dates and the latest of them, newest first. */
export function partialDatesIn(document: DatasetDocument): NonNullable<Health['store']['partial_dates']> {
  const latest: string[] = [];
  let earlier = 0;
  for (const { path, count } of partialDateFindings(document)) {
    const date = DATED.exec(path)?.[1];
    if (date === undefined) earlier += count ?? 0;
    else latest.push(date);
  }
  return { total: latest.length + earlier, latest: latest.toSorted().toReversed() };
}
