import type { dataRoutes } from '#contract/data.js';
import type { Data } from '#services/data/data.js';
import { ARROW_TYPE } from '#views/arrow-type.js';
import type { Handlers } from '../handler.js';

export function dataHandlers(data: Data): Handlers<typeof dataRoutes> {
  return {
    async getPrices({ params, query, accepts, signal }) {
      const isArrow = accepts(ARROW_TYPE);
      const bytes = await data.prices(params.identifier, query, isArrow ? 'arrow' : 'json', signal);
      return isArrow ? { bytes, type: ARROW_TYPE } : { bytes };
    },
    getAssetReference: ({ params, query }) => ({ json: data.reference(params.identifier, query) }),
    getAssetReferences: ({ query }) => ({ json: data.referenceBatch(query) }),
    getCorporateActions: ({ params, query }) => ({ json: data.corporateActions(params.identifier, query) }),
    getCoverage: async () => ({ json: await data.coverage() }),
    getCoverageHistory: async ({ signal }) => ({ bytes: await data.coverageHistory(signal) }),
    getDataSource: () => ({ json: data.source() }),
    listFields: () => ({ json: data.fields() }),
    listSeries: ({ query }) => ({ json: data.series(query) }),
    searchIdentifiers: ({ query }) => ({ json: data.search(query) }),
  };
}
