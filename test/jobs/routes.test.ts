import { describe, expect, test } from 'vitest';
import { JOB_STATUS_NAMES, JobCollection, JobStatusPayload } from '#contract/jobs.js';
import type { App } from '#http/app.js';
import { JOB_STATES } from '#jobs/port/life-cycle.js';
import { ask, openWorld, waitUntilEnd } from './routes-world.js';

test('the wire format names exactly the states of the engine', () => {
  expect(JOB_STATUS_NAMES).toEqual(JOB_STATES);
});

describe('GET /jobs', () => {
  test('lists by kind, status, limit and before, in the shape of the contract', async () => {
    const { app, submit } = await openWorld();
    for (const ident of ['a', 'b', 'c']) await submit(ident);
    const read = async (query: string): Promise<string[]> => {
      const response = await ask(app, `/jobs${query}`);
      expect(response.status).toBe(200);
      const { jobs } = JobCollection.parse(await response.json());
      return jobs.map(({ job_id: jobId }) => jobId);
    };
    expect(await read('')).toEqual(['backtest:c', 'backtest:b', 'backtest:a']);
    expect(await read('?limit=1')).toEqual(['backtest:c']);
    expect(await read('?before=backtest:b')).toEqual(['backtest:a']);
    expect(await read('?before=backtest%3Ab')).toEqual(['backtest:a']);
    expect(await read('?kind=render')).toEqual([]);
    expect(await read('?status=pending&status=cancelled')).toEqual(['backtest:c', 'backtest:b']);
    expect(await read('?status=running')).toEqual(['backtest:a']);
  });

  test.each(['?status=done', '?kind=cook', '?limit=0', '?limit=501', '?before=nothing', '?page=2'])(
    'refuses %s',
    async (query) => {
      const { app } = await openWorld();
      const response = await ask(app, `/jobs${query}`);
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ error: { code: 'VALIDATION_FAILED' } });
    },
  );
});

describe('POST /jobs/retry', () => {
  const retry = async (app: App, body: object) => {
    const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const response = await ask(app, '/jobs/retry', init);
    return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
  };

  test('queues the failed jobs of kinds and of a time range again, and no others', async () => {
    const { app, engine, submit, finish, fail } = await openWorld();
    for (const ident of ['a', 'b']) {
      await submit(ident);
      await expect.poll(async () => (await engine.get(`backtest:${ident}`))?.status).toBe('running');
      fail();
      await waitUntilEnd(app, `backtest:${ident}`);
    }
    await submit('c');
    finish(1);
    await waitUntilEnd(app, 'backtest:c');
    const failedAt = (await engine.get('backtest:b'))!.finished_at!;
    expect((await retry(app, { kinds: ['render'] })).answer).toEqual({ retried: [], refused: [], is_complete: true });
    const laterTime = new Date(Date.parse(failedAt) + 60_000).toISOString();
    expect((await retry(app, { since: laterTime })).answer).toMatchObject({ retried: [] });
    const namedJobs = { job_ids: ['backtest:c', 'backtest:nobody'] };
    expect((await retry(app, namedJobs)).answer).toMatchObject({ retried: [], refused: [] });
    expect((await retry(app, { job_ids: ['backtest:b'], limit: 1 })).answer).toEqual({
      retried: ['backtest:b'],
      refused: [],
      is_complete: true,
    });
    finish(2);
    await waitUntilEnd(app, 'backtest:b');
    expect(await engine.get('backtest:b')).toMatchObject({ status: 'succeeded', attempt: 2 });
    expect((await retry(app, { kinds: ['backtest'], since: '2020-01-01T00:00:00Z' })).answer).toMatchObject({
      retried: ['backtest:a'],
      is_complete: true,
    });
    finish(3);
    await waitUntilEnd(app, 'backtest:a');
    expect((await retry(app, {})).answer).toMatchObject({ retried: [] });
  });

  test.each([[{ kinds: ['cook'] }], [{ since: 'yesterday' }], [{ limit: 0 }], [{ limit: 501 }], [{ failed: true }]])(
    'refuses %j',
    async (body) => {
      const { app } = await openWorld();
      expect(await retry(app, body)).toMatchObject({ status: 422, answer: { error: { code: 'VALIDATION_FAILED' } } });
    },
  );
});

