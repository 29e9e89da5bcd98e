import type { Health } from '#contract/service.js';
import type { DataAudit, DataStore, ImportResult, RepairRequest } from '#contract/stores.js';
import type { Finding } from '#domain/base/findings.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import type { DatasetDocument } from '#domain/definition/datasets.js';
import type { Authorship } from '#domain/definition/versions.js';
import type { MarketHandle } from '#domain/market/market-data.js';
import type { Repair } from '#market/judge/security-histories.js';
import type { ContentSummary } from '#market/serve/market-tasks.js';
import type { DocumentStore } from '#store/port.js';
import type { Requester } from '../shared/gate.js';
import { readDataset, type SourceContext } from '../shared/store-documents.js';

/** Matches the path of a finding about one date. */
const DATED_PATH = /^market\[(\d{4}-\d{2}-\d{2})\]$/;

/**
 * Returns the findings about partial dates, latest first: dates on which only some securities of a store have bars. The
 * findings are from the last read.
 */
function selectPartialDateFindings({ findings }: Pick<DatasetDocument, 'findings'>): DataAudit['partial_dates'] {
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

export interface AuditedStores {
  /**
   * Returns the content of a store, which its source may no longer have.
   * @throws Refusal STORE_LOADING, STORE_REFRESHING; VALIDATION_FAILED if the store is unreadable
   */
  readonly readContent: (document: DatasetDocument) => Promise<MarketHandle>;
  /** Registers a repaired store and, on request, serves it. @returns the store in the format of the API */
  readonly register: (repairedStore: RepairedStore, by?: Authorship) => Promise<DataStore>;
}

export interface RepairedStore {
  readonly datasetId: string;
  readonly name: string;
  readonly adjustment: DatasetDocument['adjustment'];
  readonly currency: DatasetDocument['currency'];
  readonly folder: string;
  readonly summary: ContentSummary;
  /** Panels of the store, if it will be served. */
  readonly handle: MarketHandle | null;
}

/** Service that searches stores for probable errors and writes repaired stores. */
export function createDatasetAudits(
  { jobs, folders, calendarsInUse }: SourceContext,
  { readContent, register }: AuditedStores,
) {
  return {
    async audit(document: DatasetDocument, requester: Requester): Promise<DataAudit> {
      const market = await readContent(document);
      const { doubts, total } = await jobs.query('audit-market', { market }, requester.signal);
      return {
        store_id: document.store_id,
        content_hash: market.contentHash,
        doubts: structuredClone(doubts) as DataAudit['doubts'],
        total,
        partial_dates: [...selectPartialDateFindings(document), ...selectGapFindings(document)],
      }; // The generated type has mutable lists, the view read-only ones.
    },
    /**
     * Writes a new store with the selected repairs. @throws Refusal VALIDATION_FAILED if a warning does not exist or has
     * no repair
     */
    async repair(
      document: DatasetDocument,
      request: RepairRequest & { readonly store_id: string },
      requester: Requester,
      authorship?: Authorship,
    ): Promise<ImportResult> {
      const market = await readContent(document);
      const { doubts } = await jobs.query('audit-market', { market }, requester.signal);
      const repairs = listChosenRepairs(request.doubts, new Map(doubts.map(({ id, repair }) => [id, repair])));
      const folder = await folders.create(request.store_id);
      try {
        const { handle, summary } = await jobs.query('repair-market', {
          market,
          repairs,
          folder,
          datasetId: request.store_id,
          calendars: await calendarsInUse(request.store_id, request.activate),
        });
        const name = request.name ?? `${document.name}, repaired`;
        const result: RepairedStore = {
          datasetId: request.store_id,
          name: name.slice(0, 200),
          adjustment: document.adjustment,
          currency: document.currency,
          folder,
          summary,
          handle: request.activate ? handle : null,
        };
        const store = await register(result, authorship);
        return {
          store,
          rows: { ...summary.rows },
          identifiers: summary.identifiers,
          start: store.start,
          end: store.end,
          findings: store.findings ?? [],
        };
      } catch (failure) {
        await folders.discardFailed(folder, request.store_id, failure);
        throw failure;
      }
    },
  };
}

function listChosenRepairs(ids: readonly string[], repairsById: ReadonlyMap<string, Repair | null>): Repair[] {
  const findings: Finding[] = [];
  const repairs: Repair[] = [];
  [...new Set(ids)].forEach((id, i) => {
    const repair = repairsById.get(id);
    if (repair) repairs.push(repair);
    else
      findings.push({
        severity: 'error',
        code: 'NOT_IN_CHOICES',
        path: `doubts[${i}]`,
        message: repair === null ? `The data warning ${id} has no repair.` : `The audit has no data warning ${id}.`,
        value: id,
      });
  });
  if (findings.length > 0) throw refuseWithFindings('request', findings);
  return repairs;
}
