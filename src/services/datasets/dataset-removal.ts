import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { listKindsDeletedWith } from '#domain/jobs/job-kinds.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { isLiveIn } from '#jobs/job-record.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import { deleteJobsAbout, type JobsAbout } from '../shared/jobs-about.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';
import { readDataset, refuseMissingDataset } from '../stored/dataset-documents.js';
import { assertNothingPublished } from '../stored/run-list.js';
import { deleteVersions, deleteDataVersions } from '../stored/data-history.js';
import type { DatasetActivity } from './activity.js';
import type { Activations } from './activations.js';
import { publishReplaced } from './store-files.js';

interface DatasetRemovalDependencies {
  readonly documents: DocumentStore;
  readonly jobs: JobsAbout;
  readonly activity: DatasetActivity;
  readonly activations: Activations;
  readonly folders: ManagedFolders;
}

/** Removes a store with its versions, jobs and managed folder, unless work on it is in progress. */
export async function removeDataset(
  dependencies: DatasetRemovalDependencies,
  datasetId: string,
  ifMatch: Precondition | undefined,
  authorship?: Authorship,
): Promise<void> {
  await findInactive(dependencies, datasetId);
  return dependencies.activity.removing(datasetId, () =>
    removeIdleDataset(dependencies, datasetId, ifMatch, authorship),
  );
}

/** Returns a store that is not active; undefined if its document is unreadable. @throws Refusal STORE_NOT_FOUND, STORE_ACTIVE */
async function findInactive(
  { documents, activity }: Pick<DatasetRemovalDependencies, 'documents' | 'activity'>,
  datasetId: string,
): Promise<DatasetDocument | undefined> {
  const storedDocument = await documents.get('store', datasetId);
  const document = readStored(storedDocument, readDataset);
  if (storedDocument === undefined || (document !== undefined && (await activity.isAbandoned(document))))
    throw refuseMissingDataset(datasetId);
  if (!activity.isServed(datasetId)) return document;
  throw new Refusal('STORE_ACTIVE', `The data store ${datasetId} is being served; activate another one first.`, {
    store_id: datasetId,
  });
}

async function removeIdleDataset(
  { documents, jobs, activity, activations, folders }: DatasetRemovalDependencies,
  datasetId: string,
  ifMatch: Precondition | undefined,
  authorship?: Authorship,
): Promise<void> {
  const document = await findInactive({ documents, activity }, datasetId); // it may have become active meanwhile
  await assertPrecondition(documents, 'store', datasetId, ifMatch);
  if (authorship?.purges !== true) await assertNothingPublished(documents, datasetId);
  const deletedSubjects = { of: 'dataset', ids: [datasetId] } as const;
  const deleteRecords = async (tx: DocumentTransaction): Promise<number> => {
    await assertPrecondition(tx, 'store', datasetId, ifMatch);
    // Another process may have queued work meanwhile.
    for (const kind of listKindsDeletedWith('dataset', 'ident'))
      if (await isLiveIn(tx, `${kind}:${datasetId}`)) await activity.assertIdle(datasetId);
    if (authorship?.purges !== true) await assertNothingPublished(tx, datasetId);
    await tx.delete('store', datasetId);
    await activations.forget(tx, datasetId);
    publishReplaced(tx, document);
    tx.publish({ type: 'store-removed', store_id: datasetId });
    await deleteJobsAbout(tx, jobs, deletedSubjects);
    return deleteDataVersions(tx, datasetId);
  };
  await deleteVersions(
    documents,
    datasetId,
    await documents.transaction(deleteRecords, { by: authorship }),
    authorship,
  );
  // The store is already deleted. If its folder cannot be removed now, the next start of the service removes it.
  if (document?.managed === true && document.location !== null)
    await folders.remove(document.location, datasetId).catch(() => false);
}
