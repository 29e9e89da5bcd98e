import type { batchRoutes } from '#contract/batches.js';
import type { Batches } from '#services/personal/batches.js';
import type { Handlers } from '../handler.js';

export function batchHandlers(batches: Batches): Handlers<typeof batchRoutes> {
  return {
    async startBatch({ body, upload, origin }) {
      const file = upload();
      const request = file === undefined ? body() : batches.requestFrom(await join(file.bytes));
      const status = await batches.start(request, origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
    getBatchAccounts: async ({ params, query }) => ({ bytes: await batches.accounts(params.batch_id, query.block) }),
    getBatchCommon: async ({ params }) => ({ bytes: await batches.common(params.batch_id) }),
  };
}

/** Joins the chunks of an upload, whose size the route limits. */
async function join(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}
