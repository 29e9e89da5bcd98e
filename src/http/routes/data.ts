import type { BatchReferenceResponse, dataRoutes } from '#contract/data.js';
import { JSON_TYPE } from '#contract/media-formats.js';
import type { Data } from '#services/data/data.js';
import { ARROW_TYPE } from '#views/arrow-type.js';
import { CSV_CONTENT_TYPE, CSV_TYPE, formatCsvTable } from '#views/csv-table.js';
import type { Handlers } from '../handler.js';

export function createDataHandlers(data: Data): Handlers<typeof dataRoutes> {
  return {
    async getPrices({ params, query, media, signal }) {
      const bytes = await data.prices(params.identifier, query, FORMATS[media] ?? 'json', signal);
      return media === JSON_TYPE ? { bytes } : { bytes, type: media === CSV_TYPE ? CSV_CONTENT_TYPE : media };
    },
    getAssetReference: async ({ params, query }) => ({ json: await data.reference(params.identifier, query) }),
    async getAssetReferences({ query, media }) {
      const batch = await data.referenceBatch(query);
      return media === CSV_TYPE
        ? { bytes: new TextEncoder().encode(formatReferenceCsv(batch)), type: CSV_CONTENT_TYPE }
        : { json: batch };
    },
    getCorporateActions: async ({ params, query }) => ({ json: await data.corporateActions(params.identifier, query) }),
    getCoverage: async () => ({ json: await data.coverage() }),
    getCoverageHistory: async ({ signal }) => ({ bytes: await data.coverageHistory(signal) }),
    getDataSource: () => ({ json: data.source() }),
    listFields: () => ({ json: data.fields() }),
    listSeries: ({ query }) => ({ json: data.series(query) }),
    searchIdentifiers: ({ query }) => ({ json: data.search(query) }),
  };
}

const FORMATS: Readonly<Record<string, 'csv' | 'arrow'>> = { [CSV_TYPE]: 'csv', [ARROW_TYPE]: 'arrow' };

/** Formats one CSV row per security. The value is empty if the store has no value. */
function formatReferenceCsv({ entries }: BatchReferenceResponse): string {
  const names = [...new Set(entries.flatMap(({ fields }) => Object.keys(fields)))];
  const rows = entries.map(({ identifier, found, fields }) => [
    identifier,
    found,
    ...names.map((name) => toCell(fields[name])),
  ]);
  return formatCsvTable(['identifier', 'found', ...names], rows);
}

function toCell(value: unknown): string | number | boolean | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'object' ? JSON.stringify(value) : (value as string | number | boolean); // other values do not occur in JSON
}
