import { isManaged, type DatasetDocument } from '#domain/documents/dataset-document.js';
import { findPendingPrices } from '#domain/documents/price-override.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { DocumentStore } from '#store/port.js';
import { requireDataset } from '../stored/dataset-documents.js';
import { replaceIn } from './activate.js';
import type { Activations } from './activations.js';
import type { DataVersions } from './data-versions.js';
import { refuseData, placeFindings } from './refused-data.js';
import type { DatasetLoading } from './loading.js';
import { hasGrown, createReloadFields } from './served-content.js';

export interface StoreContentsDependencies {
  readonly documents: DocumentStore;
  readonly activations: Pick<Activations, 'prepare' | 'replace' | 'shared'>;
  readonly loading: Pick<DatasetLoading, 'read'>;
  readonly versions: Pick<DataVersions, 'prepare' | 'last' | 'copyUsed'>;
  readonly timestamp: () => string;
  /** True if the service writes nothing. */
  readonly isReadOnly: boolean;
}

/**
 * Creates a reader of the content that the document of a store describes: shared between processes, from its copy, or
 * from its source. If a source changed in the meantime and was not copied, its current content is used, as for an
 * activation.
 * @throws Refusal VALIDATION_FAILED, NOT_SUPPORTED, STORE_UNAVAILABLE
 */
export function createStoreContents({
  documents,
  activations,
  loading,
  versions,
  timestamp,
  isReadOnly,
}: StoreContentsDependencies): (document: DatasetDocument) => Promise<ServedMarket> {
  async function findCopy({ kind, ...document }: DatasetDocument): Promise<ServedMarket | undefined> {
    const { store_id: datasetId, content_hash: contentHash, adjustment, currency } = document;
    if (isManaged(kind) || contentHash === null) return undefined;
    const copy = await versions.last({ identity: { datasetId, contentHash, adjustment, currency } });
    return copy?.identity.contentHash === contentHash ? copy : undefined;
  }

  async function readSource(document: DatasetDocument): Promise<ServedMarket> {
    const loaded = await loading.read(document, { serve: true });
    if (loaded.kind === 'refused') throw refuseData(placeFindings('location', loaded.findings));
    const served = loaded.served!; // the read was requested with panels
    if (isReadOnly) return served;
    const isGrown = await hasGrown(document, served);
    const version = await versions.prepare(served, { source: 'reload', kind: document.kind });
    const reloaded = { summary: loaded.summary, served, hasGrown: isGrown, counts: version?.rows ?? null };
    const isSame = document.content_hash === served.identity.contentHash;
    const fields = isSame ? {} : createReloadFields(document, reloaded, timestamp());
    await activations.prepare(served);
    await documents.transaction(async (tx) => {
      const { document: now } = await requireDataset(tx, document.store_id);
      if (now.active || now.content_hash !== document.content_hash) return; // another content was served in the meantime
      const after = { ...now, ...fields, ...findPendingPrices(now, document) };
      await replaceIn(tx, { document: after, served, activations, version });
    });
    versions.copyUsed(served, document.kind);
    return served;
  }

  return async (document) =>
    (await activations.shared(document)) ?? (await findCopy(document)) ?? (await readSource(document));
}