describe('GET /jobs/{job_id}', () => {
  test('distinguishes an unknown job from an invalid name', async () => {
    const { app } = await openWorld();
    expect((await ask(app, '/jobs/backtest:none')).status).toBe(404);
    for (const name of ['backtest', 'cook:a', 'backtest:a.b', `backtest:${'a'.repeat(65)}`, 'backtest:']) {
      const response = await ask(app, `/jobs/${name}`);
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ error: { code: 'INVALID_IDENTIFIER' } });
    }
  });

  test('serves a result stored as bytes inside the status, with its exact length', async () => {
    const { app, engine, submit, finish } = await openWorld();
    await submit('big', true);
    const result = { level: { index: ['2024-01-02'], data: [100], name: 'level' }, text: 'é"\\'.repeat(100_000) };
    finish(result);
    await waitUntilEnd(app, 'backtest:big');
    expect(await engine.find('backtest:big')).toMatchObject({
      status: { result: null },
      stored: { artifact: { name: expect.stringMatching(/\.art$/) } },
    });
    for (const init of [{}, { method: 'DELETE' }]) {
      const response = await ask(app, '/jobs/backtest:big', init);
      const bytes = new Uint8Array(await response.arrayBuffer());
      expect(Number(response.headers.get('content-length'))).toBe(bytes.length);
      const status = JobStatusPayload.parse(JSON.parse(new TextDecoder().decode(bytes)));
      expect(status).toMatchObject({ status: 'succeeded', progress: 1, result, error: null });
    }
  });

  test('with wait responds at the change', async () => {
    const { app, submit, finish } = await openWorld();
    await submit('a');
    const waitingAnswer = ask(app, '/jobs/backtest:a?wait=60');
    finish(42);
    expect(await (await waitingAnswer).json()).toMatchObject({ status: expect.stringMatching(/running|succeeded/) });
    await waitUntilEnd(app, 'backtest:a');
    expect(await (await ask(app, '/jobs/backtest:a?wait=60')).json()).toMatchObject({
      status: 'succeeded',
      result: 42,
    });
  });

  test('with wait responds unchanged after the wait, and at once when the service stops', async () => {
    const { app, submit, stopping } = await openWorld();
    await submit('a');
    await ask(app, '/jobs/backtest:a?wait=60'); // the wait continues while the job changes from pending to running
    expect(await (await ask(app, '/jobs/backtest:a?wait=0.05')).json()).toMatchObject({
      status: 'running',
      message: 'Working.',
      progress: 0.25,
    });
    const waitingAnswer = ask(app, '/jobs/backtest:a?wait=60');
    stopping.abort();
    expect((await waitingAnswer).status).toBe(200);
  });

  test.each(['-1', '61', 'long'])('refuses to wait %s', async (wait) => {
    const { app, submit } = await openWorld();
    await submit('a');
    expect((await ask(app, `/jobs/backtest:a?wait=${wait}`)).status).toBe(422);
  });
});

describe('DELETE /jobs/{job_id}', () => {
  test('cancels once and responds equally afterwards', async () => {
    const { app, submit } = await openWorld();
    await submit('a');
    const first = await ask(app, '/jobs/backtest:a', { method: 'DELETE' });
    expect(first.status).toBe(200);
    const status = JobStatusPayload.parse(await first.json());
    expect(status).toMatchObject({ status: 'cancelled', result: null, error: null });
    expect(await (await ask(app, '/jobs/backtest:a', { method: 'DELETE' })).json()).toEqual(status);
    expect((await ask(app, '/jobs/backtest:none', { method: 'DELETE' })).status).toBe(404);
  });
});
