import type { IndexDocumentBody } from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/action-button.js';
import { Banner } from '../../components/banner.js';
import { showToast } from '../../state/toasts.js';
import { findStoreOfNew } from '../../state/new-index.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { getChosenStore } from '../../state/stores.js';
import { countValues } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import type { OpenedIndex } from './saving.js';

/**
 * Creates a new index from the template of a published methodology, on the data store in the address or on the served
 * one. Also returns the documents that the index depends on.
 */
export async function loadTemplate(template: string, id: string | null, signal: AbortSignal): Promise<OpenedIndex> {
  const chosen = getChosenStore();
  const [{ documents }, { stores }] = await Promise.all([
    service.value.call('getMethodologyTemplate', {
      params: { methodology_id: template },
      query: { index_id: id ?? undefined, store_id: chosen },
      signal,
    }),
    service.value.call('listStores', { signal }),
  ]);
  const store = chosen ?? findStoreOfNew(stores);
  const bodies = (documents as JsonObject[]) // the service returns JSON objects
    .map((body) => (store === null ? body : { ...body, store_id: store }));
  return { document: bodies.at(-1) ?? {}, etag: null, isStored: false, beneath: bodies.slice(0, -1) };
}

/** Returns the documents of a template that are not stored yet. Returns undefined until this is known. */
export function useAbsent(documents: readonly JsonObject[] = []): readonly JsonObject[] | undefined {
  const key = documents.length === 0 ? null : 'indices';
  const indices = useResource(key, (signal) => service.value.call('listIndices', { signal }));
  if (documents.length === 0) return documents;
  if (indices.data === undefined) return indices.trouble === null ? undefined : [];
  const storedIds = new Set(indices.data.indices.map(({ id }) => id));
  return documents.filter(({ id }) => !storedIds.has(String(id)));
}

/** Renders the indices of a template that are not stored yet, and a button that stores them. */
export function Beneath({ absent }: { readonly absent: readonly JsonObject[] }) {
  if (absent.length === 0) return null;
  const ids = absent.map(({ id }) => String(id)).join(', ');
  const missingText = absent.length === 1 ? ids : countValues(absent.length, 'index', 'indices');
  const store = async () => {
    for (const document of absent)
      // The service created the document.
      await service.value.call('createIndex', { body: document as unknown as IndexDocumentBody });
    showToast('good', `${ids} stored.`);
    notifyChange();
  };
  return (
    <Banner
      kind="info"
      title={`This index requires ${ids}.`}
      action={<ActionButton kind="main" act={store}>{`Store ${missingText}`}</ActionButton>}
    >
      <p>The definition is checked and previewed once {absent.length === 1 ? 'it is' : 'they are'} stored.</p>
    </Banner>
  );
}
