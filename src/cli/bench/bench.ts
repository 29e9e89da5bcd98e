import type { AnyJob, DivisorClient, IndexDocumentBody, JobStatus } from '#clients/typescript/divisor.js';
import type { Engine } from '#kernels/engines/engine.js';
import { openNativeEngine } from '#kernels/engines/native.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { type Grammar, readCommandLine } from '../commands/command-line.js';
import { CONNECTION_HELP, EXIT, runWithService } from '../commands/connection.js';
import { runWithTemporaryHome } from '../commands/serve.js';
import {
  alignRight,
  formatTable,
  formatWhole,
  openScreen,
  type Screen,
  startStep,
  type TerminalCell,
  type TerminalStep,
} from '../terminal.js';
import { UsageError } from '../usage.js';
import { readEngineVersion } from '../version.js';
import { cpus } from 'node:os';
import { createLevelBins } from '#kernels/simulation/simulate-paths.js';

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
interface WorkWatch {
  begin(work: string): void;
  progress(job: AnyJob): void;
  end(timing: WorkTiming): void;
}

interface MarketSize {
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
async function benchStoredWork(client: DivisorClient, indexId: string, watch: WorkWatch): Promise<void> {
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

const GRAMMAR: Required<Grammar> = {
  words: [],
  flags: {
    index: {
      value: 'ID',
      help: 'Measure a service instead of this machine: responses, backtests and a sweep of this stored index. No stored document is changed.',
    },
    assets: { type: 'number', value: 'N', help: 'Securities of the generated market. Default: 500.' },
    years: { type: 'number', value: 'N', help: 'Years of the generated market. Default: 10.' },
  },
};

export const BENCH_HELP = `divisor bench: measure the speed of this machine or of a running service

Usage: divisor bench [flags]

Measures the kernels and compares them with the limits of the processor and the memory. It then measures the main jobs
on a generated market, in a temporary home and with every core. The market is the same on every machine.

Flags
${formatTable([
  ...Object.entries(GRAMMAR.flags).map(([flag, { value = '', help }]) => [`--${flag} ${value}`, help]),
  ['--json', 'One JSON object per line, the default on a pipe: events machine, kernel, work and result.'],
  ...CONNECTION_HELP.map(([flag, help]) => [flag, `With --index. ${help}`]),
])}
Examples
  divisor bench
  divisor bench --assets 3000 --years 20
  divisor bench --url http://127.0.0.1:8080 --index CORE-100

Exit statuses are those of the job commands: see divisor backtest --help.
`;

const DEFAULT_SIZE: MarketSize = { assets: 500, years: 10 };
/** Minimum number of years. One year of history comes before the first year of the index. */
const YEARS_MIN = 2;

/**
 * Runs `divisor bench`: times the kernels and compares them with the limits of the machine. Then times the main jobs.
 */
export async function bench(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { flags, common } = readCommandLine('bench', GRAMMAR, argv);
  if (common.out !== undefined)
    throw new UsageError('divisor bench writes no file; redirect its output. See divisor bench --help');
  const index = flags.text('index');
  const reporter = createReporter(openScreen(process.stdout), common.json);
  if (index !== undefined) {
    return runWithService(common, environment, async (client) => {
      await benchStoredWork(client, index, reporter.watch);
      reporter.end();
      return EXIT.done;
    });
  }
  if (common.url !== undefined || common.home !== undefined || common.dataRoots !== undefined)
    throw new UsageError(
      'divisor bench needs --index with --url or --home: the index that it measures. See divisor bench --help',
    );
  const size = {
    assets: flags.number('assets') ?? DEFAULT_SIZE.assets,
    years: flags.number('years') ?? DEFAULT_SIZE.years,
  };
  if (!(size.years >= YEARS_MIN))
    throw new UsageError(`--years must be at least ${YEARS_MIN}: one year of history and one year for the run`);
  reporter.machine(measureLimits());
  reporter.kernels(timeKernels(listEngines()));
  return runWithTemporaryHome({ name: 'bench', port: '0', environment }, (url) =>
    runWithService({ url }, {}, async (client) => {
      await benchGeneratedWork(client, size, reporter.watch);
      reporter.end();
      return EXIT.done;
    }),
  );
}

function listEngines(): Engine[] {
  const ownEngine = openWasmEngine();
  try {
    return [ownEngine, openNativeEngine()];
  } catch {
    return [ownEngine]; // the report of the limits states the reason
  }
}

interface Reporter {
  machine(limits: MachineLimits): void;
  kernels(timings: readonly KernelTiming[]): void;
  readonly watch: WorkWatch;
  end(): void;
}

function createReporter(screen: Screen, json: boolean): Reporter {
  return json || !screen.isTerminal ? createJsonReporter(screen) : createTableReporter(screen);
}

/** Returns the peak resident memory of the process in MiB. */
const measurePeakMebibytes = (): number => Math.round(process.resourceUsage().maxRSS / 1024);

function createJsonReporter(screen: Screen): Reporter {
  const writeLine = (event: string, record: object) => screen.write(`${JSON.stringify({ event, ...record })}\n`);
  return {
    machine: (limits) =>
      writeLine('machine', {
        processor: readProcessorName(),
        node: process.version,
        engine_version: readEngineVersion(),
        ...limits,
      }),
    kernels: (timings) => timings.forEach((timing) => writeLine('kernel', timing)),
    watch: { begin: () => {}, progress: () => {}, end: (timing) => writeLine('work', timing) },
    end: () => writeLine('result', { peak_mebibytes: measurePeakMebibytes() }),
  };
}

function createTableReporter(screen: Screen): Reporter {
  let limits: MachineLimits | undefined;
  let line: TerminalStep | undefined;
  return {
    machine(machineLimits) {
      limits = machineLimits;
      screen.write(
        `\nDivisor ${readEngineVersion()} on Node ${process.version}, ${readProcessorName()}\n\nAt most\n${formatTable(formatLimitRows(machineLimits))}\n`,
      );
    },
    kernels: (timings) =>
      screen.write(`Kernels\n${formatTable(timings.map((timing) => formatKernelRow(timing, limits)))}\nJobs\n`),
    watch: {
      begin: (work) => (line = startStep(screen, work)),
      progress: ({ progress, message }) => line?.progress(progress, message),
      end: (timing) => line?.done(formatWorkLine(timing)),
    },
    end: () => screen.write(`\n  ${formatWhole(measurePeakMebibytes())} MiB peak memory\n`),
  };
}

function formatLimitRows({ native, nativeName, wasm, sweep }: MachineLimits): (string | TerminalCell)[][] {
  return [
    ['product by WebAssembly', alignRight(`${wasm.toFixed(1)} GFLOP/s`)],
    ['product by native kernels', alignRight(native === null ? '-' : `${native.toFixed(1)} GFLOP/s`), nativeName],
    ['reading memory', alignRight(`${sweep.toFixed(1)} GB/s`)],
  ];
}

function formatKernelRow(
  { kernel, size, engine, ms, rate, unit }: KernelTiming,
  limits: MachineLimits | undefined,
): (string | TerminalCell)[] {
  const limit = unit !== 'GFLOP/s' ? null : ((engine === 'wasm' ? limits?.wasm : limits?.native) ?? null);
  return [
    kernel,
    alignRight(size),
    engine,
    alignRight(`${ms.toFixed(1)} ms`),
    alignRight(`${rate.toFixed(1)} ${unit}`),
    limit === null ? '' : `${Math.round((100 * rate) / limit)}% of its product`,
  ];
}

function formatWorkLine({ size, seconds, rate, unit }: WorkTiming): string {
  const timeText = seconds < 1 ? `${(1000 * seconds).toFixed(1)} ms` : `${seconds.toFixed(2)} s`;
  return `${timeText} for ${size}${rate === null ? '' : `: ${formatWhole(rate)} ${unit}`}`;
}

/** Returns the shortest processor time in ms over several runs. Other load on the machine does not count. */
function measureFastestMs(work: () => void, { repeats }: { readonly repeats: number }): number {
  let fastestMs = Infinity;
  for (let repeat = 0; repeat < repeats; repeat++) {
    const startUsage = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(startUsage);
    fastestMs = Math.min(fastestMs, (user + system) / 1000);
  }
  return fastestMs;
}

interface KernelTiming {
  readonly kernel: string;
  /** Rows x columns, or the order of a square matrix. */
  readonly size: string;
  readonly engine: string;
  /** Fewest milliseconds of processor time. */
  readonly ms: number;
  readonly rate: number;
  readonly unit: 'GFLOP/s' | 'M steps/s';
}

interface KernelCase {
  readonly kernel: string;
  readonly size: string;
  readonly unit: KernelTiming['unit'];
  /** Floating-point operations or steps per call. */
  readonly amount: number;
  /** Allocates operands on the engine and returns the call to time. */
  prepare(engine: Engine): () => void;
  /** True if engines other than WebAssembly also implement the kernel. */
  readonly isAlgebra: boolean;
}

const OBSERVATIONS = 2520;
const ASSETS = 500;
const KERNELS_ORDER = 1000;
const PATHS = 10_000;
const HORIZON = 252;
const KERNELS_REPEATS = 5;

/** Times the kernels that do most of the work, at the size of ten years of 500 securities. */
function timeKernels(engines: readonly Engine[]): KernelTiming[] {
  return engines.flatMap((engine) =>
    CASES.filter(({ isAlgebra }) => isAlgebra || engine.name === 'wasm').map(
      ({ kernel, size, unit, amount, prepare }) => {
        const ms = engine.scope(() => {
          const runWork = prepare(engine);
          runWork(); // warms up and compiles
          return measureFastestMs(runWork, { repeats: KERNELS_REPEATS });
        });
        return { kernel, size, engine: engine.name, ms, rate: amount / ms / (unit === 'GFLOP/s' ? 1e6 : 1e3), unit };
      },
    ),
  );
}

const CASES: readonly KernelCase[] = [
  {
    kernel: 'covariance product',
    size: `${OBSERVATIONS} x ${ASSETS}`,
    unit: 'GFLOP/s',
    amount: OBSERVATIONS * ASSETS * ASSETS,
    isAlgebra: true,
    prepare(engine) {
      const x = createReturns(engine, OBSERVATIONS * ASSETS);
      const out = engine.allocate(ASSETS * ASSETS);
      return () => engine.symmetricRankK(x, ASSETS, out);
    },
  },
  {
    kernel: 'Cholesky',
    size: `${KERNELS_ORDER}`,
    unit: 'GFLOP/s',
    amount: KERNELS_ORDER ** 3 / 3,
    isAlgebra: true,
    prepare(engine) {
      const matrix = createDefiniteMatrix(engine, KERNELS_ORDER);
      const work = engine.allocate(matrix.length);
      return () => {
        work.set(matrix);
        if (engine.cholesky(work, KERNELS_ORDER) !== KERNELS_ORDER)
          throw new Error('the matrix is not positive definite');
      };
    },
  },
  {
    kernel: 'eigenvalues',
    size: `${ASSETS}`,
    unit: 'GFLOP/s',
    amount: (4 / 3) * ASSETS ** 3,
    isAlgebra: true,
    prepare(engine) {
      const matrix = createDefiniteMatrix(engine, ASSETS);
      const values = engine.allocate(ASSETS);
      return () => void engine.symmetricEigenvalues(matrix, ASSETS, values);
    },
  },
  {
    kernel: 'simulated paths',
    size: `${PATHS} x ${HORIZON}`,
    unit: 'M steps/s',
    amount: PATHS * HORIZON,
    isAlgebra: false,
    prepare(engine) {
      const growth = createReturns(engine, OBSERVATIONS).map((value) => 1 + value);
      const bins = createLevelBins({ mean: 0.0003, deviation: 0.01, horizon: HORIZON, count: 2048 });
      const tallies = {
        counts: new Uint32Array(HORIZON * bins.count),
        finals: engine.allocate(PATHS),
        lows: engine.allocate(PATHS),
        drawdowns: engine.allocate(PATHS),
        underwater: new Int32Array(PATHS),
      };
      return () =>
        engine.simulatePaths(
          { model: { kind: 'block_bootstrap', growth, block: 21 }, horizon: HORIZON, seed: 1, first: 0, bins },
          tallies,
        );
    },
  },
];

/** Returns pseudo-random values of at most 2% in magnitude, like daily returns. They are the same on every machine. */
function createReturns(engine: Engine, length: number): Float64Array {
  const values = engine.allocate(length);
  let state = 42;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    values[i] = (state / 2 ** 31) * 0.02;
  }
  return values;
}

/** Returns a symmetric positive definite matrix with a constant correlation of 0.3. */
function createDefiniteMatrix(engine: Engine, order: number): Float64Array {
  const matrix = engine.allocate(order * order).fill(0.3);
  for (let i = 0; i < order; i++) matrix[i * order + i] = 1;
  return matrix;
}

/** Limits of this machine. The timings of the kernels are compared with them. */
interface MachineLimits {
  /** Speed of a product of large matrices on the native kernels, in GFLOP/s; null if there are none. */
  readonly native: number | null;
  /** Instruction set of the native kernels. If there are none, the reason. */
  readonly nativeName: string;
  /** Speed of the same matrix product on the WebAssembly engine, in GFLOP/s. */
  readonly wasm: number;
  /** Speed of reading memory in GB/s. The memory is far larger than the caches. */
  readonly sweep: number;
}

const ORDER = 1024;
const SWEEP_VALUES = 2 ** 24; // 128 MiB
const MACHINE_REPEATS = 7;

function measureLimits(): MachineLimits {
  const ownEngine = openWasmEngine();
  const native = openNativeOrExplain();
  return {
    native: native instanceof Error ? null : measureProductRate(native),
    nativeName: native instanceof Error ? `none: ${native.message}` : native.description,
    wasm: measureProductRate(ownEngine),
    sweep: measureSweepRate(ownEngine),
  };
}

function openNativeOrExplain(): Engine | Error {
  try {
    return openNativeEngine();
  } catch (failure) {
    return failure as Error;
  }
}

/** Returns the model name of the processor and its number of cores. */
function readProcessorName(): string {
  return `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores`;
}

function measureProductRate(engine: Engine): number {
  return engine.scope(() => {
    const a = engine.allocate(ORDER * ORDER).fill(0.5);
    const b = engine.allocate(ORDER * ORDER).fill(0.25);
    const out = engine.allocate(ORDER * ORDER);
    const shape = { rows: ORDER, inner: ORDER, columns: ORDER };
    return (2 * ORDER ** 3) / measureFastestMs(() => engine.gemm(shape, a, b, out), { repeats: MACHINE_REPEATS }) / 1e6;
  });
}

function measureSweepRate(engine: Engine): number {
  return engine.scope(() => {
    const values = engine.allocate(SWEEP_VALUES).fill(1);
    return (8 * SWEEP_VALUES) / measureFastestMs(() => engine.pairwiseSum(values), { repeats: MACHINE_REPEATS }) / 1e6;
  });
}
