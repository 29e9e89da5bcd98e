import type { CalendarsInUse } from '#domain/calendars/used-calendars.js';
import { isManaged, type DatasetDocument } from '#domain/documents/dataset-document.js';
import { findPendingPrices } from '#domain/documents/price-override.js';
import { Refusal, type ErrorDetail } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import { sweepSharedFolders } from '#market/process/market-process.js';
import type { FailedLoad, ServedMarkets } from '#market/serving/served-markets.js';
import type { DocumentStore } from '#store/port.js';
import { hasGrown, createResumedFields } from './served-content.js';
import type { Activations } from './activations.js';
import { deleteLeftovers } from '../stored/data-history.js';
import type { DataVersions } from './data-versions.js';
import type { DatasetActivity } from './activity.js';
import { listDatasets, requireDataset } from '../stored/dataset-documents.js';
import { deleteUnwritten } from './synthetic-dataset.js';
import { activateDataset } from './activate.js';
import type { ContentSummary } from '#market/process/market-tasks.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { recordFailure, type DatasetLoading } from './loading.js';
import { settleSource } from './settled-source.js';

export interface DatasetResumptionDependencies {
  readonly documents: DocumentStore;
  readonly activity: DatasetActivity;
  readonly jobs: Pick<Jobs, 'isLive' | 'query'>;
  /** Returns the calendars of the indices that use a store. */
  readonly calendarsInUse: CalendarsInUse;
  readonly markets: ServedMarkets;
  readonly activations: Activations;
  readonly loading: DatasetLoading;
  readonly folders: ManagedFolders;
  /** Aborted when the service stops. */
  readonly closing: AbortSignal;
  readonly versions: Pick<DataVersions, 'prepare' | 'copyUsed' | 'last'>;
  readonly timestamp: () => string;
}

/** Work on stores that a start performs once. */
export interface DatasetResumption {
  /** Marks the previously served store as loading. Called before the first request. */
  announce(): Promise<void>;
  /**
   * Removes what a crash left behind, and serves the previously served store.
   * @param keepsServed true to serve the copy of the store's content, if there is one, and to ignore changes of its
   * source
   */
  resume(keepsServed: boolean): Promise<void>;
}

