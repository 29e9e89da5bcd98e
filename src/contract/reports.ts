import { z } from 'zod';
import { defineObject, Id } from '#domain/base/schema.js';
import { createBuiltInTemplate, ReportTemplateDocument } from '#domain/outputs/report-templates.js';
import { FindingPayload, listingQuery, purgeQuery, skippedFields } from './payloads.js';
import { createJobStatus } from './jobs.js';
import { defineRoutes } from './route.js';
import { RunKey } from './run.js';

/**
 * Maximum number of indices in a report. A desk's watchlist has about this size. With two pages per index, the report
 * stays below the maximum number of pages.
 */
const REPORT_INDICES_MAX = 50;

export const RenderRequest = defineObject(() => ({
  template_id: Id.meta({
    description: 'Id of a stored template, or of a built-in template such as FACTSHEET-A4.',
    example: 'FACTSHEET-A4',
  }),
  index_id: Id.nullable().default(null).meta({
    description:
      'Index or strategy whose latest run is shown by the blocks without an `index_id`, and by all blocks of a built-in template. Ignored if every block of a stored template has an `index_id`.',
  }),
  index_ids: z.array(Id).min(1).max(REPORT_INDICES_MAX).nullable().default(null).meta({
    description: 'Several indices in one document, each on a new page. Replaces index_id.',
  }),
  run_ids: z.record(Id, RunKey).nullable().default(null).meta({
    description: 'Run of each index or strategy of the report. Default: the newest run.',
  }),
  template: ReportTemplateDocument.nullable().default(null).meta({
    description:
      'Template that is rendered instead of the stored one, to preview changes before they are stored. Its template_id must be that of the request.',
  }),
})).meta({ id: 'RenderRequest' });
export type RenderRequest = z.infer<typeof RenderRequest>;

export const RenderResult = defineObject(() => ({
  render_id: z.string().meta({ description: 'GET /reports/renders/{render_id} returns the PDF.' }),
  template_id: z.string(),
  name: z.string(),
  index_id: z
    .string()
    .nullable()
    .meta({ description: 'Requested index. Null for several indices, and for a template whose blocks have an index.' }),
  index_ids: z.array(z.string()).optional().meta({
    description: 'Indices and strategies that the report shows. Absent in reports of earlier versions.',
  }),
  as_of: z.string().optional().meta({
    description:
      'Last date of the runs that the report shows; the earliest of these dates if they differ. Absent without a run, and in reports of earlier versions.',
  }),
  blocks: z.int().min(0),
  bytes: z.int().min(0).meta({ description: 'Size of the rendered document.' }),
  rendered_at: z.string().meta({
    description: 'Time of the rendering, ISO-8601 UTC with offset. It is not a date of the content.',
  }),
  pages: z.int().min(1),
  file_name: z.string().optional().meta({
    description:
      'Name of the file: template, first index and as-of date, and the id if an earlier render has this name. Only in listings.',
  }),
})).meta({ id: 'RenderResult' });
export type RenderResult = z.infer<typeof RenderResult>;

export const RenderJobStatus = createJobStatus('RenderJobStatus', 'render', RenderResult);

export const RenderCollection = defineObject(() => ({
  renders: z.array(RenderResult).meta({ description: 'Finished renders, newest first.' }),
  total: z.int().min(0).meta({ description: 'Number of renders that match, on all pages.' }),
  ...skippedFields,
})).meta({ id: 'RenderCollection' });
export type RenderCollection = z.infer<typeof RenderCollection>;

export const SavedReportTemplate = defineObject(() => ({
  ...ReportTemplateDocument.shape,
  findings: z
    .array(FindingPayload)
    .optional()
    .meta({ description: 'Warnings that did not prevent the save. Absent if there are none.' }),
})).meta({ id: 'SavedReportTemplate' });
export type SavedReportTemplate = z.infer<typeof SavedReportTemplate>;

export const ReportTemplateCollection = defineObject(() => ({
  templates: z.array(ReportTemplateDocument).meta({ description: 'Stored templates by id.' }),
  built_in: z
    .array(z.string())
    .meta({ description: 'Templates that are generated from a run. They cannot be edited.' }),
  ...skippedFields,
})).meta({ id: 'ReportTemplateCollection' });
export type ReportTemplateCollection = z.infer<typeof ReportTemplateCollection>;

const templatePath = defineObject(() => ({ template_id: Id }));
const renderPath = defineObject(() => ({ render_id: Id }));

