import type { batchRoutes } from '#contract/batches.js';
import type { optimiseRoutes } from '#contract/optimise.js';
import type { riskModelImportRoutes, riskModelRoutes } from '#contract/risk-models.js';
import type { studyRoutes } from '#contract/studies.js';
import { createAccountTemplate } from '#domain/personal/account-table.js';
import { ImportTerms, MODEL_FILES } from '#domain/risk/risk-models.js';
import type { Indices } from '#services/indices/indices.js';
import type { Batches, BatchResults } from '#services/optimise/batches.js';
import type { Optimise } from '#services/optimise/optimisations.js';
import type { Studies } from '#services/optimise/studies.js';
import type { ImportedModelBody, RiskModelImports } from '#services/risk/estimation.js';
import type { RiskModels } from '#services/risk/models.js';
import { ARROW_TYPE, CSV_CONTENT_TYPE } from '#views/formats/text.js';
import { nameFile, parseExportFormat, toDocumentReply, toJobReply, toFileReply } from '../answers.js';
import type { OwnHandlers } from '../calls.js';
import { assertNoTerms, parseTerms, type RouteRequest } from '../handler.js';

export function createBatchHandlers(batches: Batches, results: BatchResults): OwnHandlers<typeof batchRoutes> {
  return {
    listBatches: async ({ query }) => ({ json: { batches: await results.list(query.limit) } }),
    async startBatch({ body, lines, upload, query, origin }) {
      const file = upload();
      return toJobReply(
        await (file === undefined
          ? batches.start(body(), lines(), origin)
          : batches.startUpload(file, { terms: query.terms, batchId: query.batch_id }, origin)),
      );
    },
    async getBatchAccounts({ params: { batch_id: batchId }, query: { block, table }, media }) {
      const format = parseExportFormat(media);
      if (format === 'json') return { bytes: await results.accounts({ batchId, block }) };
      const bytes = await results.table({ batchId, block, table, format });
      return toFileReply(`${batchId}_${table}_${block}`, format, { bytes });
    },
    getBatchTemplate: () => ({
      text: createAccountTemplate(),
      type: CSV_CONTENT_TYPE,
      headers: nameFile('accounts.csv'),
    }),
  };
}

export function createOptimiseHandlers(
  optimise: Optimise,
  indices: Pick<Indices, 'derive'>,
): OwnHandlers<typeof optimiseRoutes> {
  return {
    async getConstraintSet({ params }) {
      const { set, etag } = await optimise.getSet(params.constraint_set_id);
      return { json: set, etag };
    },
    async getOptimisation({ params }) {
      const { length, etag, open } = await optimise.result(params.run_id);
      return { stream: await open(), length, etag };
    },
    optimiseIndex: async ({ params, body, authorship }) =>
      toDocumentReply(await indices.derive(params.index_id, body, authorship())),
  };
}

export function createRiskModelHandlers(
  riskModels: RiskModels,
  imports: RiskModelImports,
): OwnHandlers<typeof riskModelRoutes & typeof riskModelImportRoutes> {
  return {
    async getRiskModel({ params, query, media, signal }) {
      const model = await riskModels.get(params.model_id, query.date);
      if (media !== ARROW_TYPE) return { stream: model.json(signal), etag: model.etag };
      const { bytes } = await model.arrow(signal);
      return { bytes, type: ARROW_TYPE, etag: `${model.etag}-arrow` };
    },
    async exportRiskModel({ params, signal }) {
      const { etag, json } = await riskModels.exported(params.model_id, signal);
      return { stream: json, etag: `${etag}-export` };
    },
    importRiskModel: async (request) => ({
      json: await imports.importModel(request.params.model_id, parseImport(request), {
        asker: { client: request.principal.keyId, signal: request.signal },
        by: request.authorship(),
      }),
    }),
  };
}

/**
 * Parses the body of an import. It is complete JSON, or a file with further values in the query. @throws Refusal
 * VALIDATION_FAILED
 */
function parseImport({
  query,
  body,
  upload,
}: RouteRequest<(typeof riskModelImportRoutes)['importRiskModel']>): ImportedModelBody {
  const file = upload();
  // Every route on a store has this member; the request already runs on the store.
  const { date, store_id: _storeId, ...asked } = query as typeof query & { readonly store_id?: string };
  if (file !== undefined) {
    const terms = parseTerms(ImportTerms, asked);
    const format = MODEL_FILES[file.media as keyof typeof MODEL_FILES]; // the route accepts no other media type
    return { kind: 'file', format, terms, date: date ?? null, bytes: file.bytes };
  }
  assertNoTerms({ ...asked, ...(date === undefined ? {} : { date }) });
  return { kind: 'json', bytes: body() };
}

export function createStudyHandlers(studies: Studies): OwnHandlers<typeof studyRoutes> {
  return {
    startStudy: async ({ body, lines, origin }) => toJobReply(await studies.start(body(), lines(), origin)),
  };
}
