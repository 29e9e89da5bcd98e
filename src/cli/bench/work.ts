import type { AnyJob, DivisorClient, IndexDocumentBody, JobStatus } from '#clients/typescript/divisor.js';
import { formatWhole } from '../terminal.js';

/** Timing of a piece of work that clients request from the service. */
export interface WorkTiming {
  readonly work: string;
  readonly size: string;
  /** Seconds from the start to the end of the job; for responses, the seconds of the fastest one. */
  readonly seconds: number;
  /** Units of work per second; null if no units are counted. */
  readonly rate: number | null;
  readonly unit: string | null;
}

/** Callbacks before and after each piece of work. */
export interface WorkWatch {
  begin(work: string): void;
  progress(job: AnyJob): void;
  end(timing: WorkTiming): void;
}

export interface MarketSize {
  readonly assets: number;
  readonly years: number;
}

const LAST_YEAR = 2024;
const VARIANTS = 12;
const REPEATS = 3;

/** Generates a market and runs the main jobs on it. */
export async function benchGeneratedWork(
  client: DivisorClient,
  { assets, years }: MarketSize,
  watch: WorkWatch,
): Promise<void> {
  const { timed, job } = createStopwatch(client, watch);
  const firstYear = LAST_YEAR - years + 1;
  const market = await timed(
    'generate a market',
    () =>
      job(
        client.call('generateSynthetic', {
          body: { store_id: 'bench', seed: 42, assets, start: `${firstYear}-01-01`, end: `${LAST_YEAR}-12-31` },
        }),
      ),
    ({ rows }) => ({ size: `${assets} securities, ${years} years`, amount: rows?.market ?? 0, unit: 'rows/s' }),
  );
  const definition = createBenchIndex(firstYear + 1); // Securities need a year of history.
  const index = { index_id: definition.id };
  await client.call('putIndex', { params: index, body: definition });
  await timeRuns(client, watch, { index_id: definition.id, names: market.identifiers ?? 0 });
  const run = await timed(
    'backtest, stored with its record',
    () => job(client.call('startBacktest', { params: index, body: { transaction_cost_bps: 5 } })),
    ({ level, rebalances }) => ({
      size: `${level.data.length} sessions, ${rebalances.length} rebalances`,
      amount: level.data.length,
      unit: 'sessions/s',
    }),
  );
  await timed(
    'risk model',
    () => job(client.call('estimateRiskModel', { params: { model_id: 'bench' }, body: { index_id: definition.id } })),
    ({ diagnostics }) => ({ size: `${diagnostics.observations} x ${diagnostics.assets}` }),
  );
  await client.call('putConstraintSet', {
    params: { constraint_set_id: 'bench' },
    body: createBoundedSet(Object.keys(run.rebalances.at(-1)?.weights ?? {}).length),
  });
  await timed(
    'optimisation',
    () => job(client.call('startOptimisation', { body: { index_id: definition.id, constraint_set_id: 'bench' } })),
    ({ holdings, iterations }) => ({ size: `${holdings} of its securities, ${iterations} iterations` }),
  );
  await timed(
    'factsheet',
    () => job(client.call('renderReport', { body: { template_id: 'FACTSHEET-A4', index_id: definition.id } })),
    ({ bytes }) => ({ size: `${formatWhole(bytes)} bytes` }),
  );
}

/** Times a service with a stored index. Changes no stored document. */
export async function benchStoredWork(client: DivisorClient, indexId: string, watch: WorkWatch): Promise<void> {
  const health = await client.call('getHealth');
  const activeStoreId = 'store' in health ? health.store.active : null;
  const servedStore =
    activeStoreId === null ? null : await client.call('getStore', { params: { store_id: activeStoreId } });
  await timeAnswers(client, watch);
  await timeRuns(client, watch, { index_id: indexId, names: servedStore?.identifiers ?? 0 });
}

async function timeAnswers(client: DivisorClient, watch: WorkWatch): Promise<void> {
  const requestCount = 50;
  watch.begin('response to a request');
  let fastestSeconds = Infinity;
  for (let i = 0; i < requestCount; i++) {
    const startMs = performance.now();
    await client.call('getLiveness');
    fastestSeconds = Math.min(fastestSeconds, (performance.now() - startMs) / 1000);
  }
  watch.end({
    work: 'response to a request',
    size: `fastest of ${requestCount}`,
    seconds: fastestSeconds,
    rate: 1 / fastestSeconds,
    unit: 'requests/s on one connection',
  });
}

