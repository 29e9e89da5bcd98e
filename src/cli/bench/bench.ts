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
import { type KernelTiming, type MachineLimits, measureLimits, readProcessorName, timeKernels } from './machine.js';

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
      type: 'string',
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
