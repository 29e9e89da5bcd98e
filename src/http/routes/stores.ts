import type { Route } from '#contract/route.js';
import type { storeRoutes } from '#contract/stores/routes.js';
import { ImportHeader, TABLE_FORMATS } from '#domain/documents/import-request.js';
import { parseJson } from '#domain/json/parse-json.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { checkShape } from '#domain/schema/shape.js';
import type { Datasets } from '#services/datasets/datasets.js';
import type { Requester } from '#services/shared/gate.js';
import type { ImportedBody } from '#services/datasets/import-reading.js';
import type { Handlers, RouteRequest } from '../handler.js';
import type { Removals } from '../removals.js';

export function createDatasetHandlers(datasets: Datasets, removals: Removals): Handlers<typeof storeRoutes> {
  return {
    listStores: async ({ query }) => ({ json: await datasets.list(query) }),
    createStore: async (request) => ({
      json: await datasets.create(request.body(), createRequester(request), request.authorship()),
    }),
    async getStore({ params }) {
      const { store, etag } = await datasets.get(params.store_id);
      return { json: store, ...(etag === undefined ? {} : { documentEtag: etag }) };
    },
    async updateStore(request) {
      await datasets.get(request.params.store_id);
      const { params, body, precondition, authorship } = request;
      const { store, etag } = await datasets.update(params.store_id, body(), precondition(), authorship());
      return { json: store, etag };
    },
    async deleteStore(request) {
      const id = request.params.store_id;
      const removal = await removals.of(request, { kind: 'store', id });
      if (!('purgedRuns' in removal)) await datasets.remove(id, request.precondition(), removal);
      return {};
    },
    activateStore: async ({ params, origin }) => ({ json: await datasets.activate(params.store_id, origin) }),
    async refreshStore(request) {
      await datasets.get(request.params.store_id);
      return { json: await datasets.refresh(request.params.store_id, request.body(), request.origin) };
    },
    syncData: async (request) => ({ json: await datasets.sync(request.body(), request.origin) }),
    auditStore: async (request) => ({ json: await datasets.audit(request.params.store_id, createRequester(request)) }),
    async repairStore(request) {
      await datasets.get(request.params.store_id);
      const { params, body, authorship } = request;
      return { json: await datasets.repair(params.store_id, body(), createRequester(request), authorship()) };
    },
    inspectData: async (request) => ({ json: await datasets.inspect(request.body(), createRequester(request)) }),
    importStore: async (request) => ({
      json: await datasets.importData(parseImport(request), createRequester(request), request.authorship()),
    }),
    getImportTemplate({ query, media }) {
      const { bytes, type, name } = datasets.template(query.format ?? (media === ZIP_TYPE ? 'csv.zip' : 'xlsx'));
      return { bytes, type, headers: { 'Content-Disposition': `attachment; filename="${name}"` } };
    },
    generateSynthetic: async (request) => ({
      json: await datasets.generate(request.body(), request.origin, request.authorship()),
    }),
  };
}

/** Returns the client that sends a request about a store. Its signal is aborted when the client disconnects. */
const createRequester = ({ principal, signal }: Pick<RouteRequest<Route>, 'principal' | 'signal'>): Requester => ({
  client: principal.keyId,
  signal,
});

const ZIP_TYPE = 'application/zip';

/** Parses JSON in the query. If it is invalid, returns the text; the validation then refuses it. */
function parseMapping(text: string): unknown {
  try {
    return parseJson(Buffer.from(text)).value;
  } catch {
    return text;
  }
}

/**
 * Parses the body of an import. It is complete JSON, or a table with further values in the query. @throws Refusal
 * VALIDATION_FAILED
 */
function parseImport({ query, body, upload }: RouteRequest<(typeof storeRoutes)['importStore']>): ImportedBody {
  const table = upload();
  const { dataset = 'market', mapping, ...importTerms } = query;
  if (table !== undefined) {
    const mappedRequest = mapping === undefined ? importTerms : { ...importTerms, mapping: parseMapping(mapping) };
    const { value: header, findings } = checkShape(ImportHeader, mappedRequest);
    if (header === undefined) throw refuseWithFindings('query', findings);
    const format = TABLE_FORMATS[table.media as keyof typeof TABLE_FORMATS]; // the route accepts no other media type
    return { kind: 'table', header, dataset, format, bytes: table.bytes };
  }
  const [name] = Object.keys(query);
  if (name === undefined) return { kind: 'json', bytes: body() };
  const message = `For a JSON body, ${name} must be in the body.`;
  throw refuseWithFindings('query', [{ severity: 'error', code: 'UNKNOWN_FIELD', message, path: name }]);
}
