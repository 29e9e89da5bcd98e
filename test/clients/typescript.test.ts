import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createDivisorClient,
  DivisorError,
  UnreachableError,
  type AnyJob,
  type DivisorClient,
} from '#clients/typescript/divisor.js';
import { openLiveService, type LiveService } from '../real/live.js';
import { generateClientSources } from './sources.js';

test.each(Object.entries(generateClientSources()))(
  '%s is built from the contract, and is not committed',
  (file, text) => {
    expect(readFileSync(file, 'utf8') === text).toBe(true);
    const ignored = readFileSync('.gitignore', 'utf8').split('\n');
    expect(ignored).toContain(file);
  },
);

test('the package exports the client under a separate name, and the client imports no other module', async () => {
  const name = 'divisor/client';
  expect(Object.keys((await import(name)) as object).toSorted()).toEqual([
    'DivisorError',
    'LateAnswerError',
    'UnreachableError',
    'createDivisorClient',
  ]);
  for (const file of ['divisor', 'contract', 'errors']) {
    const compiledText = readFileSync(`dist/src/clients/typescript/${file}.js`, 'utf8');
    const importedModules = [...compiledText.matchAll(/^import .* from '([^']+)'/gm)].map((match) => match[1]);
    expect(importedModules).toEqual(file === 'divisor' ? ['./contract.js', './errors.js'] : []);
  }
});

const INDEX = {
  id: 'CLIENT',
  name: 'Client',
  calendar: 'XNYS',
  base_date: '2020-01-02',
  pipeline: { weighting: { type: 'EqualWeight' as const } },
};

