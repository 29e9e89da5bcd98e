import type { Engine } from '#kernels/engines/engine.js';
import { nativeEngine } from '#kernels/engines/native.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { readCommandLine, type Grammar } from '../command-line.js';
import { connected, CONNECTION_HELP, EXIT } from '../connection.js';
import { right, screenOf, step, table, whole, type Cell, type Screen, type Step } from '../terminal.js';
import { onThrowAwayHome } from '../throw-away-home.js';
import { UsageError } from '../usage-error.js';
import { engineVersion } from '../version.js';
import { timeKernels, type KernelTiming } from './kernels.js';
import { measureLimits, processorName, type Limits } from './machine.js';
import { generatedWork, storedWork, type MarketSize, type WorkTiming, type WorkWatch } from './work.js';

const GRAMMAR: Grammar = {
  words: [],
  flags: {
    index: {
      type: 'string',
      value: 'ID',
      help: 'Time the service on an index it has instead of this machine: answers, backtests, a sweep. Nothing stored is changed.',
    },
    assets: { type: 'number', value: 'N', help: 'Securities of the generated market. Default: 500.' },
    years: { type: 'number', value: 'N', help: 'Its years. Default: 10.' },
  },
};

export const BENCH_HELP = `divisor bench: how fast this machine, or a running service, does the main work

Usage: divisor bench [flags]

Times the kernels beside what the processor and its memory can do at most, and then the main jobs on a market it generates,
on a throw-away home with every core. The market, and so the work, is the same on every machine.

Flags
${table([
  ...Object.entries(GRAMMAR.flags).map(([flag, { value = '', help }]) => [`--${flag} ${value}`, help]),
  ['--json', 'One JSON object a line, as on a pipe: events machine, kernel, work and result.'],
  ...CONNECTION_HELP.map(([flag, help]) => [flag, `With --index. ${help}`]),
])}
Examples
  divisor bench
  divisor bench --assets 3000 --years 20
  divisor bench --url http://127.0.0.1:8080 --index CORE-100

Exit statuses are those of the job commands: see divisor backtest --help.
`;

const SIZE: MarketSize = { assets: 500, years: 10 };
/** A year of history comes before the first year of the index. */
const YEARS_MIN = 2;

/** `divisor bench`: kernels beside the limits of the machine, and the main jobs. */
export async function bench(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { flags, common } = readCommandLine('bench', GRAMMAR, argv);
  if (common.out !== undefined)
    throw new UsageError('divisor bench writes no file: send its output to one. See divisor bench --help');
  const index = flags.text('index');
  const reporter = reporterOn(screenOf(process.stdout), common.json);
  if (index !== undefined) {
    return connected(common, environment, async (client) => {
      await storedWork(client, index, reporter.watch);
      reporter.end();
      return EXIT.done;
    });
  }
  if (common.url !== undefined || common.home !== undefined || common.dataRoots !== undefined)
    throw new UsageError(
      'divisor bench needs --index with --url or --home: it says what to run there. See divisor bench --help',
    );
  const size = { assets: flags.number('assets') ?? SIZE.assets, years: flags.number('years') ?? SIZE.years };
  if (!(size.years >= YEARS_MIN))
    throw new UsageError(`--years must be at least ${YEARS_MIN}: a year of history, and a year to run`);
  reporter.machine(measureLimits());
  reporter.kernels(timeKernels(enginesHere()));
  return onThrowAwayHome({ name: 'bench', port: '0', environment }, (url) =>
    connected({ url }, {}, async (client) => {
      await generatedWork(client, size, reporter.watch);
      reporter.end();
      return EXIT.done;
    }),
  );
}

function enginesHere(): Engine[] {
  const own = wasmEngine();
  try {
    return [own, nativeEngine()];
  } catch {
    return [own]; // reported among the limits
  }
}

interface Reporter {
  machine(limits: Limits): void;
  kernels(timings: readonly KernelTiming[]): void;
  readonly watch: WorkWatch;
  end(): void;
}

function reporterOn(screen: Screen, json: boolean): Reporter {
  return json || !screen.isTerminal ? jsonReporter(screen) : tableReporter(screen);
}

/** Largest memory the process has held, MiB. */
const peakMebibytes = (): number => Math.round(process.resourceUsage().maxRSS / 1024);

function jsonReporter(screen: Screen): Reporter {
  const line = (event: string, record: object) => screen.write(`${JSON.stringify({ event, ...record })}\n`);
  return {
    machine: (limits) =>
      line('machine', {
        processor: processorName(),
        node: process.version,
        engine_version: engineVersion(),
        ...limits,
      }),
    kernels: (timings) => timings.forEach((timing) => line('kernel', timing)),
    watch: { begin: () => {}, progress: () => {}, end: (timing) => line('work', timing) },
    end: () => line('result', { peak_mebibytes: peakMebibytes() }),
  };
}

function tableReporter(screen: Screen): Reporter {
  let limits: Limits | undefined;
  let line: Step | undefined;
  return {
    machine(measured) {
      limits = measured;
      screen.write(
        `\nDivisor ${engineVersion()} on Node ${process.version}, ${processorName()}\n\nAt most\n${table(limitRows(measured))}\n`,
      );
    },
    kernels: (timings) => screen.write(`Kernels\n${table(timings.map((timing) => kernelRow(timing, limits)))}\nJobs\n`),
    watch: {
      begin: (work) => (line = step(screen, work)),
      progress: ({ progress, message }) => line?.progress(progress, message),
      end: (timing) => line?.done(workLine(timing)),
    },
    end: () => screen.write(`\n  ${whole(peakMebibytes())} MiB of memory at most\n`),
  };
}

function limitRows({ native, nativeName, wasm, sweep }: Limits): (string | Cell)[][] {
  return [
    ['product by WebAssembly', right(`${wasm.toFixed(1)} GFLOP/s`)],
    ['product by native kernels', right(native === null ? '-' : `${native.toFixed(1)} GFLOP/s`), nativeName],
    ['reading memory', right(`${sweep.toFixed(1)} GB/s`)],
  ];
}

function kernelRow(
  { kernel, size, engine, ms, rate, unit }: KernelTiming,
  limits: Limits | undefined,
): (string | Cell)[] {
  const limit = unit !== 'GFLOP/s' ? null : ((engine === 'wasm' ? limits?.wasm : limits?.native) ?? null);
  return [
    kernel,
    right(size),
    engine,
    right(`${ms.toFixed(1)} ms`),
    right(`${rate.toFixed(1)} ${unit}`),
    limit === null ? '' : `${Math.round((100 * rate) / limit)} % of its product`,
  ];
}

function workLine({ size, seconds, rate, unit }: WorkTiming): string {
  const time = seconds < 1 ? `${(1000 * seconds).toFixed(1)} ms` : `${seconds.toFixed(2)} s`;
  return `${time} for ${size}${rate === null ? '' : `: ${whole(rate)} ${unit}`}`;
}
