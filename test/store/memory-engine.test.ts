import type { DocumentEngine } from '#store/port.js';
import { describeDocumentStore } from './document-store-contract.js';
import { createMemoryEngine } from './memory-engine.js';

describeDocumentStore(
  'documents in memory',
  async (options) => {
    const engine = createMemoryEngine();
    let store = engine.open(options);
    const otherEngines: DocumentEngine[] = [];
    return {
      store,
      async reopen() {
        await store.close();
        store = engine.open(options);
        return store;
      },
      reader: async () => engine.reader(),
      async beside() {
        const other = engine.open();
        otherEngines.push(other);
        return other;
      },
      async discard() {
        for (const openEngine of [store, ...otherEngines]) await openEngine.close();
      },
    };
  },
  { servesProcesses: true },
);
