import { isManaged, type DatasetDocument } from '#domain/documents/dataset-document.js';
import { findPendingPrices } from '#domain/documents/price-override.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { redeclareMarket } from '#market/serving/served-markets.js';
import type { DocumentStore } from '#store/port.js';
import { requireDataset } from '../stored/dataset-documents.js';
import { replaceDataset } from './activate.js';
import type { Activations } from './activations.js';
import type { DataVersions } from './data-versions.js';
import { refuseUnreadableStore } from './damaged-files.js';
import { placeFindings } from './refused-data.js';
import type { DatasetLoading } from './loading.js';
import { hasGrown, createReloadFields } from './served-content.js';

export interface StoreContentsDependencies {
  readonly documents: DocumentStore;
  readonly activations: Pick<Activations, 'prepare' | 'replace' | 'shared'>;
  readonly loading: Pick<DatasetLoading, 'read'>;
  readonly versions: Pick<DataVersions, 'prepare' | 'last'>;
  readonly timestamp: () => string;
  /** True if the service writes nothing. */
  readonly isReadOnly: boolean;
}

/**
 * Creates a reader for the content of a store. The content comes from other processes, from its copy, or from its
 * source. If the source has changed and there is no copy, the current content of the source is used.
 * @throws Refusal NO_DATA_SOURCE, NOT_SUPPORTED, STORE_UNAVAILABLE
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
    return copy?.identity.contentHash === contentHash ? redeclareMarket(copy, { adjustment, currency }) : undefined;
  }

  async function readSource(document: DatasetDocument): Promise<ServedMarket> {
    const loadOutcome = await loading.read(document, { serve: true }).catch((failure: unknown) => {
      if (!(failure instanceof Refusal) || failure.code !== 'STORE_READ_FAILED') throw failure;
      const { message } = failure;
      const finding = { severity: 'error', code: 'UNREADABLE_FILE', path: 'location', message } as const;
      return { kind: 'refused', findings: [finding] } as const;
    });
    if (loadOutcome.kind === 'refused')
      throw refuseUnreadableStore(document.store_id, placeFindings('location', loadOutcome.findings));
    const servedMarket = loadOutcome.served!; // the read was requested with panels
    if (isReadOnly) return servedMarket;
    const isGrown = await hasGrown(document, servedMarket);
    const version = await versions.prepare(servedMarket, { source: 'reload', kind: document.kind });
    const reloadedContent = {
      summary: loadOutcome.summary,
      served: servedMarket,
      hasGrown: isGrown,
      counts: version?.rows ?? null,
    };
    const isSameContent = document.content_hash === servedMarket.identity.contentHash;
    const fields = isSameContent ? {} : createReloadFields(document, reloadedContent, timestamp());
    await activations.prepare(servedMarket);
    await documents.transaction(async (tx) => {
      const { document: now } = await requireDataset(tx, document.store_id);
      if (now.active || now.content_hash !== document.content_hash) return; // another content was served in the meantime
      const after = { ...now, ...fields, ...findPendingPrices(now, document) };
      await replaceDataset(tx, { document: after, served: servedMarket, activations, version });
    });
    return servedMarket;
  }

  return async (document) =>
    (await activations.shared(document)) ?? (await findCopy(document)) ?? (await readSource(document));
}