/** Times backtests that store no record: the variants of a sweep. */
async function timeRuns(
  client: DivisorClient,
  watch: WorkWatch,
  { index_id, names }: { readonly index_id: string; readonly names: number },
): Promise<void> {
  const { timed, job } = createStopwatch(client, watch);
  const countRows = (observations: number | null | undefined) => (observations ?? 0) * names;
  await timed(
    'backtest',
    () => job(client.call('startSweep', { body: { sweep_id: 'bench', index_id, patches: [{}] } })),
    ({ rows }) => ({
      size: `${names} securities, ${rows[0]?.observations ?? 0} sessions`,
      amount: countRows(rows[0]?.observations),
      unit: 'rows/s',
    }),
    REPEATS,
  );
  const costs = Array.from({ length: VARIANTS }, (_, i) => i);
  await timed(
    'sweep',
    () =>
      job(
        client.call('startSweep', {
          body: { sweep_id: 'bench', index_id, grid: { '/request/transaction_cost_bps': costs } },
        }),
      ),
    ({ rows, variants }) => ({
      size: `${variants} variants`,
      amount: rows.reduce((sum, { observations }) => sum + countRows(observations), 0),
      unit: 'rows/s',
    }),
  );
}

interface Account {
  readonly size: string;
  readonly amount?: number;
  readonly unit?: string;
}

interface TimedResult<R> {
  readonly seconds: number;
  readonly result: R;
}

function createStopwatch(client: DivisorClient, watch: WorkWatch) {
  return {
    /** Waits for a job; returns its result and its run time. */
    async job<R>(submission: Promise<AnyJob & { readonly result: R | null }>): Promise<TimedResult<R>> {
      let endedJob: AnyJob | undefined;
      const result: R = await client.waitForJob(await submission, {
        onProgress(job) {
          endedJob = job;
          watch.progress(job);
        },
      });
      const { started_at: from, finished_at: to } = endedJob as JobStatus; // The response holds the whole status; the client's type covers only the common part.
      return { seconds: (Date.parse(to ?? '') - Date.parse(from ?? '')) / 1000, result };
    },
    async timed<R>(
      work: string,
      measureOnce: () => Promise<TimedResult<R>>,
      getAccount: (result: R) => Account,
      repeats = 1,
    ): Promise<R> {
      watch.begin(work);
      let fastest = await measureOnce();
      for (let i = 1; i < repeats; i++) {
        const repetition = await measureOnce();
        if (repetition.seconds < fastest.seconds) fastest = repetition;
      }
      const { size, amount, unit } = getAccount(fastest.result);
      watch.end({
        work,
        size,
        seconds: fastest.seconds,
        rate: amount === undefined ? null : amount / fastest.seconds,
        unit: unit ?? null,
      });
      return fastest.result;
    },
  };
}

/**
 * Defines a monthly index of the largest securities with a cap. With it, every stage of the pipeline has work to do.
 */
const createBenchIndex = (year: number): IndexDocumentBody => ({
  id: 'BENCH',
  name: 'Bench',
  calendar: 'XNYS',
  base_date: `${year}-01-04`,
  rebalance: { frequency: 'monthly', anchor: 'third_friday' },
  pipeline: {
    selection: [
      { id: 'liquid', type: 'LiquidityFilter', params: { minimum: 1_000_000 } },
      { id: 'largest', type: 'BufferedTopN', params: { count: 100 } },
    ],
    treatment: { dividends: 'total' },
    weighting: { type: 'MarketCapWeight', cap: 0.05 },
  },
});

/**
 * Creates a constraint set that caps each weight at 1.5 times equal weight. This moves weight from the largest
 * securities to all others.
 */
const createBoundedSet = (names: number) => ({
  id: 'bench',
  name: 'Bench',
  constraints: [{ type: 'PositionBounds' as const, params: { upper: 1.5 / names } }],
});
