import type { batchRoutes } from '#contract/batches.js';
import { createAccountTemplate } from '#domain/personal/account-template.js';
import { EXPORT_FORMATS } from '#domain/exports/formats.js';
import type { Batches } from '#services/personal/batches.js';
import type { BatchResults } from '#services/personal/batch-results.js';
import { getContentType, parseExportFormat } from '../export-format.js';
import type { Handlers } from '../handler.js';

export function createBatchHandlers(batches: Batches, results: BatchResults): Handlers<typeof batchRoutes> {
  return {
    listBatches: async ({ query }) => ({ json: { batches: await results.list(query.limit) } }),
    async startBatch({ body, upload, query, origin }) {
      const file = upload();
      const status = await (file === undefined
        ? batches.start(body(), origin)
        : batches.startUpload(file, { terms: query.terms, batchId: query.batch_id }, origin));
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
    async getBatchAccounts({ params: { batch_id: batchId }, query: { block, table }, media }) {
      const format = parseExportFormat(media);
      if (format === 'json') return { bytes: await results.accounts({ batchId, block }) };
      const name = `${batchId}_${table}_${block}.${EXPORT_FORMATS[format].extension}`;
      return {
        bytes: await results.table({ batchId, block, table, format }),
        type: getContentType(format),
        headers: { 'Content-Disposition': `attachment; filename="${name}"` },
      };
    },
    getBatchTemplate: () => ({
      text: createAccountTemplate(),
      type: 'text/csv; charset=utf-8',
      headers: { 'Content-Disposition': 'attachment; filename="accounts.csv"' },
    }),
    getBatchCommon: async ({ params }) => ({ bytes: await results.common(params.batch_id) }),
  };
}
