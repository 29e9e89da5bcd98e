import { expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import {
  createBuiltInTemplate,
  repeatTemplate,
  type ReportTemplateDocument,
} from '#domain/outputs/report-templates.js';
import type { Attempt } from '#jobs/port/job-kind.js';
import type { RenderOrder } from '#jobs/tasks/catalogue.js';
import type { RenderPayload } from '#domain/outputs/jobs.js';
import { createRenderJob } from '#services/reports/reports.js';
import type { DocumentStore } from '#store/port.js';
import { createTestContext } from '../context.js';

const template = createBuiltInTemplate('FACTSHEET-A4', 'CORE');
const payload: RenderPayload = { render_id: 'r', template, index_id: 'CORE' };
const createArtifact = (name: string) => ({ name, bytes: 1, sha256: 'x' });

const run = (version: number) => ({
  run_id: 'CORE',
  index_id: 'CORE',
  name: 'Core',
  run_at: null,
  start: '2024-01-02',
  end: '2024-01-03',
  run_hash: '',
  store_content_hash: '',
  extended_from: null,
  full_run_reason: null,
  engine_version: '0',
  request: {},
  artifacts: {
    result: createArtifact('result'),
    record: createArtifact('record'),
    overview: createArtifact(`overview-${version}`),
    columns: createArtifact(`columns-${version}`),
  },
});

interface World {
  /** Stored run at each look-up, or null after its deletion. The last value repeats. */
  readonly runs: readonly (object | null)[];
  readonly hasIndex?: boolean;
  /** Outcome of each attempt to draw. The last value repeats. */
  readonly draws: readonly ('unreadable' | 'drawn')[];
  /** Template of the report. Default: the factsheet of CORE. */
  readonly template?: ReportTemplateDocument;
}

async function render({ runs, hasIndex = true, draws, template: drawnTemplate = template }: World) {
  let lookedCount = 0;
  const drawnOrders: RenderOrder[] = [];
  const documents = {
    get(kind: string) {
      if (kind === 'run') {
        const body = runs[Math.min(lookedCount++, runs.length - 1)];
        return body === null ? undefined : { id: 'CORE', body, etag: '', updatedAt: '' };
      }
      return kind === 'index' && hasIndex ? { id: 'CORE', body: {}, etag: '', updatedAt: '' } : undefined;
    },
  } as unknown as DocumentStore;
  const attempt = {
    async compute(_: string, input: RenderOrder) {
      drawnOrders.push(input);
      if (draws[Math.min(drawnOrders.length, draws.length) - 1] === 'unreadable')
        throw new Refusal('DOCUMENT_UNREADABLE', 'The file is not there.');
      return { pdf: { name: input.outputs.pdf, bytes: 3, sha256: '' }, pages: 2 };
    },
    outputs: () => ({ pdf: 'pdf' }),
  } as unknown as Attempt;
  const context = createTestContext({
    jobs: { find: async () => undefined },
    documents,
    artifacts: { damaged: async () => new Set() },
    markets: { settled: async () => {} },
    states: {
      findStaleState: async () => null,
      findMarket: () => {
        throw new Error('not asked for');
      },
    },
    timestamp: () => '2026-11-20T03:05:40.123456+00:00',
  });
  const job = createRenderJob(context, 'Divisor 1.2.3+0123456789ab');
  return { completion: await job.run({ ...payload, template: drawnTemplate }, attempt), drawn: drawnOrders };
}

test('a render uses the latest run at its start, and is written with the end of its job', async () => {
  const { completion, drawn } = await render({ runs: [run(1)], draws: ['drawn'] });
  expect(drawn[0]).toMatchObject({
    runs: [
      {
        indexId: 'CORE',
        overview: { stored: { artifact: 'overview-1', sha256: 'x' } },
        columns: { artifact: 'columns-1' },
        market: null,
      },
    ],
    renderedAt: '2026-11-20T03:05:40.123456+00:00',
    creator: 'Divisor 1.2.3+0123456789ab',
  });
  expect(completion.result).toEqual({
    value: {
      render_id: 'r',
      template_id: 'FACTSHEET-A4',
      name: 'Factsheet',
      index_id: 'CORE',
      index_ids: ['CORE'],
      as_of: '2024-01-03',
      blocks: template.blocks.length,
      bytes: 3,
      rendered_at: '2026-11-20T03:05:40.123456+00:00',
      pages: 2,
    },
  });
  const writtenResults: unknown[] = [];
  await completion.effect!({
    put: async (kind: string, id: string, body: object) => writtenResults.push([kind, id, body]),
  } as never);
  expect(writtenResults).toMatchObject([['render', 'r', { render_id: 'r', artifact: { name: 'pdf' } }]]);
});

test('a report of several indices lists them, as of the earliest end of their runs', async () => {
  const several = repeatTemplate(createBuiltInTemplate('FACTSHEET-A4', null), ['CORE', 'WIDE']);
  const runs = [
    { ...run(1), end: '2024-01-05' },
    { ...run(1), run_id: 'WIDE', end: '2024-01-04' },
  ];
  const { completion } = await render({ runs, draws: ['drawn'], template: several });
  expect(completion.result).toMatchObject({ value: { index_ids: ['CORE', 'WIDE'], as_of: '2024-01-04' } });
});

test('a run that is replaced while it is read is read again', async () => {
  const { drawn } = await render({ runs: [run(1), run(2)], draws: ['unreadable', 'drawn'] });
  expect(drawn.map(({ runs }) => runs[0]!.columns.artifact)).toEqual(['columns-1', 'columns-2']);
});

test('a latest run with missing files fails the render', async () => {
  await expect(render({ runs: [run(1)], draws: ['unreadable'] })).rejects.toMatchObject({
    code: 'DOCUMENT_UNREADABLE',
  });
});

test('a run that is deleted before the render starts fails it; so does an index', async () => {
  await expect(render({ runs: [null], draws: ['drawn'] })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await expect(render({ runs: [null], hasIndex: false, draws: ['drawn'] })).rejects.toMatchObject({
    code: 'INDEX_DELETED',
  });
});

test('a run that is deleted while it is read fails the render with the reason', async () => {
  await expect(render({ runs: [run(1), null], draws: ['unreadable'] })).rejects.toMatchObject({
    code: 'RUN_NOT_FOUND',
  });
});
