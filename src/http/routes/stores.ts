import type { dataRoutes } from '#contract/data.js';
import { JSON_TYPE, type Route } from '#contract/route.js';
import type { overrideRoutes, storeRoutes } from '#contract/stores.js';
import { parseJson } from '#domain/base/json.js';
import { ImportHeader, TABLE_FORMATS } from '#domain/definition/datasets.js';
import type { Requester } from '#services/shared/gate.js';
import type { Data } from '#services/stores/data.js';
import type { ImportedBody } from '#services/stores/imports.js';
import type { PriceOverriding } from '#services/stores/price-overrides.js';
import type { Datasets } from '#services/stores/stores.js';
import { ARROW_TYPE, CSV_CONTENT_TYPE, CSV_TYPE } from '#views/formats/text.js';
import { formatReferenceCsv } from '#views/asset.js';
import { nameFile, toDocumentReply } from '../answers.js';
import type { OwnHandlers } from '../calls.js';
import { assertNoTerms, parseTerms, type Reply, type RouteRequest } from '../handler.js';

export function createDataHandlers(data: Data): OwnHandlers<typeof dataRoutes> {
  /** Reads from the version of the data that is current now, even if the data changes meanwhile. */
  async function readPinned<Q extends { readonly as_known_on?: string | undefined }>(
    query: Q,
    read: (query: Q) => Promise<Reply>,
  ): Promise<Reply> {
    const pins = await data.pin(query.as_known_on);
    return pins === undefined ? read(query) : { ...(await read({ ...query, as_known_on: pins.as_known_on })), pins };
  }

  return {
    getPrices: ({ params, query, media, signal }) =>
      readPinned(query, async (pinnedQuery) => {
        const bytes = await data.prices(params.identifier, pinnedQuery, FORMATS[media] ?? 'json', signal);
        return media === JSON_TYPE ? { bytes } : { bytes, type: media === CSV_TYPE ? CSV_CONTENT_TYPE : media };
      }),
    getAssetReference: ({ params, query }) =>
      readPinned(query, async (pinnedQuery) => ({ json: await data.reference(params.identifier, pinnedQuery) })),
    getAssetReferences: ({ query, media }) =>
      readPinned(query, async (pinnedQuery) => {
        const batch = await data.referenceBatch(pinnedQuery);
        return media === CSV_TYPE
          ? { bytes: new TextEncoder().encode(formatReferenceCsv(batch)), type: CSV_CONTENT_TYPE }
          : { json: batch };
      }),
    getCorporateActions: ({ params, query }) =>
      readPinned(query, async (pinnedQuery) => ({ json: await data.corporateActions(params.identifier, pinnedQuery) })),
  };
}

const FORMATS: Readonly<Record<string, 'csv' | 'arrow'>> = { [CSV_TYPE]: 'csv', [ARROW_TYPE]: 'arrow' };

export const createOverrideHandlers = (priceOverrides: PriceOverriding): OwnHandlers<typeof overrideRoutes> => ({
  overridePrice: async ({ params, body, authorship, origin }) => ({
    json: await priceOverrides.override(params.store_id, body(), { by: authorship(), origin }),
  }),
});

export function createDatasetHandlers(datasets: Datasets): OwnHandlers<typeof storeRoutes> {
  return {
    createStore: async (request) => ({
      json: await datasets.create(request.body(), createRequester(request), request.authorship()),
    }),
    async updateStore(request) {
      await datasets.get(request.params.store_id);
      const { params, body, precondition, authorship } = request;
      return toDocumentReply(await datasets.update(params.store_id, body(), precondition(), authorship()));
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
      return { bytes, type, headers: nameFile(name) };
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
    const header = parseTerms(ImportHeader, mappedRequest);
    const format = TABLE_FORMATS[table.media as keyof typeof TABLE_FORMATS]; // the route accepts no other media type
    return { kind: 'table', header, dataset, format, bytes: table.bytes };
  }
  assertNoTerms(query);
  return { kind: 'json', bytes: body() };
}
