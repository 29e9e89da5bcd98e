import { describe } from 'vitest';
import { describeDocuments } from './document-store-documents.js';
import { describeLists } from './document-store-lists.js';
import { describeLifeTime } from './document-store-life-time.js';
import { describeEvents } from './document-store-events.js';
import { describeProcesses } from './document-store-processes.js';
import { describeTransactions } from './document-store-transactions.js';
import { createStores, type OpenStore } from './document-store-world.js';

/**
 * Tests what every document engine guarantees.
 * @param servesProcesses true if several processes may open the same data, which requires `beside`
 */
export function describeDocumentStore(
  name: string,
  open: OpenStore,
  { servesProcesses = false }: { readonly servesProcesses?: boolean } = {},
): void {
  describe(name, () => {
    const stores = createStores(open);
    describeDocuments(stores);
    describeLists(stores);
    describeTransactions(stores);
    describeEvents(stores);
    describeLifeTime(stores);
    if (servesProcesses) describeProcesses(stores);
  });
}
