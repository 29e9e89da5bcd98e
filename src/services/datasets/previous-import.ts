import type { ImportHeader } from '#domain/documents/import-request.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { DocumentStore } from '#store/port.js';
import type { DatasetActivity } from './activity.js';
import { requireDataset } from '../stored/dataset-documents.js';

/**
 * Returns the store that an import replaces or appends to; undefined for a new store.
 * @throws Refusal STORE_EXISTS, STORE_LOADING, STORE_REFRESHING, VALIDATION_FAILED
 */
export async function findPrevious(
  { documents, activity }: { readonly documents: DocumentStore; readonly activity: DatasetActivity },
  datasetId: string,
  { on_exists, adjustment, currency }: ImportHeader,
): Promise<DatasetDocument | undefined> {
  if (on_exists === 'refuse') {
    await activity.assertFree(datasetId);
    return undefined;
  }
  if ((await documents.get('store', datasetId)) === undefined) return undefined;
  const { document } = await requireDataset(documents, datasetId);
  if (await activity.isAbandoned(document)) return undefined;
  await activity.assertIdle(datasetId);
  if (document.kind !== 'imported')
    throw new Refusal(
      'STORE_EXISTS',
      `The data store ${datasetId} is of kind ${document.kind}; only an imported one is replaced or appended to.`,
    );
  if (on_exists === 'append' && adjustment !== document.adjustment) {
    const message = `The data store ${datasetId} holds prices of the basis ${document.adjustment}; prices of the basis ${adjustment} cannot be appended.`;
    throw refuseTerm({ path: 'adjustment', message, value: adjustment }, document.adjustment);
  }
  if (on_exists === 'append' && currency !== undefined && currency !== document.currency) {
    const message = `The data store ${datasetId} holds prices in ${document.currency ?? 'no declared currency'}; prices in ${currency ?? 'no declared currency'} cannot be appended.`;
    throw refuseTerm({ path: 'currency', message, value: currency }, document.currency);
  }
  return document;
}

/** Returns the refusal for an import whose term differs from the term of the store that it appends to. */
function refuseTerm(term: Pick<Finding, 'path' | 'message' | 'value'>, acceptedValue: string | null): Refusal {
  const finding = { severity: 'error', code: 'NOT_IN_CHOICES', ...term } as const;
  return refuseWithFindings('request', [acceptedValue === null ? finding : { ...finding, accepted: [acceptedValue] }]);
}
