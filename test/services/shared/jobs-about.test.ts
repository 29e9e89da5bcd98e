import { expect, test } from 'vitest';
import type { Attempt, JobKind } from '#jobs/port/job-kind.js';
import type { Parts } from '#jobs/port/parts.js';
import { createBacktestJob, createRunMaker } from '#services/runs/backtests.js';
import { createReplayJob } from '#services/runs/differences.js';
import { createSimulationJob } from '#services/runs/simulations.js';
import { createSweepJob } from '#services/runs/sweeps.js';
import type { ArtifactStore, DocumentStore, DocumentTransaction } from '#store/port.js';
import { createTestContext } from '../context.js';

/** Reference to a stored file. All results of the tasks in these tests are this file. */
const REF = { name: `${'0'.repeat(32)}.art`, bytes: 2, sha256: '' };
const RUN = {
  run_id: 'I',
  index_id: 'I',
  name: 'I',
  run_at: null,
  start: '2024-01-02',
  end: '2024-01-03',
  run_hash: '',
  store_content_hash: '',
  extended_from: null,
  full_run_reason: null,
  engine_version: '',
  request: {},
  artifacts: { result: REF, overview: REF, columns: REF, plan: REF },
};

/** Output of each task. */
const OUTPUT = { view: REF };
const PLAN = { runId: 'I', indexId: 'I', name: 'I', documents: { I: { calendar: 'XNYS' } }, request: {} };

const ANSWERS: Readonly<Record<string, unknown>> = {
  backtest: {
    plan: REF,
    result: REF,
    snapshots: { at: 0, text: REF },
    overview: REF,
    columns: REF,
    prices: null,
    runAt: '',
    start: '',
    end: '',
    runHash: '',
    storeContentHash: '',
    checkpoint: null,
    extendedFrom: null,
    fullRunReason: null,
    unwritten: [],
  },
  replay: OUTPUT,
  'simulate-part': { tallies: REF },
  'sum-simulation': OUTPUT,
  'sum-sweep': OUTPUT,
};

function createWorldWith(isThere: () => boolean) {
  const get = (kind: string) =>
    isThere() && (kind === 'index' || kind === 'run')
      ? { id: 'I', body: kind === 'run' ? RUN : { id: 'I' }, etag: '', updatedAt: '' }
      : undefined;
  const documents = { get } as unknown as DocumentStore; // only documents are read
  const artifacts = {
    path: () => '',
    read: async () => Buffer.from('{"documents":{},"request":{}}'),
    newName: () => 'n',
    destination: { kind: 'folder' },
    isIntact: async () => true,
    damaged: async () => new Set(),
  } as unknown as ArtifactStore;
  const market = { handle: {}, identity: {}, market: {} } as never;
  const readServed = () => market;
  const markets = { served: readServed, current: readServed, require: readServed, settled: async () => undefined };
  const dataVersions = {
    at: async () => ({ served: market, version: null }),
    before: async () => ({ knownOn: 0, earlier: [] }),
  };
  const attempt = {
    jobId: 'j',
    computed: () => undefined,
    compute: async (task: string) => ANSWERS[task],
    inParts: async ({ count, here }: Parts) =>
      Promise.all(Array.from({ length: count }, async (_, i) => ({ artifact: await here(i, 0), parts: [i] }))),
    outputs: () => ({}),
    share: async (files: readonly unknown[]) => files.map(() => REF),
    drop: async () => undefined,
    report: () => undefined,
    signal: new AbortController().signal,
  } as unknown as Attempt;
  const stores = { within: async <T>(_storeId: unknown, work: () => T | Promise<T>) => work() };
  const context = createTestContext({
    documents,
    artifacts,
    markets,
    dataVersions,
    stores,
    states: { findStaleState: async () => null, requireMarket: async () => market },
    workers: 1,
  });
  const kinds: Readonly<Record<string, { readonly kind: Pick<JobKind<never>, 'run'>; readonly payload: unknown }>> = {
    backtest: {
      kind: createBacktestJob(createRunMaker(context), 20),
      payload: { plan: PLAN, engine_version: '' },
    },
    replay: {
      kind: createReplayJob(context),
      payload: { run_id: 'I', run_hash: '', engine_version: '' },
    },
    simulation: {
      kind: createSimulationJob(context),
      payload: { run_id: 'I', request: { paths: 1, horizon: 1 }, calendar: 'XNYS', dates: [] },
    },
    sweep: {
      kind: createSweepJob(context),
      payload: {
        sweep_id: 's',
        stored_id: 'I',
        base: { document: { id: 'I' }, request: {} },
        grid: null,
        patches: [],
        documents: {},
      },
    },
  };
  return { kinds, attempt, tx: { get, publish: () => undefined } as unknown as DocumentTransaction };
}

test.each(['backtest', 'replay', 'simulation', 'sweep'])(
  'a %s of an index that was deleted while it ran ends with INDEX_DELETED',
  async (name) => {
    let isThere = true;
    const { kinds, attempt, tx } = createWorldWith(() => isThere);
    const { kind, payload } = kinds[name]!;
    const writes: string[] = [];
    const writingKind = {
      ...tx,
      put: async (of: string) => void writes.push(of),
      publish: () => {},
    } as unknown as DocumentTransaction;
    const completion = await kind.run(payload as never, attempt);
    await completion.effect?.(writingKind);
    isThere = false;
    writes.length = 0;
    await expect(completion.effect?.(writingKind)).rejects.toThrow(
      expect.objectContaining({ code: 'INDEX_DELETED', detail: { index_id: 'I' } }),
    );
    expect(writes).toEqual([]);
  },
);

test.each(['replay', 'simulation'])(
  'a %s that starts after the deletion of its index ends with INDEX_DELETED',
  async (name) => {
    const { kinds, attempt } = createWorldWith(() => false);
    await expect(kinds[name]!.kind.run(kinds[name]!.payload as never, attempt)).rejects.toMatchObject({
      code: 'INDEX_DELETED',
    });
  },
);

test('a sweep over an unstored document depends on no stored index', async () => {
  const { kinds, attempt, tx } = createWorldWith(() => false);
  const { kind, payload } = kinds['sweep']!;
  const completion = await kind.run({ ...(payload as object), stored_id: null } as never, attempt);
  await expect(completion.effect?.(tx)).resolves.toBeUndefined();
});
