import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { JOB_STATUS_NAMES, JobCollection, JobStatus, jobRoutes } from '#contract/jobs.js';
import { SCOPES } from '#contract/route.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { createApp, type App } from '#http/app.js';
import { jobHandlers } from '#http/routes/jobs.js';
import { systemClock } from '#jobs/clock.js';
import type { ComputePool } from '#jobs/compute-pool.js';
import { nodeLimits } from '#jobs/node-limits.js';
import { createJobSystem } from '#jobs/create-job-system.js';
import { createLocalQueue } from '#jobs/local/local-queue.js';
import type { JobSystem } from '#jobs/job-system.js';
import type { JobKind } from '#jobs/job-kind.js';
import { JOB_STATES } from '#jobs/status.js';
import { createJobsService } from '#services/operations/jobs.js';
import { openHome } from '#store/home/home.js';
import { openArtifactWriter } from '#store/artifact-writer.js';
import { openStore } from '#store/open-store.js';
import type { ArtifactDestination } from '#store/port.js';
import { temporaryFolders } from '../store/temporary-folder.js';
import { plain } from './job-world.js';

const newFolder = temporaryFolders();
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A job that ends when the test says so, with what the test says. */
/** @param destination where its large results are written */
function createErrand(destination: () => ArtifactDestination) {
  let finish!: (result: unknown) => void;
  const result = new Promise<unknown>((resolve) => (finish = resolve));
  const kind: JobKind<{ readonly of: string; readonly large: boolean }> = {
    kind: 'backtest',
    ...plain,
    async run({ large }, attempt) {
      attempt.report(0.25, 'Working.');
      const value = await Promise.race([
        result,
        new Promise((_, reject) => attempt.signal.addEventListener('abort', () => reject(new Error('ended')))),
      ]);
      if (!large) return { result: { value } };
      const bytes = new TextEncoder().encode(JSON.stringify(value));
      const { answer } = attempt.outputs(['answer']);
      const [artifact] = await openArtifactWriter(destination()).write([{ name: answer, bytes }]);
      return { result: { artifact: artifact! } };
    },
  };
  return { kind, finish };
}

interface World {
  readonly app: App;
  readonly engine: JobSystem;
  readonly stopping: AbortController;
  submit(ident: string, large?: boolean): Promise<void>;
  finish(result: unknown): void;
}

async function openWorld(): Promise<World> {
  const home = await openHome(await newFolder());
  closing.push(() => home.close());
  const store = await openStore({ home, onFailure: () => {} });
  closing.push(() => store.close());
  const silent = pino({ level: 'silent' });
  const pool: ComputePool = {
    run: () => {
      throw new Error('no task is asked for');
    },
    load: () => 0,
    close: async () => {},
  };
  const limits = { ...nodeLimits({ workers: 1, memoryBytes: 1e9 }), cancelGraceMs: 100, queryMsMax: 1000 };
  const clock = systemClock;
  const queue = createLocalQueue({ store: store.documents, clock, limits, log: silent });
  const engine = createJobSystem({ queue, artifacts: store.artifacts, pool, clock, limits, log: silent });
  const { kind, finish } = createErrand(() => store.artifacts.destination);
  engine.register({ [kind.kind]: kind });
  await engine.start();
  closing.push(() => engine.stop());
  const stopping = new AbortController();
  const app = createApp({
    api: jobRoutes,
    handlers: jobHandlers(createJobsService({ system: engine, artifacts: store.artifacts, stopping: stopping.signal })),
    authenticate: () => ({ keyId: null, name: null, scopes: new Set(SCOPES) }),
    version: '0.0.0',
    log: silent,
  });
  return {
    app,
    engine,
    stopping,
    finish,
    async submit(ident, large = false) {
      await engine.submit({ kind, payload: { of: ident, large }, request: { large }, estimatedBytes: 1 });
    },
  };
}

const ask = (app: App, path: string, init: RequestInit = {}): Promise<Response> =>
  Promise.resolve(
    app.fetch(new Request(`http://localhost${path}`, { ...init, headers: { host: 'localhost', ...init.headers } })),
  );

async function untilEnd(app: App, jobId: string): Promise<void> {
  for (let status = 'pending'; status === 'pending' || status === 'running';) {
    ({ status } = (await (await ask(app, `/jobs/${jobId}?wait=60`)).json()) as { status: string });
  }
}

/** The events of a stream as they come. */
async function* eventsOf(response: Response): AsyncGenerator<{
  readonly id: number;
  readonly data: { readonly status: string; readonly message: string; readonly result: unknown };
}> {
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = new Map(
        text
          .slice(0, end)
          .split('\n')
          .map((line): [string, string] => [line.split(': ')[0]!, line.slice(line.indexOf(': ') + 2)]),
      );
      text = text.slice(end + 2);
      if (lines.get('event') === 'status') yield { id: Number(lines.get('id')), data: JSON.parse(lines.get('data')!) };
    }
  }
}

