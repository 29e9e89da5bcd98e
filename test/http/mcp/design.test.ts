import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITS } from '#domain/base/limits.js';
import { openLiveService, type LiveService } from '../../real/live.js';
import { openAgent, readError, readText, type Agent } from './agent.js';

let service: LiveService;
let agent: Agent;
beforeAll(async () => {
  service = await openLiveService();
  agent = await openAgent(service.url, { tools: 'all' });
});
afterAll(async () => {
  await agent.close();
  await service.close();
});

const RULEBOOK = `The index holds the 20 largest securities by free-float market capitalisation.
Constituents are weighted equally. The index is rebalanced quarterly, on the third Friday.
It starts on 2019-01-02 on the calendar XNYS with a value of 100 in USD.`;

const NUMBERS: Readonly<Record<string, string>> = { quarterly: 'quarterly', monthly: 'monthly' };

/** Returns the first definition of a careless agent. The number of constituents is in the wrong field. */
function findFirstDraft(rulebook: string) {
  const [, count] = /the (\d+) largest/.exec(rulebook)!;
  const [, frequency] = /rebalanced (\w+)/.exec(rulebook)!;
  const [, baseDate, calendar] = /starts on (\S+) on the calendar (\w+)/.exec(rulebook)!;
  return {
    id: 'TWENTY',
    name: 'Twenty largest',
    calendar,
    base_date: baseDate,
    currency: 'USD',
    rebalance: { frequency: NUMBERS[frequency!], anchor: 'third_friday' },
    pipeline: {
      selection: [{ id: 'size', type: 'TopN', params: { field: 'FREE_FLOAT_MARKET_CAP', number: Number(count) } }],
      weighting: { type: 'EqualWeight' },
    },
  };
}

interface Finding {
  readonly severity: string;
  readonly code: string;
  readonly path: string;
  readonly accepted?: readonly string[];
}
interface Job {
  readonly job_id: string;
  readonly status: string;
  readonly error: unknown;
  readonly result: Readonly<Record<string, unknown>>;
}

/** Waits for a job as an agent does: it calls the tool again while the job runs. */
async function waitForJobEnd(started: Job): Promise<Job> {
  let job = started;
  while (job.status === 'pending' || job.status === 'running')
    job = await agent.ok<Job>('waitForJob', { job_id: job.job_id, seconds: 50 });
  expect([job.status, job.error]).toEqual(['succeeded', null]);
  return job;
}

test('an agent designs an index from a rulebook, backtests it, explains its largest drawdown and renders a report', async () => {
  await waitForJobEnd(
    await agent.ok<Job>('generateSynthetic', {
      body: { store_id: 'market', assets: 60, start: '2018-01-02', end: '2021-12-31', seed: 7 },
    }),
  );

  // The findings contain the wrong parameter and the accepted parameters. So the agent can correct its definition.
  const draft = findFirstDraft(RULEBOOK);
  const report = await agent.ok<{ valid: boolean; findings: readonly Finding[] }>('validateIndex', { body: draft });
  expect(report.valid).toBe(false);
  const [fault] = report.findings.filter(({ severity }) => severity === 'error');
  expect(fault?.path).toContain('pipeline.selection[0].params');
  const { number, ...params } = draft.pipeline.selection[0]!.params;
  const correctedDraft = {
    ...draft,
    pipeline: {
      ...draft.pipeline,
      selection: [{ ...draft.pipeline.selection[0]!, params: { ...params, count: number } }],
    },
  };
  expect(await agent.ok('validateIndex', { body: correctedDraft })).toMatchObject({ valid: true });

  const { weights } = await agent.ok<{ weights: Readonly<Record<string, number>> }>('previewDocument', {
    body: { document: correctedDraft, as_of: '2021-06-18' },
  });
  expect(Object.values(weights)).toHaveLength(20);
  for (const weight of Object.values(weights)) expect(weight).toBeCloseTo(1 / 20, 12);

  await agent.ok('createIndex', { body: correctedDraft, change_note: 'from the rulebook' });
  await waitForJobEnd(await agent.ok<Job>('startBacktest', { index_id: 'TWENTY', body: {} }));

  // The contributions between peak and trough sum to the fall of the level.
  const { levels } = await agent.ok<{ levels: { index: readonly string[]; data: readonly number[] } }>('getLevels', {
    index_id: 'TWENTY',
    start: '2020-01-02',
    end: '2020-12-31',
  });
  const worst = computeLargestDrawdown(levels);
  const { contributions } = await agent.ok<{ contributions: readonly { contribution: number }[] }>('getAttribution', {
    index_id: 'TWENTY',
    start: worst.peak,
    end: worst.trough,
  });
  expect(contributions.reduce((sum, { contribution }) => sum + contribution, 0)).toBeCloseTo(worst.fall, 9);

  const render = await waitForJobEnd(
    await agent.ok<Job>('renderReport', { body: { index_id: 'TWENTY', template_id: 'FACTSHEET-A4' } }),
  );
  const { content } = await agent.call('getRender', { render_id: render.result['render_id'] });
  const link = content.find((each) => each.type === 'resource_link')!;
  const { contents } = await agent.client.readResource({ uri: link.uri });
  const [file] = contents as readonly { mimeType?: string; blob: string }[];
  expect([file!.mimeType, Buffer.from(file!.blob, 'base64').subarray(0, 5).toString()]).toEqual([
    'application/pdf',
    '%PDF-',
  ]);
});

