import type { storeRoutes } from '#contract/stores/routes.js';
import type { Datasets } from '#services/datasets/datasets.js';
import type { Handlers } from '../handler.js';

export function datasetHandlers(datasets: Datasets): Handlers<typeof storeRoutes> {
  return {
    listStores: async ({ query }) => ({ json: await datasets.list(query) }),
    createStore: async (request) => ({ json: await datasets.create(request.body()) }),
    async getStore({ params }) {
      const { store, etag } = await datasets.get(params.store_id);
      return { json: store, ...(etag === undefined ? {} : { etag }) };
    },
    async updateStore(request) {
      await datasets.get(request.params.store_id);
      const { store, etag } = await datasets.update(request.params.store_id, request.body(), request.precondition());
      return { json: store, etag };
    },
    async deleteStore({ params, precondition }) {
      await datasets.remove(params.store_id, precondition());
      return {};
    },
    activateStore: async ({ params, origin }) => ({ json: await datasets.activate(params.store_id, origin) }),
    async refreshStore(request) {
      await datasets.get(request.params.store_id);
      return { json: await datasets.refresh(request.params.store_id, request.body(), request.origin) };
    },
    syncData: async (request) => ({ json: await datasets.sync(request.body(), request.origin) }),
    auditStore: async ({ params, signal }) => ({ json: await datasets.audit(params.store_id, signal) }),
    async repairStore(request) {
      await datasets.get(request.params.store_id);
      return { json: await datasets.repair(request.params.store_id, request.body()) };
    },
    importStore: async (request) => ({ json: await datasets.importData(request.body()) }),
    getImportTemplate({ query }) {
      const { bytes, type, name } = datasets.template(query.format);
      return { bytes, type, headers: { 'Content-Disposition': `attachment; filename="${name}"` } };
    },
    generateSynthetic: async (request) => ({ json: await datasets.generate(request.body(), request.origin) }),
  };
}