test('the wire names exactly the states that the engine knows', () => {
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

describe('GET /jobs/{job_id}', () => {
  test('tells an unknown job from a name that is none', async () => {
    const { app } = await openWorld();
    expect((await ask(app, '/jobs/backtest:none')).status).toBe(404);
    for (const name of ['backtest', 'cook:a', 'backtest:a.b', `backtest:${'a'.repeat(65)}`, 'backtest:']) {
      const response = await ask(app, `/jobs/${name}`);
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ error: { code: 'INVALID_IDENTIFIER' } });
    }
  });

  test('serves a result kept as bytes inside of the status, with its exact length', async () => {
    const { app, engine, submit, finish } = await openWorld();
    await submit('big', true);
    const result = { level: { index: ['2024-01-02'], data: [100], name: 'level' }, text: 'é"\\'.repeat(100_000) };
    finish(result);
    await untilEnd(app, 'backtest:big');
    expect(await engine.find('backtest:big')).toMatchObject({
      status: { result: null },
      artifact: { name: expect.stringMatching(/\.art$/) },
    });
    for (const init of [{}, { method: 'DELETE' }]) {
      const response = await ask(app, '/jobs/backtest:big', init);
      const bytes = new Uint8Array(await response.arrayBuffer());
      expect(Number(response.headers.get('content-length'))).toBe(bytes.length);
      const status = JobStatus.parse(JSON.parse(new TextDecoder().decode(bytes)));
      expect(status).toMatchObject({ status: 'succeeded', progress: 1, result, error: null });
    }
  });

  test('with wait answers at the change', async () => {
    const { app, submit, finish } = await openWorld();
    await submit('a');
    const waiting = ask(app, '/jobs/backtest:a?wait=60');
    finish(42);
    expect(await (await waiting).json()).toMatchObject({ status: expect.stringMatching(/running|succeeded/) });
    await untilEnd(app, 'backtest:a');
    expect(await (await ask(app, '/jobs/backtest:a?wait=60')).json()).toMatchObject({
      status: 'succeeded',
      result: 42,
    });
  });

  test('with wait answers unchanged after the wait, and at once when the service stops', async () => {
    const { app, submit, stopping } = await openWorld();
    await submit('a');
    await ask(app, '/jobs/backtest:a?wait=60'); // pending to running, unless it runs already
    expect(await (await ask(app, '/jobs/backtest:a?wait=0.05')).json()).toMatchObject({
      status: 'running',
      message: 'Working.',
      progress: 0.25,
    });
    const waiting = ask(app, '/jobs/backtest:a?wait=60');
    stopping.abort();
    expect((await waiting).status).toBe(200);
  });

  test.each(['-1', '61', 'long'])('refuses to wait %s', async (wait) => {
    const { app, submit } = await openWorld();
    await submit('a');
    expect((await ask(app, `/jobs/backtest:a?wait=${wait}`)).status).toBe(422);
  });
});

describe('DELETE /jobs/{job_id}', () => {
  test('cancels once and answers the same afterwards', async () => {
    const { app, submit } = await openWorld();
    await submit('a');
    const first = await ask(app, '/jobs/backtest:a', { method: 'DELETE' });
    expect(first.status).toBe(200);
    const status = JobStatus.parse(await first.json());
    expect(status).toMatchObject({ status: 'cancelled', result: null, error: null });
    expect(await (await ask(app, '/jobs/backtest:a', { method: 'DELETE' })).json()).toEqual(status);
    expect((await ask(app, '/jobs/backtest:none', { method: 'DELETE' })).status).toBe(404);
  });
});

describe('GET /jobs/{job_id}/events', () => {
  test('tells the status on connect, every change, and ends after the last', async () => {
    const { app, submit, finish } = await openWorld();
    await submit('a');
    const response = await ask(app, '/jobs/backtest:a/events');
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const seen: string[] = [];
    let last = 0;
    for await (const { id, data } of eventsOf(response)) {
      expect(id).toBeGreaterThan(last);
      last = id;
      seen.push(data.status);
      expect(data.result).toBeNull();
      if (data.status === 'running') finish({ large: 'value' });
    }
    expect(seen.at(-1)).toBe('succeeded');
    expect(new Set(seen)).toContain('running');
  });

  test('tells a client that comes back only what it has not seen', async () => {
    const { app, engine, submit } = await openWorld();
    await submit('a');
    await engine.cancel('backtest:a');
    const first: number[] = [];
    for await (const { id } of eventsOf(await ask(app, '/jobs/backtest:a/events'))) first.push(id);
    expect(first).toHaveLength(1);
    const again = await ask(app, '/jobs/backtest:a/events', { headers: { 'last-event-id': String(first[0]) } });
    expect(await again.text()).toBe('');
    const stale = await ask(app, '/jobs/backtest:a/events', { headers: { 'last-event-id': '1' } });
    expect(await stale.text()).toContain(`id: ${first[0]}`);
  });

  test('gives places back when clients leave, and refuses more than there are', async () => {
    const { app, submit } = await openWorld();
    await submit('a');
    const streams = await Promise.all(
      Array.from({ length: LIMITS.MAX_EVENT_STREAMS }, () => ask(app, '/jobs/backtest:a/events')),
    );
    const refused = await ask(app, '/jobs/backtest:a/events');
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: 'OVERLOADED' } });
    for (const stream of streams) await stream.body!.cancel();
    const accepted = await ask(app, '/jobs/backtest:a/events');
    expect(accepted.status).toBe(200);
    await accepted.body!.cancel();
  });

  test('does not know unknown jobs', async () => {
    const { app } = await openWorld();
    expect((await ask(app, '/jobs/backtest:none/events')).status).toBe(404);
  });
});
