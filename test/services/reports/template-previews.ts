import { describe, expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { readPdf } from '../../views/report/read-pdf.js';
import type { RunningService } from '../running-service.js';

interface Preview {
  readonly render_id: string;
  readonly template_id: string;
  readonly name: string;
  readonly blocks: number;
}

const BLOCKS = [
  { kind: 'header', index_id: 'RUN' },
  { kind: 'stat_grid', index_id: 'RUN' },
];

const createTemplate = (id: string, rest: object = {}) => ({
  template_id: id,
  name: 'Monthly',
  blocks: BLOCKS,
  ...rest,
});

/** Tests templates in requests for reports. The service has a run of the index RUN. */
export function describeTemplatePreviews(service: () => RunningService): void {
  async function renderToEnd(request: object): Promise<Preview> {
    const { status, body } = await service().ask<JobStatus>('POST', '/reports/render', request);
    expect(status, JSON.stringify(body)).toBe(202);
    const job = await service().waitForJob(body.job_id);
    expect(job.error).toBeNull();
    return job.result as Preview;
  }

  describe('a template in the request', () => {
    test('is rendered instead of the stored one, with its defaults, and is not stored', async () => {
      await service().ask('PUT', '/reports/templates/DRAFT', createTemplate('DRAFT'));
      const draft = createTemplate('DRAFT', { name: 'Changed', blocks: [...BLOCKS, { kind: 'text', text: 'Added.' }] });
      const result = await renderToEnd({ template_id: 'DRAFT', template: draft });
      expect(result).toMatchObject({ template_id: 'DRAFT', name: 'Changed', blocks: 3 });
      const bytes = await (await service().download(`/reports/renders/${result.render_id}`)).arrayBuffer();
      const { text } = readPdf(new Uint8Array(bytes));
      expect(text).toContain('Added.');
      expect((await service().ask('GET', '/reports/templates/DRAFT')).body).toMatchObject({ name: 'Monthly' });
      await renderToEnd({ template_id: 'UNSTORED', template: createTemplate('UNSTORED') });
      expect((await service().ask('GET', '/reports/templates/UNSTORED')).status).toBe(404);
    });

    test.each([
      ['another id', createTemplate('OTHER'), 422, 'ID_MISMATCH', 'template.template_id'],
      ['no blocks', createTemplate('DRAFT', { blocks: [] }), 409, 'TEMPLATE_EMPTY', undefined],
      [
        'an unknown kind of block',
        createTemplate('DRAFT', { blocks: [{ kind: 'pie' }] }),
        422,
        'VALIDATION_FAILED',
        'template.blocks[0].kind',
      ],
      ['a text', 'DRAFT', 422, 'VALIDATION_FAILED', 'template'],
    ])('with %s is refused', async (_, template, status, code, path) => {
      const refusal = await service().refusal('POST', '/reports/render', { template_id: 'DRAFT', template });
      expect(refusal).toMatchObject({ status, code });
      if (path !== undefined) expect(JSON.stringify(refusal)).toContain(`"path":"${path}"`);
    });

    test('of a built-in template is refused', async () => {
      const request = { template_id: 'FACTSHEET-A4', template: createTemplate('FACTSHEET-A4') };
      expect(await service().refusal('POST', '/reports/render', request)).toMatchObject({
        status: 422,
        code: 'TEMPLATE_BUILT_IN',
      });
    });
  });
}
