import type { Engine } from '#kernels/engines/engine.js';
import { openNativeEngine } from '#kernels/engines/native.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { readCommandLine, type Grammar } from '../command-line.js';
import { runWithService, CONNECTION_HELP, EXIT } from '../connection.js';
import {
  alignRight,
  openScreen,
  startStep,
  formatTable,
  formatWhole,
  type TerminalCell,
  type Screen,
  type TerminalStep,
} from '../terminal.js';
import { runWithTemporaryHome } from '../temporary-home.js';
import { UsageError } from '../usage-error.js';
import { readEngineVersion } from '../version.js';
import { timeKernels, type KernelTiming } from './kernels.js';
import { measureLimits, readProcessorName, type MachineLimits } from './machine.js';
import { benchGeneratedWork, benchStoredWork, type MarketSize, type WorkTiming, type WorkWatch } from './work.js';

const GRAMMAR: Grammar = {
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
