import type { storeRoutes } from '#contract/stores/routes.js';
import type { Stores } from '#services/datasets/stores.js';
import type { Handlers } from '../handler.js';

export function storeHandlers(stores: Stores): Handlers<typeof storeRoutes> {
  return {
    listStores: async ({ query }) => ({ json: await stores.list(query) }),
    createStore: async (request) => ({ json: await stores.create(request.body()) }),
    async getStore({ params }) {
      const { store, etag } = await stores.get(params.store_id);
      return { json: store, ...(etag === undefined ? {} : { etag }) };
    },
    async updateStore(request) {
      await stores.get(request.params.store_id);
      const { store, etag } = await stores.update(request.params.store_id, request.body(), request.precondition());
      return { json: store, etag };
    },
    async deleteStore({ params, precondition }) {
      await stores.remove(params.store_id, precondition());
      return {};
    },
    activateStore: async ({ params, origin }) => ({ json: await stores.activate(params.store_id, origin) }),
    async refreshStore(request) {
      await stores.get(request.params.store_id);
      return { json: await stores.refresh(request.params.store_id, request.body(), request.origin) };
    },
    syncData: async (request) => ({ json: await stores.sync(request.body(), request.origin) }),
    auditStore: async ({ params, signal }) => ({ json: await stores.audit(params.store_id, signal) }),
    async repairStore(request) {
      await stores.get(request.params.store_id);
      return { json: await stores.repair(request.params.store_id, request.body()) };
    },
    importStore: async (request) => ({ json: await stores.importData(request.body()) }),
    getImportTemplate({ query }) {
      const { bytes, type, name } = stores.template(query.format);
      return { bytes, type, headers: { 'Content-Disposition': `attachment; filename="${name}"` } };
    },
    generateSynthetic: async (request) => ({ json: await stores.generate(request.body(), request.origin) }),
  };
}
