import type { RenderJobStatus } from '#clients/typescript/divisor.js';
import type { JobCommand } from '../job-command.js';
import { UsageError } from '../usage-error.js';
import { formatMembers } from './fields.js';

type Render = NonNullable<RenderJobStatus['result']>;

export const report: JobCommand<Render> = {
  summary: 'Render a PDF report.',
  words: [{ name: 'TEMPLATE', help: 'Id of a stored template, or of a built-in template such as FACTSHEET-A4.' }],
  flags: {
    index: {
      type: 'string',
      value: 'ID',
      help: 'Index of the blocks without an index (all blocks of a built-in template). For several indices in one document, separate the ids by commas.',
    },
    'run-id': {
      type: 'string',
      value: 'RUN',
      help: 'With --index, the id of an earlier run. Default: the newest run.',
    },
  },
  examples: [
    'divisor report FACTSHEET-A4 --index CORE-100 --out factsheet.pdf',
    'divisor report FACTSHEET-A4 --index CORE-100,EVEN-100 --out watched.pdf',
  ],
  async submit(client, [template_id = ''], flags) {
    const [index, run] = [flags.text('index'), flags.text('run-id')];
    if (run !== undefined && index === undefined) throw new UsageError('--run-id requires --index ID');
    const ids = index?.split(',') ?? [];
    if (ids.length > 1 && run !== undefined) throw new UsageError('--run-id requires --index with one ID');
    const subject = ids.length > 1 ? { index_ids: ids } : { index_id: index };
    const runs = index === undefined || run === undefined ? {} : { run_ids: { [index]: run } };
    return { job: await client.call('renderReport', { body: { template_id, ...subject, ...runs } }) };
  },
  show: (render) => formatMembers(render, ['render_id', 'template_id', 'name', 'blocks', 'bytes', 'rendered_at']),
  ending: '.pdf',
  file: (client, { render_id }) => client.call('getRender', { params: { render_id } }),
};
