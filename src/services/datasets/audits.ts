import type { CalendarsInUse } from '#domain/calendars/used-calendars.js';
import type { DataAudit, RepairRequest } from '#contract/stores/audit.js';
import type { ImportResult } from '#contract/stores/import.js';
import type { DataStore } from '#contract/stores/store.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketHandle } from '#domain/market/handle.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { selectGapFindings, selectPartialDateFindings } from './partial-dates.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { Repair } from '#market/audit/data-warning.js';
import type { Requester } from '../shared/gate.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { ContentSummary } from '#market/process/market-tasks.js';

export interface DatasetAuditsDependencies {
  readonly jobs: Pick<Jobs, 'query'>;
  readonly folders: ManagedFolders;
  /** Returns the calendars of the indices that use a store. */
  readonly calendarsInUse: CalendarsInUse;
  /**
   * Returns the content of a store, which its source may no longer have.
   * @throws Refusal STORE_LOADING, STORE_REFRESHING; VALIDATION_FAILED if the store is unreadable
   */
  readonly readContent: (document: DatasetDocument) => Promise<MarketHandle>;
  /** Registers a repaired store and, on request, serves it. @returns the store in the format of the API */
  readonly register: (repairedStore: RepairedStore, by?: Authorship) => Promise<DataStore>;
}

/** Repaired store before it is registered. */
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
export interface DatasetAudits {
  audit(document: DatasetDocument, asker: Requester): Promise<DataAudit>;
  /**
   * Writes a new store with the selected repairs. @throws Refusal VALIDATION_FAILED if a warning does not exist or has
   * no repair
   */
  repair(
    document: DatasetDocument,
    request: RepairRequest & { readonly store_id: string },
    asker: Requester,
    by?: Authorship,
  ): Promise<ImportResult>;
}

export function createDatasetAudits({
  jobs,
  folders,
  calendarsInUse,
  readContent,
  register,
}: DatasetAuditsDependencies): DatasetAudits {
  return {
    async audit(document, requester) {
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

    async repair(document, request, requester, authorship) {
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