const example = {
  template_id: 'MONTHLY',
  name: 'Monthly report',
  page: { size: 'A4', margin: 48 },
  blocks: [
    { kind: 'header', subtitle: 'Monthly report', index_id: 'LARGE-100' },
    { kind: 'stat_grid', index_id: 'LARGE-100', stats: ['total_return', 'volatility', 'sharpe_ratio', 'max_drawdown'] },
    { kind: 'chart', title: 'Performance', index_id: 'LARGE-100', lines: ['level', 'benchmark'] },
    { kind: 'text', text: 'Reviewed **quarterly**.' },
  ],
};

export const reportRoutes = defineRoutes('reports', {
  renderReport: {
    method: 'POST',
    path: '/reports/render',
    call: 'reports.render',
    scope: 'run',
    summary: 'Renders a template as a PDF, as a job.',
    description:
      'Invalid requests are refused before the job is queued: an unknown template, a missing index, an index without a run, a template without blocks. A template in the request is rendered and not stored.',
    body: { schema: RenderRequest, example: { template_id: 'FACTSHEET-A4', index_id: 'LARGE-100' } },
    success: { status: 202, description: 'The job; see Location.', schema: RenderJobStatus },
    errors: [
      'TEMPLATE_NOT_FOUND',
      'TEMPLATE_EMPTY',
      'TEMPLATE_BUILT_IN',
      'ID_MISMATCH',
      'INDEX_REQUIRED',
      'INDEX_NOT_FOUND',
      'RUN_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
    ],
  },
  listRenders: {
    method: 'GET',
    path: '/reports/renders',
    call: 'reports.listRenders',
    scope: 'read',
    summary: 'Finished renders, newest first.',
    query: defineObject(() => ({
      index_id: Id.optional().meta({ description: 'Only renders of this index.' }),
      template_id: Id.optional().meta({ description: 'Only renders of this template.' }),
      limit: z.int().min(1).max(1000).default(100).meta({ description: 'Maximum number of renders.' }),
      before: Id.optional().meta({ description: 'Only renders older than this render, for the next page.' }),
    })),
    success: { status: 200, description: 'The renders.', schema: RenderCollection },
  },
  getRender: {
    method: 'GET',
    path: '/reports/renders/{render_id}',
    scope: 'read',
    summary: 'Returns a rendered report.',
    params: renderPath,
    success: { status: 200, description: 'The PDF.', media: ['application/pdf'] },
    errors: ['RENDER_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  deleteRender: {
    method: 'DELETE',
    path: '/reports/renders/{render_id}',
    call: 'reports.removeRender',
    scope: 'write',
    summary: 'Deletes a rendered report.',
    params: renderPath,
    versioned: true,
    success: { status: 204, description: 'Deleted.' },
    errors: ['RENDER_NOT_FOUND'],
  },
  listTemplates: {
    method: 'GET',
    path: '/reports/templates',
    call: 'reports.listTemplates',
    scope: 'read',
    summary: 'Lists the stored report templates, and the ids of the built-in templates.',
    query: listingQuery,
    success: { status: 200, description: 'The templates by id.', schema: ReportTemplateCollection },
  },
  getTemplate: {
    method: 'GET',
    path: '/reports/templates/{template_id}',
    scope: 'read',
    summary: 'Returns a report template, in the form that PUT accepts.',
    description:
      'A built-in template is returned as the document that it generates, without an index. You can use it as the start of a new template.',
    params: templatePath,
    success: { status: 200, description: 'The document.', schema: ReportTemplateDocument },
    errors: ['TEMPLATE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putTemplate: {
    method: 'PUT',
    path: '/reports/templates/{template_id}',
    call: 'reports.putTemplate',
    scope: 'write',
    summary: 'Stores or replaces a report template.',
    versioned: true,
    params: templatePath,
    body: { schema: ReportTemplateDocument, document: true, example },
    success: {
      status: 200,
      description: 'The stored document.',
      schema: SavedReportTemplate,
      get example() {
        return { ...createBuiltInTemplate('REBALANCE-A4', 'LARGE-100'), template_id: 'MONTHLY' };
      },
    },
    errors: ['TEMPLATE_BUILT_IN', 'ID_MISMATCH'],
  },
  deleteTemplate: {
    method: 'DELETE',
    path: '/reports/templates/{template_id}',
    call: 'reports.removeTemplate',
    scope: 'write',
    summary: 'Deletes a report template. Its rendered reports are kept.',
    versioned: true,
    params: templatePath,
    query: purgeQuery,
    success: { status: 204, description: 'Deleted.' },
    errors: ['TEMPLATE_NOT_FOUND', 'TEMPLATE_BUILT_IN'],
  },
});
