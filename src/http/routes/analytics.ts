import type { analyticsRoutes } from '#contract/analytics/routes.js';
import type { ViewRoutes } from '#contract/analytics/run-view-questions.js';
import type { Analytics } from '#services/runs/analytics.js';
import type { BacktestBatches } from '#services/runs/backtest-batches.js';
import type { StoredBytes } from '#services/stored/stored-bytes.js';
import type { Handlers, Reply } from '../handler.js';
import { CSV_CONTENT_TYPE, CSV_TYPE } from '#views/csv-table.js';
import { readRunParameters } from '../run-parameters.js';
import { namesEtag } from '../reply.js';

/** Routes that are not views of one run. */
type OtherRoutes = Omit<typeof analyticsRoutes, keyof ViewRoutes<typeof analyticsRoutes>>;

export function createAnalyticsHandlers(analytics: Analytics, batches: BacktestBatches): Handlers<OtherRoutes> {
  return {
    async startBacktest({ params, body, origin }) {
      await analytics.assertSubject(params.index_id);
      const { if_stale: isIfStale, as_known_on: asKnownOn, ...requestTerms } = body();
      const request = isIfStale ? await analytics.onStoredTerms(params.index_id, requestTerms) : requestTerms;
      const terms = { request, asKnownOn };
      const current = isIfStale ? await analytics.currentRun(params.index_id, terms) : undefined;
      if (current) {
        const { open, length } = await analytics.readResult(current);
        return { status: 200, stream: await open(), length };
      }
      const status = await analytics.start(params.index_id, terms, origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
    async startBacktests({ body, origin }) {
      const { ids, if_stale: isIfStale, as_known_on: asKnownOn, ...request } = body();
      return { json: await batches.start({ ids, request, asKnownOn, isIfStale }, origin) };
    },
    listBacktests: async ({ query }) => ({ json: await analytics.list(query) }),
    async compareRuns({ query, media, signal }) {
      const isCsv = media === CSV_TYPE;
      const { bytes } = await analytics.compare(query.ids, { ...query, format: isCsv ? 'csv' : 'json' }, signal);
      return isCsv ? { bytes, type: CSV_CONTENT_TYPE } : { bytes };
    },
    async getRecord({ params, query, header }) {
      const { etag, read } = await analytics.record(readRunParameters({ params, query }));
      // If the client already has this version, the response is a 304 and the record is not written.
      return namesEtag(header('if-none-match'), etag) ? { bytes: NO_BYTES, etag } : readStoredReply(await read());
    },
    async deleteRecord({ params, precondition, authorship }) {
      await analytics.remove(params.index_id, precondition(), authorship());
      return {};
    },
    getOverview: (request) => analytics.overview(readRunParameters(request), request.signal),
  };
}

const NO_BYTES = new Uint8Array(0);

/** Streams bytes that are stored with the run. */
async function readStoredReply({ length, etag, open }: StoredBytes): Promise<Reply> {
  return { stream: await open(), length, etag };
}
