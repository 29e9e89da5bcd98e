import type { DataStore, DataStoreCreate, DataStoreUpdate } from '#contract/stores/store.js';
import type { DatasetDocument, DeclaredDataset } from '#domain/documents/dataset-document.js';
import { Mapping } from '#domain/documents/mapping.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore } from '#store/port.js';
import type { VersionContent } from '../history/versions.js';
import type { Requester } from '../shared/gate.js';
import type { Precondition } from '../shared/preconditions.js';
import { requireDataset } from '../stored/dataset-documents.js';
import { isSameLocation, resolveSourceLocation } from './resolve-location.js';

interface DatasetRestorationDependencies {
  readonly documents: DocumentStore;
  readonly create: (request: DataStoreCreate, asker: Requester, by?: Authorship) => Promise<DataStore>;
  readonly update: (
    datasetId: string,
    request: DataStoreUpdate,
    ifMatch: Precondition | undefined,
    by?: Authorship,
  ) => Promise<{ readonly store: DataStore; readonly etag: string }>;
  /** Aborted when the service stops. */
  readonly closing: AbortSignal;
}

/**
 * Restores a version of a store. If the store exists, it is changed to that version. A deleted store is created again
 * if its data still exists.
 */
export async function restoreDataset(
  { documents, create, update, closing }: DatasetRestorationDependencies,
  { version, body }: VersionContent,
  ifMatch: Precondition | undefined,
  authorship: Authorship,
): Promise<{ readonly store: DataStore; readonly etag?: string }> {
  const declaration = body as unknown as DeclaredDataset; // the body was stored as a version of a store
  const { store_id: datasetId, kind, name, source, tables, adjustment, currency, mapping } = declaration;
  const versionsKept = declaration.versions_kept ?? null;
  if ((await documents.get('store', datasetId)) !== undefined) {
    const { document } = await requireDataset(documents, datasetId);
    return update(
      datasetId,
      {
        name,
        adjustment,
        currency,
        mapping: mapping == null ? null : Mapping.parse(mapping),
        versions_kept: versionsKept,
        ...(isRestored(kind) && !isSameLocation(document.source, source)
          ? { source: resolveSourceLocation(source, version) }
          : {}),
      },
      ifMatch,
      authorship,
    );
  }
  if (!isRestored(kind) || source === null)
    throw new Refusal('VERSION_NOT_RESTORABLE', `The data of the store ${datasetId} was deleted with it.`, {
      version,
    });
  if (ifMatch !== undefined)
    throw new Refusal('PRECONDITION_FAILED', 'If-Match names a document, but none is stored.', { etag: null });
  const location = resolveSourceLocation(source, version);
  const request = { store_id: datasetId, name, kind, location, tables, adjustment, currency, mapping };
  const requester = { client: authorship.keyId ?? null, signal: closing };
  return { store: await create({ ...request, activate: false }, requester, authorship) };
}

/** Returns true if a client gave the location of the store's data. */
const isRestored = (kind: DatasetDocument['kind']): kind is DataStoreCreate['kind'] =>
  kind === 'folder' || kind === 'database';
