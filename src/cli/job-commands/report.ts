import type { RenderJobStatus } from '#clients/typescript/divisor.js';
import type { JobCommand } from '../job-command.js';
import { members } from './fields.js';

type Render = NonNullable<RenderJobStatus['result']>;

export const report: JobCommand<Render> = {
  summary: 'Render a PDF report.',
  words: [{ name: 'TEMPLATE', help: 'A stored template or a built-in such as FACTSHEET-A4.' }],
  flags: { index: { type: 'string', value: 'ID', help: 'The index of a built-in template.' } },
  examples: ['divisor report FACTSHEET-A4 --index CORE-100 --out factsheet.pdf'],
  submit: async (client, [template_id = ''], flags) => ({
    job: await client.call('renderReport', { body: { template_id, index_id: flags.text('index') } }),
  }),
  show: (render) => members(render, ['render_id', 'template_id', 'name', 'blocks', 'bytes', 'rendered_at']),
  ending: '.pdf',
  file: (client, { render_id }) => client.call('getRender', { params: { render_id } }),
};
