import type { reportRoutes } from '#contract/reports.js';
import type { Reports, StoredTemplate } from '#services/reports/reports.js';
import type { Handlers, Reply } from '../handler.js';

export function reportHandlers(reports: Reports): Handlers<typeof reportRoutes> {
  return {
    async renderReport({ body, origin }) {
      const status = await reports.render(body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
    listRenders: async ({ query }) => ({ json: await reports.listRenders(query) }),
    async getRender({ params }) {
      const { fileName, length, etag, open } = await reports.getRender(params.render_id);
      return {
        stream: open(),
        length,
        etag,
        type: 'application/pdf',
        headers: { 'Content-Disposition': `inline; filename="${fileName}"` },
      };
    },
    async deleteRender({ params, precondition }) {
      await reports.removeRender(params.render_id, precondition());
      return {};
    },
    listTemplates: async ({ query }) => ({ json: await reports.listTemplates(query) }),
    getTemplate: async ({ params }) => templateReply(await reports.getTemplate(params.template_id)),
    async putTemplate({ params, body, precondition }) {
      const { saved, etag } = await reports.putTemplate(params.template_id, body(), precondition());
      return { json: saved, etag };
    },
    async deleteTemplate({ params, precondition }) {
      await reports.removeTemplate(params.template_id, precondition());
      return {};
    },
  };
}

function templateReply({ template, etag }: StoredTemplate): Reply {
  return { json: template, ...(etag === undefined ? {} : { etag }) };
}
