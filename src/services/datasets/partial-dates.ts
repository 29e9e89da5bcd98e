import type { Health } from '#contract/health.js';
import type { DataAudit } from '#contract/stores/audit.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { DocumentStore } from '#store/port.js';
import { readDataset } from '../stored/dataset-documents.js';

/** Matches the path of a finding about one date. */
const DATED_PATH = /^market\[(\d{4}-\d{2}-\d{2})\]$/;

/**
 * Returns the findings about partial dates, latest first: dates on which only some securities of a store have bars. The
 * findings are from the last read.
 */
export function selectPartialDateFindings({ findings }: Pick<DatasetDocument, 'findings'>): DataAudit['partial_dates'] {
  return (findings as DataAudit['partial_dates']).filter(({ code }) => code === 'PARTIAL_DATE'); // findings with this code are stored in this form
}

/** Returns true for a finding that the market has no data for some days before its date. */
export const isGap = ({ code, path }: Pick<Finding, 'code' | 'path'>): boolean =>
  code === 'GAP_LONG' && DATED_PATH.test(path);

/** Returns findings about gaps of the whole market. */
export const selectGapFindings = ({ findings }: Pick<DatasetDocument, 'findings'>): DataAudit['partial_dates'] =>
  (findings as DataAudit['partial_dates']).filter(isGap); // GAP_LONG findings about dates are stored in the form of PARTIAL_DATE findings

/**
 * Function that returns the partial dates for the health report. It returns null if the document of the store is
 * unreadable.
 */
export type PartialDatesReader = (datasetId: string) => Promise<Health['store']['partial_dates']>;

/** Creates a reader of partial dates. It reads the document of a store again only after the document changed. */
export function createPartialDatesReader(documents: Pick<DocumentStore, 'get'>): PartialDatesReader {
  let cachedDates: { readonly etag: string; readonly dates: Health['store']['partial_dates'] } | undefined;
  return async (datasetId) => {
    const storedDocument = await documents.get('store', datasetId).catch(() => undefined);
    if (storedDocument === undefined || 'unreadable' in storedDocument) return null;
    if (cachedDates?.etag !== storedDocument.etag) {
      const document = readDataset(storedDocument.body);
      cachedDates = {
        etag: storedDocument.etag,
        dates: document === undefined ? null : summarisePartialDates(document),
      };
    }
    return cachedDates.dates;
  };
}

/** Returns the number of partial dates and the latest of them, newest first. */
export function summarisePartialDates(document: DatasetDocument): NonNullable<Health['store']['partial_dates']> {
  const latestDates: string[] = [];
  let earlierCount = 0;
  for (const { path, count } of selectPartialDateFindings(document)) {
    const date = DATED_PATH.exec(path)?.[1];
    if (date === undefined) earlierCount += count ?? 0;
    else latestDates.push(date);
  }
  return { total: latestDates.length + earlierCount, latest: latestDates.toSorted().toReversed() };
}