describe('against a running service', () => {
  let service: LiveService;
  let client: DivisorClient;

  beforeAll(async () => {
    service = await openLiveService();
    client = createDivisorClient({ url: service.url });
  });
  afterAll(() => service.close());

  test('an unknown operation is reported by its name', async () => {
    await expect(client.call('health' as never, {} as never)).rejects.toThrow('Unknown operation health');
  });

  test('a job is started, followed and returns its result', async () => {
    const seenJobs: AnyJob[] = [];
    const store = await client.run(
      'generateSynthetic',
      { body: { store_id: 'market', assets: 10, start: '2019-01-02', end: '2020-12-31' } },
      { onProgress: (job) => void seenJobs.push(job) },
    );
    expect([store.store_id, store.active, store.end]).toEqual(['market', true, '2020-12-31']);
    expect(
      seenJobs
        .map(({ status }) => status)
        .filter((status, i, all) => status !== all[i - 1])
        .at(-1),
    ).toBe('succeeded');
    expect(seenJobs.map(({ progress }) => progress)).toEqual(
      seenJobs.map(({ progress }) => progress).toSorted((a, b) => a - b),
    );
  });

  test('a document, its run and its views have their types', async () => {
    const { index } = await client.call('putIndex', { params: { index_id: 'CLIENT' }, body: INDEX });
    expect(index.base_value.toFixed(2)).toBe('100.00');
    const run = await client.run('startBacktest', {
      params: { index_id: 'CLIENT' },
      body: { transaction_cost_bps: 5 },
    });
    const secondRun = await client.run('startBacktest', {
      params: { index_id: 'CLIENT' },
      body: { transaction_cost_bps: 5, if_stale: true },
    });
    expect(secondRun.run_hash).toBe(run.run_hash);
    const { level, stale } = await client.call('getOverview', { params: { index_id: 'CLIENT' } });
    expect(stale).toBeNull();
    expect(level.data).toEqual(run.level.data);
    const window = await client.call('getAttribution', {
      params: { index_id: 'CLIENT' },
      query: { start: '2020-03-02', end: '2020-03-31' },
    });
    expect(window.contributions.reduce((sum, { contribution }) => sum + contribution, 0)).toBeCloseTo(
      window.total_return,
      12,
    );
    const answer = await client.call('startBacktest', {
      params: { index_id: 'CLIENT' },
      body: { transaction_cost_bps: 6, if_stale: true },
    });
    if (!('job_id' in answer)) throw new Error('a run of another request is no job');
    expect((await client.waitForJob(answer)).total_costs).toBeCloseTo(1.2 * run.total_costs, -1);
  });

  test('lists are sent in a query, a missing answer is null, and other media types are returned as bytes', async () => {
    const { identifiers } = await client.call('searchIdentifiers', { query: { limit: 2 } });
    const names = identifiers.map(({ identifier }) => identifier);
    const { entries } = await client.call('getAssetReferences', { query: { identifiers: names, fields: ['NAME'] } });
    expect(entries.map(({ identifier, found }) => [identifier, found])).toEqual(names.map((name) => [name, true]));
    const arrow = await client.download('getPrices', 'application/vnd.apache.arrow.stream', {
      params: { identifier: names[0]! },
    });
    expect([...arrow.subarray(0, 4)]).toEqual([255, 255, 255, 255]);
    const request = { params: { index_id: 'CLIENT', table: 'weights' as const }, query: { end: '2020-06-30' } };
    const { headers, bytes } = await client.stream('exportRun', 'text/csv', request);
    const parts: Uint8Array[] = [];
    for await (const part of bytes) parts.push(part);
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const lines = Buffer.concat(parts).toString().trim().split('\r\n');
    expect(lines.length - 1).toBe((await client.call('exportRun', request)).data.length);
    const refusal = await catchFailure(client.stream('exportRun', 'image/png', request));
    expect((refusal as DivisorError).code).toBe('NOT_ACCEPTABLE');
    expect(await client.call('deleteRecord', { params: { index_id: 'CLIENT' } })).toBeNull();
    expect(await client.call('getMetrics')).toContain('# HELP');
  });

  test('a refusal carries its code, its findings and the id of its request', async () => {
    const refusal = await catchFailure(
      client.call('putIndex', { params: { index_id: 'CLIENT' }, body: { ...INDEX, base_value: -1 } }),
    );
    expect(refusal).toBeInstanceOf(DivisorError);
    const { code, status, findings, requestId } = refusal as DivisorError;
    expect([code, status, findings.map((finding) => [finding.code, finding.path])]).toEqual([
      'VALIDATION_FAILED',
      422,
      [['OUT_OF_RANGE', 'base_value']],
    ]);
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('a write with an older etag is refused', async () => {
    const refusal = await catchFailure(
      client.call('putIndex', { params: { index_id: 'CLIENT' }, body: INDEX, ifMatch: 'older' }),
    );
    expect((refusal as DivisorError).code).toBe('PRECONDITION_FAILED');
  });

  test('a failed job throws the error of the job', async () => {
    const refusal = await catchFailure(
      client.run('estimateRiskModel', { params: { model_id: 'short' }, body: { identifiers: ['NOBODY'] } }),
    );
    expect(refusal).toBeInstanceOf(DivisorError);
    const { identifiers } = await client.call('searchIdentifiers', { query: { limit: 1 } });
    const failedRun = await catchFailure(
      client.run('estimateRiskModel', {
        params: { model_id: 'short' },
        body: { identifiers: [identifiers[0]!.identifier], start: '2020-12-28' },
      }),
    );
    expect([(failedRun as DivisorError).code, (failedRun as DivisorError).status]).toEqual([
      'RISK_INSUFFICIENT_DATA',
      null,
    ]);
  });

  test('an aborted wait does not cancel the job', async () => {
    const job = await client.call('startBacktest', { params: { index_id: 'CLIENT' } });
    const controller = new AbortController();
    controller.abort(new Error('enough'));
    const failure = await catchFailure(
      client.waitForJob({ ...job, status: 'pending', result: null }, { signal: controller.signal }),
    );
    expect((failure as Error).message).toBe('enough');
    expect((await client.waitForJob(job)).metrics.total_return).toBeTypeOf('number');
  });
});

test('a missing server is distinguished from a refusal', async () => {
  const failure = await catchFailure(createDivisorClient({ url: 'http://127.0.0.1:9' }).call('getHealth'));
  expect(failure).toBeInstanceOf(UnreachableError);
});

test('an answer of another server is distinguished from one of the service', async () => {
  const readPage: typeof fetch = () => Promise.resolve(new Response('<h1>Not here</h1>', { status: 404 }));
  const failure = await catchFailure(
    createDivisorClient({ url: 'http://elsewhere', fetch: readPage }).call('getHealth'),
  );
  expect(failure).toBeInstanceOf(UnreachableError);
  expect((failure as Error).message).toContain('answered 404');
});

test('a job is followed across a restart of the service', async () => {
  const doneJob = {
    job_id: 'backtest:X',
    kind: 'backtest' as const,
    status: 'succeeded',
    progress: 1,
    message: '',
    error: null,
    result: { total: 1 },
  };
  const answers = [
    () => Promise.reject(new TypeError('connection refused')),
    () =>
      Promise.resolve(
        Response.json(
          { error: { code: 'DRAINING', message: 'Stopping.', detail: null } },
          { status: 503, headers: { 'Retry-After': '0' } },
        ),
      ),
    () => Promise.resolve(Response.json(doneJob)),
  ];
  let count = 0;
  const fetchUnreliably: typeof fetch = () => answers[count++]!();
  const result = await createDivisorClient({ url: 'http://x', fetch: fetchUnreliably }).waitForJob({
    ...doneJob,
    status: 'running' as const,
    result: null as { total: number } | null,
  });
  expect([result, count]).toEqual([{ total: 1 }, 3]);
});

test('the key is sent as a bearer token, and the path is appended to that of the address', async () => {
  const seenRequests: { url: string; authorization: string | null }[] = [];
  const recordRequest: typeof fetch = (input, init) => {
    seenRequests.push({ url: String(input), authorization: new Headers(init?.headers).get('authorization') });
    return Promise.resolve(Response.json({}));
  };
  const client = createDivisorClient({ url: 'http://proxy/divisor', key: 'dvs_a_b', fetch: recordRequest });
  await client.call('getPrices', {
    params: { identifier: 'A B' },
    query: { columns: ['CLOSE', 'VOLUME'], start: undefined },
  });
  expect(seenRequests).toEqual([
    { url: 'http://proxy/divisor/data/prices/A%20B?columns=CLOSE&columns=VOLUME', authorization: 'Bearer dvs_a_b' },
  ]);
});

async function catchFailure(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise.then((value) => ({ unexpected: value }));
  } catch (failure) {
    return failure;
  }
}
