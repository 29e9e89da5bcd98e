import { DatasetDocument } from '#domain/documents/dataset-document.js';
import { findPendingPrices } from '#domain/documents/price-override.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { GeneratePayload, LoadPayload, RefreshPayload } from '#domain/jobs/payloads.js';
import { createJobKind, type Attempt, type Completion, type JobKind } from '#jobs/job-kind.js';
import { runMarketTask } from '#market/process/market-process.js';
import { prepareServedMarket } from '#market/serving/served-markets.js';
import type { DocumentStore } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import { hasGrown, createReloadFields } from './served-content.js';
import { requireDataset, toDataStore } from '../stored/dataset-documents.js';
import { createLoadedFields, recordFailure } from './loading.js';
import { activateDataset } from './activate.js';
import { createWritingDataset, deleteUnwritten, createSyntheticSpec } from './synthetic-dataset.js';
import { createRefresh } from './refresh-job.js';
import type { DatasetJobsDependencies } from './job-terms.js';

/** Kinds of job that change stores. */
export interface DatasetJobs {
  readonly load: JobKind<LoadPayload>;
  readonly generate: JobKind<GeneratePayload>;
  readonly refresh: JobKind<RefreshPayload>;
  /** Job kind that refreshes the served store. Its name comes from its route. */
  readonly sync: JobKind<RefreshPayload>;
}

export function createDatasetJobs(dependencies: DatasetJobsDependencies): DatasetJobs {
  const { documents, activations, loading, folders, files, calendars, calendarsInUse, versions, timestamp } =
    dependencies;

  async function runLoad({ store_id: datasetId }: LoadPayload, attempt: Attempt): Promise<Completion> {
    const { document } = await requireDataset(documents, datasetId);
    try {
      const loadOutcome = await loading.read(document, {
        serve: true,
        willBeActive: true,
        onProgress: attempt.report,
        signal: attempt.signal,
      });
      if (loadOutcome.kind === 'refused') throw recordFailure(loadOutcome.findings, 'location');
      const { summary, served } = loadOutcome;
      const isGrown = await hasGrown(document, served!); // the read was requested with panels
      const version = await versions.prepare(served!, { source: 'reload', kind: document.kind });
      const counts = version?.rows ?? null;
      const fields = createReloadFields(document, { summary, served: served!, hasGrown: isGrown, counts }, timestamp());
      const after = { ...document, ...fields };
      await activations.prepare(served!);
      return {
        result: { value: toDataStore({ ...after, active: true }, { isServed: true, activity: undefined }) },
        async effect(tx) {
          const { document: storedDocument } = await requireDataset(tx, datasetId);
          const activatedDocument = { ...storedDocument, ...fields, ...findPendingPrices(storedDocument, document) };
          await activateDataset(tx, { document: activatedDocument, served: served!, activations, version });
        },
      };
    } catch (failure) {
      if (failure instanceof Refusal && !attempt.signal.aborted) await noteFailure(documents, datasetId, failure);
      throw failure;
    }
  }

  async function runGenerate(payload: GeneratePayload, attempt: Attempt): Promise<Completion> {
    const { store_id: datasetId, request } = payload;
    const folder = await folders.create(datasetId);
    try {
      const spec = createSyntheticSpec(request, calendars);
      const load = request.activate ? { datasetId, adjustment: 'none' as const, currency: request.currency } : null;
      const result = await runMarketTask(
        'generate',
        { spec, folder },
        {
          load,
          calendars: await calendarsInUse(datasetId, request.activate),
          onProgress: attempt.report,
          signal: attempt.signal,
        },
      );
      if (result.kind === 'refused') throw recordFailure(result.findings, 'location');
      const currentTimestamp = timestamp();
      const servedMarket =
        result.handle === null ? undefined : await prepareServedMarket(result.handle, currentTimestamp);
      if (servedMarket !== undefined) await activations.prepare(servedMarket);
      const after: DatasetDocument = {
        ...createWritingDataset(payload),
        ...createLoadedFields(result.summary, currentTimestamp),
        writing: false,
        location: folder,
        ...(await files.keep(folder)),
        active: servedMarket !== undefined,
      };
      const version =
        servedMarket === undefined
          ? null
          : await versions.prepare(servedMarket, { source: 'synthetic', kind: 'synthetic' });
      return {
        result: { value: toDataStore(after, { isServed: servedMarket !== undefined, activity: undefined }) },
        async effect(tx) {
          if (servedMarket === undefined) await tx.put('store', datasetId, after);
          else await activateDataset(tx, { document: after, served: servedMarket, activations, version });
        },
      };
    } catch (failure) {
      await folders.remove(folder, datasetId);
      await deleteUnwritten(documents, datasetId);
      throw failure;
    }
  }

  const runRefresh = createRefresh(dependencies);
  return {
    load: createJobKind('load', runLoad),
    generate: createJobKind('generate', runGenerate),
    refresh: createJobKind('refresh', runRefresh),
    sync: createJobKind('sync', runRefresh),
  };
}

/** Stores the reason why a store could not be read. The document still describes the earlier content. */
async function noteFailure(documents: DocumentStore, datasetId: string, failure: Refusal): Promise<void> {
  await documents.transaction(
    async (tx) => {
      const storedDocument = await tx.get('store', datasetId);
      const document = parseStored(storedDocument, DatasetDocument);
      if (document !== undefined)
        await tx.put('store', datasetId, {
          ...document,
          error: { code: failure.code, message: failure.message, detail: failure.detail },
        });
    },
    { reserve: true },
  );
}
