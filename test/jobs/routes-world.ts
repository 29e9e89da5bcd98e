import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { jobRoutes } from '#contract/job-routes.js';
import { SCOPES } from '#contract/route.js';
import { Refusal } from '#domain/base/refusals.js';
import { type App, createApp } from '#http/app.js';
import { createJobHandlers } from '#http/routes.js';
import { systemClock } from '#jobs/port/clock.js';
import type { ComputePool } from '#jobs/port/compute-pool.js';
import { deriveNodeLimits } from '#jobs/node-limits.js';
import { createJobSystem } from '#jobs/job-system.js';
import { createLocalQueue } from '#jobs/local/queue.js';
import { createPausedKinds, type JobKind, type JobSystem } from '#jobs/port/job-kind.js';
import { createJobKinds, createJobsService } from '#services/shared/jobs.js';
import { openHome } from '#store/home/home.js';
import { openArtifactWriter } from '#store/artifact-writer.js';
import { openStore } from '#store/open-store.js';
import type { ArtifactDestination } from '#store/port.js';
import { createTestContext } from '../services/context.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { plainKind } from './job-world.js';

/**
 * Creates a job kind with the given result. The test decides when it ends.
 * @param destination destination of large results
 */
function createTestTask(destination: () => ArtifactDestination) {
  let finish!: (result: unknown) => void;
  let refuse!: (refusal: Refusal) => void;
  const runNextTask = () =>
    new Promise<unknown>((resolve, reject) => {
      finish = resolve;
      refuse = reject;
    });
  let result = runNextTask();
  const kind: JobKind<{ readonly of: string; readonly large: boolean }> = {
    kind: 'backtest',
    ...plainKind,
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
  return {
    kind,
    finish: (value: unknown) => finish(value),
    fail() {
      refuse(new Refusal('MISSING_PRICE', 'No price.'));
      result.catch(() => {}); // there may be no running job
      result = runNextTask();
    },
  };
}

export interface World {
  readonly app: App;
  readonly engine: JobSystem;
  readonly stopping: AbortController;
  /** Revoked keys. */
  readonly ended: Set<string>;
  submit(ident: string, large?: boolean): Promise<void>;
  finish(result: unknown): void;
  /** Makes the running job fail. The next job ends independently of it. */
  fail(): void;
}

export async function openWorld(): Promise<World> {
  const home = await openHome(await createTemporaryFolder());
  onTestFinished(() => home.close());
  const store = await openStore({ home, onFailure: () => {} });
  onTestFinished(() => store.close());
  const silentLog = pino({ level: 'silent' });
  const pool: ComputePool = {
    run: () => {
      throw new Error('no task is asked for');
    },
    load: () => 0,
    close: async () => {},
  };
  const limits = { ...deriveNodeLimits({ workers: 1, memoryBytes: 1e9 }), cancelGraceMs: 100, queryMsMax: 1000 };
  const clock = systemClock;
  const pausedKinds = await createPausedKinds(store.documents, clock, false);
  const queue = createLocalQueue({ store: store.documents, clock, limits, log: silentLog, paused: pausedKinds });
  const engine = createJobSystem({ queue, artifacts: store.artifacts, pool, clock, limits, log: silentLog });
  const { kind, finish, fail } = createTestTask(() => store.artifacts.destination);
  engine.register({ [kind.kind]: kind });
  await engine.start();
  onTestFinished(() => engine.stop());
  const stoppingController = new AbortController();
  const endedJobs = new Set<string>();
  const context = createTestContext({ jobs: engine, artifacts: store.artifacts, now: Date.now });
  const app = createApp({
    api: jobRoutes,
    handlers: createJobHandlers(
      createJobsService(context, { stopping: stoppingController.signal }),
      createJobKinds(context, pausedKinds),
    ),
    authenticate({ request }) {
      const keyId = request.headers.get('x-api-key');
      if (keyId !== null && endedJobs.has(keyId)) throw new Refusal('UNAUTHENTICATED', 'The key has ended.');
      return { keyId, name: keyId, scopes: new Set(SCOPES) };
    },
    version: '0.0.0',
    log: silentLog,
  });
  return {
    app,
    engine,
    stopping: stoppingController,
    ended: endedJobs,
    finish,
    fail,
    async submit(ident, large = false) {
      await engine.submit({ kind, payload: { of: ident, large }, request: { large }, estimatedBytes: 1 });
    },
  };
}

export const ask = (app: App, path: string, init: RequestInit = {}): Promise<Response> =>
  Promise.resolve(
    app.fetch(new Request(`http://localhost${path}`, { ...init, headers: { host: 'localhost', ...init.headers } })),
  );

export async function waitUntilEnd(app: App, jobId: string): Promise<void> {
  for (let status = 'pending'; status === 'pending' || status === 'running';) {
    ({ status } = (await (await ask(app, `/jobs/${jobId}?wait=60`)).json()) as { status: string });
  }
}

/** Yields the events of a stream as they arrive. */
export async function* readEvents(response: Response): AsyncGenerator<{
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
