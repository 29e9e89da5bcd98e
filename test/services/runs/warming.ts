import { expect } from 'vitest';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData, MarketHandle } from '#domain/market/market-data.js';
import type { ComputePool, Lane } from '#jobs/port/compute-pool.js';
import type { TaskInput } from '#jobs/tasks/catalogue.js';
import type { ServedMarket } from '#market/serve/served-markets.js';
import { createWarmUp } from '#services/runs/warm-up.js';
import type { DocumentStore } from '#store/port.js';
import { createTestContext } from '../context.js';

/** Number of threads for expensive jobs. */
export const WORKERS = 2;

export function createServedMarket(
  contentHash: string,
  { dates = 10, firstDay = 0, sectors = true } = {},
): ServedMarket {
  // Handle of a market. Only workers read the fields that are missing.
  const handle = { datasetId: 'store', adjustment: 'none', contentHash } as MarketHandle;
  const market = {
    dates: firstDay === 0 ? new Int32Array(dates) : Int32Array.from({ length: dates }, (_, t) => firstDay + t),
    identifiers: ['A', 'B'],
    fields: new Map([['SHARES_OUTSTANDING', new Float64Array(20)]]),
    reference: { columns: sectors ? ['NAME', 'SECTOR'] : [], rows: new Map() },
  } as unknown as MarketData;
  return { handle, identity: handle, market, loadedAt: '', files: [] };
}

export const createIndex = (id: string, calendar = 'XNYS') =>
  IndexDocument.parse({
    id,
    name: id,
    calendar,
    base_date: '2010-01-04',
    pipeline: { weighting: { type: 'EqualWeight' } },
  });

const createArtifact = (name: string) => ({ name, bytes: 1, sha256: 'sha' });
export function run(id: string, { run_at = '2024-01-01', benchmark = null as string | null, store_id = 'other' } = {}) {
  return {
    store_id,
    run_id: id,
    index_id: id,
    name: id,
    run_at,
    start: '2010-01-04',
    end: '2020-06-30',
    run_hash: 'h',
    store_content_hash: 's',
    extended_from: null,
    full_run_reason: null,
    engine_version: '0',
    request: { benchmark: benchmark && { kind: 'index', id: benchmark } },
    artifacts: {
      result: createArtifact('result'),
      overview: createArtifact('overview'),
      columns: createArtifact(`columns of ${id}`),
    },
  };
}

/** Creates a warm-up on a pool that records its requests. The test advances its clock. */
export function warmUp({
  stored = {},
  fails = () => undefined,
  isAlone = true,
  answers = true,
}: {
  readonly stored?: Record<string, object>;
  readonly fails?: (task: string, asked: number) => Error | undefined;
  readonly isAlone?: boolean;
  readonly answers?: boolean;
} = {}) {
  const requests: string[] = [];
  const inputs: { readonly task: string; readonly lane: Lane; readonly input: unknown }[] = [];
  const load: Record<Lane, number> = { light: 0, heavy: 0 };
  const faults: unknown[] = [];
  const timers = new Set<() => void>();
  let servedMarket: ServedMarket | undefined;
  const pool = {
    load: (lane: Lane) => load[lane],
    run({ lane, task, input }: { lane: Lane; task: string; input: TaskInput<'view-run'> | TaskInput<'warm-up'> }) {
      inputs.push({ task, lane, input });
      requests.push(
        `${lane} ${task}${'view' in input ? ` ${input.view}` : 'names' in input ? ` ${formatPart(input)}` : ''}`,
      );
      expect(load.light).toBe(0);
      const failure = fails(task, requests.length);
      return { output: failure ? Promise.reject(failure) : Promise.resolve(null) };
    },
  } as unknown as Pick<ComputePool, 'run' | 'load'>;
  const documents = {
    get: async (kind: string, id: string) =>
      stored[`${kind} ${id}`] ? { id, body: stored[`${kind} ${id}`], etag: '', updatedAt: '' } : undefined,
    ids: async (kind: string) =>
      Object.keys(stored)
        .filter((key) => key.startsWith(`${kind} `))
        .map((key) => key.slice(kind.length + 1)),
  } as Pick<DocumentStore, 'get' | 'ids'>;
  const context = createTestContext({
    documents,
    artifacts: { file: async ({ name }) => `/home/${name}`, read: async () => new Uint8Array() },
    markets: { served: () => servedMarket },
    workers: WORKERS,
  });
  const result = createWarmUp(context, {
    pool,
    isAlone,
    answers,
    clock: { after: (_ms, call) => (timers.add(call), () => void timers.delete(call)) },
    onFault: (fault) => void faults.push(fault),
  });
  return {
    ...result,
    inputs,
    load,
    faults,
    timers,
    serve(market: ServedMarket | undefined) {
      servedMarket = market;
      result.wake();
    },
    /** Advances the clock and returns the requests of the warm-up. */
    async tick(): Promise<string[]> {
      const before = requests.length;
      const dueTimers = [...timers];
      timers.clear();
      for (const call of dueTimers) call();
      for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
      return requests.slice(before);
    },
  };
}

const formatPart = ({ market, plan }: TaskInput<'warm-up'>): string => (plan ? 'run' : market ? 'market' : 'code');
