import { parseValidDay } from '#domain/time/days.js';
import { findTextInEffect } from '#domain/documents/amended-texts.js';
import type { indexRoutes } from '#contract/indices/routes.js';
import { EXPORT_FORMATS } from '#domain/exports/formats.js';
import type { IndexDeletion } from '#contract/indices/definition.js';
import type { PurgedDocument } from '#services/history/versions.js';
import type { DatapointQuestions } from '#services/indices/datapoint-questions.js';
import type { IndexQuestions } from '#services/indices/index-questions.js';
import type { MethodologyTemplates } from '#services/indices/methodology-templates.js';
import type { Indices } from '#services/indices/indices.js';
import { getContentType, parseExportFormat } from '../export-format.js';
import type { Handlers } from '../handler.js';
import type { Removals } from '../removals.js';

export function createIndexHandlers(
  indices: Indices,
  questions: IndexQuestions,
  datapoints: DatapointQuestions,
  templates: MethodologyTemplates,
  removals: Removals,
): Handlers<typeof indexRoutes> {
  return {
    listIndices: async ({ query }) => ({ json: await indices.list(query) }),
    async createIndex({ body, authorship }) {
      const { saved, etag } = await indices.create(body(), authorship());
      return { json: saved, etag };
    },
    listRuleTypes: () => ({ json: indices.ruleTypes() }),
    listOverlayTypes: () => ({ json: indices.overlayTypes() }),
    listMethodologyTemplates: async () => ({ json: await templates.list() }),
    getMethodologyTemplate: async ({ params, query }) => ({
      json: await templates.get(params.methodology_id, query),
    }),
    getMethodologyTemplateLevel: async ({ params, signal }) => ({
      json: await templates.level(params.methodology_id, signal),
    }),
    validateIndex: async ({ body }) => ({ json: await indices.validate(body()) }),
    evaluateDatapoint: async ({ body, signal }) => ({ json: await datapoints.evaluate(body(), signal) }),
    previewDocument: async ({ body, signal }) => ({ bytes: await questions.previewDocument(body(), signal) }),
    sketchLevel: async ({ body, signal }) => ({ json: await questions.sketchLevel(body(), signal) }),
    whatIf: async ({ body, signal }) => ({ bytes: await questions.whatIf(body(), signal) }),
    async getIndex({ params, query }) {
      const { document, etag } = await indices.get(params.index_id);
      if (query.on === undefined) return { json: document, etag };
      return { json: findTextInEffect(document, parseValidDay(query.on)).document };
    },
    async putIndex({ params, body, precondition, authorship }) {
      const { saved, etag } = await indices.replace(params.index_id, body(), precondition(), authorship());
      return { json: saved, etag };
    },
    async deleteIndex(request) {
      const { params, precondition } = request;
      const removal = await removals.of(request, { kind: 'index', id: params.index_id });
      if ('purgedRuns' in removal) return { json: { deleted: selectPurged(params.index_id, removal) } };
      return { json: await indices.remove(params.index_id, precondition(), removal) };
    },
    previewIndex: async ({ params, body, signal }) => ({
      bytes: await questions.previewStored(params.index_id, body, signal),
    }),
    explainName: async ({ params, query, signal }) => ({
      bytes: await questions.explain(
        { indexId: params.index_id, identifier: params.identifier, asOf: query.as_of, runId: query.run_id },
        signal,
      ),
    }),
    async packRebalance({ params, media, body, signal }) {
      const format = parseExportFormat(media);
      const bytes = await questions.rebalancePack(params.index_id, { request: body(), format }, signal);
      if (format === 'json') return { bytes };
      const file = `${params.index_id}-orders.${EXPORT_FORMATS[format].extension}`;
      const headers = { 'Content-Disposition': `attachment; filename="${file}"` };
      return { bytes, type: getContentType(format), headers };
    },
    getMethodology: async ({ params }) => ({ json: await questions.methodology(params.index_id) }),
  };
}

/** Returns the deletion of an index that was already deleted before, if this purge removed its published runs. */
function selectPurged(index_id: string, { purgedRuns: runs }: PurgedDocument): IndexDeletion['deleted'] {
  if (runs === 0) return [];
  return [{ index_id, backtest_record_deleted: true, backtest_results_deleted: runs, derived_from: null }];
}