export function createDatasetResumption(dependencies: DatasetResumptionDependencies): DatasetResumption {
  const { documents, activity, markets, activations, loading, closing, versions, timestamp } = dependencies;

  async function announce(): Promise<void> {
    const active = (await listDatasets(documents)).find((store) => store.active);
    if (active === undefined) return;
    markets.expect(active.store_id);
    activity.resumes(active.store_id, markets.settled());
  }

  async function resume(keepsServed: boolean): Promise<void> {
    let failure: FailedLoad | undefined;
    try {
      await removeLeftovers(dependencies);
      const active = (await listDatasets(documents)).find((store) => store.active);
      const isServed = markets.served() !== undefined || (await isFollowed());
      const isKept =
        active !== undefined &&
        !isServed &&
        ((keepsServed && (await serveCopy(active))) || (await serveUnchangedStore(active)));
      if (isKept) return;
      if (active !== undefined && !isServed) failure = await reloadMarket(active);
      else if (active !== undefined) copyServedMarket(active);
    } finally {
      markets.settle(failure);
    }
  }

  function copyServedMarket({ store_id: datasetId, kind }: DatasetDocument): void {
    const servedMarket = markets.served();
    if (servedMarket?.identity.datasetId === datasetId) versions.copyUsed(servedMarket, kind);
  }

  /** Returns true if the shared active market is served. If it cannot be fetched, it is read from its source. */
  async function isFollowed(): Promise<boolean> {
    try {
      return await activations.follow();
    } catch (failure) {
      if (failure instanceof Refusal) return false;
      throw failure;
    }
  }

  /** Serves the copy of a store's content. Returns false if there is no copy. @param files files of the content */
  async function serveCopy({ kind, ...active }: DatasetDocument, files: ServedMarket['files'] = []): Promise<boolean> {
    const { store_id: datasetId, content_hash: contentHash, adjustment, currency } = active;
    if (isManaged(kind) || contentHash === null) return false;
    const copy = await versions.last({ identity: { datasetId, contentHash, adjustment, currency } });
    if (copy?.identity.contentHash !== contentHash) return false;
    markets.serve({ ...copy, files });
    return true;
  }

  /**
   * Serves the content that this build has read from an unchanged folder. Returns false if the folder must be read
   * again, for example because the content lacks changed prices.
   */
  async function serveUnchangedStore(active: DatasetDocument): Promise<boolean> {
    if ((active.changed_prices ?? []).length > 0) return false;
    if (active.read_by === undefined || active.read_by !== activations.readBy) return false;
    const files = await loading.unchanged(active);
    return files !== undefined && serveCopy(active, files);
  }

  /** Serves the previously served store. A failure is returned and stored; the next start tries again. */
  async function reloadMarket(active: DatasetDocument): Promise<FailedLoad | undefined> {
    const createFailure = (error: ErrorDetail): FailedLoad => ({ datasetId: active.store_id, error });
    activity.reading.add(active.store_id);
    try {
      const outcome = await loading.read(active, { serve: true, willBeActive: true, signal: closing });
      const error = outcome.kind === 'refused' ? recordFailure(outcome.findings, 'location').toDetail() : null;
      const startImport =
        outcome.kind === 'refused' ? undefined : await acceptSource(active, outcome.summary, outcome.served!); // the read was requested with panels
      await documents.transaction(async (tx) => {
        const { document } = await requireDataset(tx, active.store_id);
        if (startImport === undefined) await tx.put('store', active.store_id, { ...document, error });
        // Another store may have been activated during the read; its document is then the active one.
        else if (document.active && markets.served() === undefined) {
          const { reloaded, version } = startImport;
          const fields = createResumedFields(document, reloaded, timestamp());
          const { served } = reloaded;
          const after = { ...document, ...fields, ...findPendingPrices(document, active) };
          await activateDataset(tx, { document: after, served, activations, version });
        }
      });
      return error === null ? undefined : createFailure(error);
    } catch (failure) {
      if (closing.aborted) return undefined;
      if (!(failure instanceof Refusal)) throw failure;
      await documents.transaction(async (tx) =>
        tx.put('store', active.store_id, {
          ...(await requireDataset(tx, active.store_id)).document,
          error: failure.toDetail(),
        }),
      );
      return createFailure(failure.toDetail());
    } finally {
      activity.reading.delete(active.store_id);
    }
  }

  /** Prepares the accepted rows of a source for serving. */
  async function acceptSource(active: DatasetDocument, summary: ContentSummary, servedMarket: ServedMarket) {
    const isGrown = await hasGrown(active, servedMarket);
    const read = { summary, served: servedMarket };
    const settledSource = isGrown ? { ...read, report: null } : await settleSource(active, read, dependencies, closing);
    const version = await versions.prepare(settledSource.served, { source: 'reload', kind: active.kind });
    await activations.prepare(settledSource.served);
    return { reloaded: { ...settledSource, hasGrown: isGrown, counts: version?.rows ?? null }, version };
  }

  return { announce, resume };
}

/** Removes data and folders of stores without a document. A crash leaves them behind. */
async function removeLeftovers({ documents, jobs, folders }: DatasetResumptionDependencies): Promise<void> {
  await sweepSharedFolders();
  for (const { store_id, writing } of await listDatasets(documents))
    if (writing && !(await jobs.isLive(`generate:${store_id}`))) await deleteUnwritten(documents, store_id);
  await deleteLeftovers(documents);
  const datasets = await listDatasets(documents);
  // An unreadable document may be the only one that refers to a folder. If any document is unreadable, nothing is
  // removed.
  if (datasets.length === (await documents.ids('store')).length)
    await folders.sweep(new Set(datasets.flatMap(({ location }) => location ?? [])));
}
