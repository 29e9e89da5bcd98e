import type { riskModelRoutes } from '#contract/risk-models.js';
import type { riskModelImportRoutes } from '#contract/risk-model-imports.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { ImportTerms, MODEL_FILES } from '#domain/risk/imported/import-terms.js';
import { checkShape } from '#domain/schema/shape.js';
import type { ImportedModelBody, RiskModelImports } from '#services/risk/import-risk-model.js';
import type { RiskModels } from '#services/risk/risk-models.js';
import { ARROW_TYPE } from '#views/arrow-type.js';
import type { Handlers, RouteRequest } from '../handler.js';

export function createRiskModelHandlers(
  riskModels: RiskModels,
  imports: RiskModelImports,
): Handlers<typeof riskModelRoutes & typeof riskModelImportRoutes> {
  return {
    listRiskModels: async ({ query }) => ({ json: await riskModels.list(query) }),
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
    async estimateRiskModel({ params, body, origin }) {
      const status = await riskModels.estimate(params.model_id, body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
    async validateRiskModel({ params, body, origin }) {
      const status = await riskModels.validate(params.model_id, body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
    async deleteRiskModel({ params, precondition, authorship }) {
      await riskModels.remove(params.model_id, precondition(), authorship());
      return {};
    },
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
    const { value: terms, findings } = checkShape(ImportTerms, asked);
    if (terms === undefined) throw refuseWithFindings('query', findings);
    const format = MODEL_FILES[file.media as keyof typeof MODEL_FILES]; // the route accepts no other media type
    return { kind: 'file', format, terms, date: date ?? null, bytes: file.bytes };
  }
  const [name] = Object.keys({ ...asked, ...(date === undefined ? {} : { date }) });
  if (name === undefined) return { kind: 'json', bytes: body() };
  const message = `For a JSON body, ${name} must be in the body.`;
  throw refuseWithFindings('query', [{ severity: 'error', code: 'UNKNOWN_FIELD', message, path: name }]);
}
