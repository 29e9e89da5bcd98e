import type { IndexDocumentBody } from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/action-button.js';
import { attempt, runIndex, type OnRefusal } from '../../state/actions.js';
import { findStoreOfNew } from '../../state/new-index.js';
import { navigate } from '../../state/location.js';
import { notifyChange } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { startTour } from '../../state/tour.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { isObject, type JsonObject } from '../../words/paths.js';
import { createDocument } from '../designer/draft.js';

const EXAMPLE_ID = 'EXAMPLE';

/** Number of securities in the example. */
const EXAMPLE_COUNT = 30;

/** Returns the first definition of the designer. If the store has sizes, it is limited to the largest companies. */
async function createExampleDocument(): Promise<JsonObject> {
  const [{ stores }, market] = await Promise.all([service.value.call('listStores'), service.value.call('listFields')]);
  const first = createDocument(new Set(), { market, store: findStoreOfNew(stores) });
  const pipeline = isObject(first['pipeline']) ? first['pipeline'] : {};
  const largest = { id: 'largest', type: 'TopN', params: { field: 'MARKET_CAP', count: EXAMPLE_COUNT } };
  return {
    ...first,
    id: EXAMPLE_ID,
    name: 'Example index',
    pipeline: { ...pipeline, selection: market.fields.some(({ name }) => name === 'MARKET_CAP') ? [largest] : [] },
  };
}

/** Creates an example index on the served store and runs it. Then starts the tour on its page. */
async function createExample(onRefusal: OnRefusal): Promise<void> {
  const body = await attempt(createExampleDocument, onRefusal);
  if (body === undefined) return;
  const createdIndex = await attempt(
    () => service.value.call('createIndex', { body: body as unknown as IndexDocumentBody }), // the service validates the document
    onRefusal,
  );
  if (createdIndex === undefined) return;
  notifyChange();
  await runIndex(EXAMPLE_ID, {}, onRefusal);
  startTour(EXAMPLE_ID);
  navigate(formatIndexAddress(EXAMPLE_ID));
}

export const ExampleIndex = () => <ActionButton act={createExample}>Create an example index</ActionButton>;
