import type { reportRoutes } from '#contract/reports.js';
import type { StoredTemplate } from '#services/reports/report-templates.js';
import type { Reports } from '#services/reports/reports.js';
import type { Handlers, Reply } from '../handler.js';
import type { Removals } from '../removals.js';

export function createReportHandlers(reports: Reports, removals: Removals): Handlers<typeof reportRoutes> {
  return {
    async renderReport({ body, origin }) {
      const status = await reports.render(body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
    listRenders: async ({ query }) => ({ json: await reports.listRenders(query) }),
    async getRender({ params }) {
      const { fileName, length, etag, open } = await reports.getRender(params.render_id);
      return {
        stream: await open(),
        length,
        etag,
        type: 'application/pdf',
        headers: { 'Content-Disposition': `inline; filename="${fileName}"` },
      };
    },
    async deleteRender({ params, precondition, authorship }) {
      await reports.removeRender(params.render_id, precondition(), authorship());
      return {};
    },
    listTemplates: async ({ query }) => ({ json: await reports.listTemplates(query) }),
    getTemplate: async ({ params }) => toTemplateReply(await reports.getTemplate(params.template_id)),
    async putTemplate({ params, body, precondition, authorship }) {
      const { saved, etag } = await reports.putTemplate(params.template_id, body(), precondition(), authorship());
      return { json: saved, etag };
    },
    async deleteTemplate(request) {
      const id = request.params.template_id;
      const removal = await removals.of(request, { kind: 'template', id });
      if (!('purgedRuns' in removal)) await reports.removeTemplate(id, request.precondition(), removal);
      return {};
    },
  };
}

function toTemplateReply({ template, etag }: StoredTemplate): Reply {
  return { json: template, ...(etag === undefined ? {} : { etag }) };
}
