import type { accessRoutes } from '#contract/access.js';
import type { Access } from '#services/operations/access.js';
import type { Handlers } from '../handler.js';

export function createAccessHandlers(access: Pick<Access, 'read' | 'share'>): Handlers<typeof accessRoutes> {
  return {
    getAccess: async ({ params }) => ({ json: await access.read({ kind: params.kind, id: params.document_id }) }),
    async putAccess(request) {
      const { params, body, authorship } = request;
      const subject = { kind: params.kind, id: params.document_id };
      await access.read(subject);
      return { json: await access.share(subject, body().shared_with, authorship()) };
    },
  };
}