test('a completed wait returns the figures of the job, and shortened series', async () => {
  const { result } = await agent.ok<Job>('waitForJob', { job_id: 'backtest:TWENTY' });
  expect(JSON.stringify(result).length).toBeLessThanOrEqual(LIMITS.MAX_TOOL_JOB_BYTES);
  const { metrics } = await agent.ok<Job['result']>('getOverview', { index_id: 'TWENTY' });
  expect(result['metrics']).toEqual(metrics);
  const { content } = await agent.call('waitForJob', { job_id: 'backtest:TWENTY' });
  const link = content.find((each) => each.type === 'resource_link') as { uri: string };
  expect(link.uri).toMatch(/^divisor:\/jobs\/backtest:TWENTY\?created_at=/);
  const { contents } = await agent.client.readResource({ uri: link.uri });
  const { body } = await service.ask<Job>('GET', '/jobs/backtest:TWENTY');
  expect((JSON.parse((contents[0] as { text: string }).text) as Job).result).toEqual(body.result);
});

/** Computes the largest drawdown by definition. It is the largest relative fall from a level to a later level. */
function computeLargestDrawdown({
  index,
  data,
}: {
  readonly index: readonly string[];
  readonly data: readonly number[];
}) {
  let worst = { fall: 0, peak: '', trough: '' };
  for (let i = 0; i < data.length; i++)
    for (let j = i + 1; j < data.length; j++) {
      const fall = data[j]! / data[i]! - 1;
      if (fall < worst.fall) worst = { fall, peak: index[i]!, trough: index[j]! };
    }
  return worst;
}

test('an error has the code of the service, a hint, and findings with their path', async () => {
  expect(readError(await agent.call('getIndex', { index_id: 'ABSENT' }))).toMatchObject({
    error: { code: 'INDEX_NOT_FOUND' },
    hint: expect.stringContaining('No index'),
  });
  const { error } = readError(await agent.call('createIndex', { body: { id: 'X', name: 5 } }));
  expect(error.code).toBe('VALIDATION_FAILED');
  const { findings } = error.detail as { readonly findings: readonly Finding[] };
  expect(findings.map(({ path }) => path)).toContain('name');
});

test('a long answer is shortened, states its length and links to the full answer', async () => {
  const { identifiers } = await agent.ok<{ identifiers: readonly { identifier: string }[] }>('searchIdentifiers', {
    limit: 1,
  });
  const result = await agent.call('getPrices', { identifier: identifiers[0]!.identifier, start: '2018-01-02' });
  expect(Buffer.byteLength(readText(result))).toBeLessThanOrEqual(50_000);
  const [, notice, link] = result.content;
  expect(notice?.type === 'text' && notice.text).toMatch(/has 10\d\d items/);
  const wholeAnswer = await service.ask('GET', (link as { uri: string }).uri.replace('divisor:', ''));
  const { contents } = await agent.client.readResource({ uri: (link as { uri: string }).uri });
  expect(JSON.parse((contents[0] as { text: string }).text)).toEqual(wholeAnswer.body);
  expect(JSON.stringify(wholeAnswer.body).length).toBeGreaterThan(50_000);
});
