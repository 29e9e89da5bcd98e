import { Bench } from 'tinybench';
import { ENGINE_NAMES, type Engine, type EngineName } from '#kernels/engines/engine.js';
import { openblasEngine } from '#kernels/engines/openblas.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { tensorflowEngine } from '#kernels/engines/tensorflow.js';
import { relaxedWasmEngine, wasmEngine } from '#kernels/engines/wasm.js';
import type { Limits } from '#cli/bench/machine.js';
import type { Spread } from '../http/growth/trend.js';

/** One timing as it is kept in `bench/results`. */
export interface Timing {
  readonly kernel: string;
  readonly size: string;
  readonly engine: string;
  readonly minMs: number;
  readonly medianMs: number;
  /** Least time by the clock, where the others are of the processor. */
  readonly clockMs?: number;
  /** GFLOP/s or GB/s of the fastest run, with its unit; absent where neither means anything. */
  readonly rate?: number;
  readonly unit?: 'GFLOP/s' | 'GB/s';
  /** Processor time of the turns in yardsticks, where growth is timed. */
  readonly yardsticks?: Spread;
}

/** One size of a kernel. */
export interface KernelCase {
  readonly size: string;
  /** Floating point operations of one call: the rate is reported in GFLOP/s. */
  readonly flops?: number;
  /** Bytes that must move: the rate is reported in GB/s. */
  readonly bytes?: number;
  /** Lays out operands on the engine and gives the call to time. What it returns is kept from the optimiser. */
  prepare(engine: Engine): () => unknown;
  /** Engines to leave out, because they would take minutes or have no version of their own. */
  readonly without?: readonly EngineName[];
}

/** The sizes of the figures: names x observations. What is square has the orders of `orders.ts`. */
export const SIZES: readonly (readonly [assets: number, observations: number])[] = [
  [50, 504],
  [500, 756],
  [500, 2520],
  [2000, 1260],
  [3000, 756],
];

const MEASURE_MS = 250;
const WARM_MS = 60;

/** Calls longer than this are timed once after the first. */
const ONCE_FROM_MS = 2_000;

/** Calls longer than this are timed by the processor time they take: what else runs on the machine does not count then. */
const PROCESSOR_CLOCK_FROM_MS = 0.5;

const limits = JSON.parse(process.env['BENCH_LIMITS'] ?? 'null') as Limits | null;

/** Times a kernel on every engine there is, prints a line each and tells the parent process. */
export async function measure(
  kernel: string,
  cases: readonly KernelCase[],
  names: readonly EngineName[] = ENGINE_NAMES,
): Promise<void> {
  const engines = await openAll(names);
  // Engine by engine: what one leaves in the shared cache would slow the next on panels that nearly fill it.
  for (const engine of engines) {
    for (const each of cases) {
      if (each.without?.includes(engine.name) === true) continue;
      report({ kernel, size: each.size, engine: engine.name, ...time(engine, each) });
    }
  }
}

/** What a kernel does to a panel of so many names and observations. */
type PanelWork = (
  engine: Engine,
  x: Float64Array,
  size: { readonly assets: number; readonly observations: number },
) => () => unknown;

/** Times passes over panels that BLAS has no routine for, and that move so many bytes for every value. */
export function measurePasses(kernel: string, bytesOfValue: number, work: PanelWork): Promise<void> {
  return measure(
    kernel,
    SIZES.map(([assets, observations]) => ({
      size: `${observations} x ${assets}`,
      bytes: bytesOfValue * observations * assets,
      without: ['tensorflow', 'openblas'] as const,
      prepare(engine) {
        const x = engine.allocate(observations * assets);
        x.set(seededPanel(x.length));
        return work(engine, x, { assets, observations });
      },
    })),
  );
}

/** Times work that belongs to no engine. */
export function measurePlain(
  kernel: string,
  size: string,
  work: () => unknown,
  amount: { readonly flops?: number; readonly bytes?: number } = {},
): void {
  report({ kernel, size, engine: 'plain', ...time(referenceEngine, { size, ...amount, prepare: () => work }) });
}

async function openAll(names: readonly EngineName[]): Promise<readonly Engine[]> {
  const open: Record<EngineName, () => Promise<Engine>> = {
    wasm: async () => wasmEngine(),
    'wasm-relaxed': async () => relaxedWasmEngine(),
    openblas: () => openblasEngine(wasmEngine()),
    tensorflow: () => tensorflowEngine(wasmEngine()),
    reference: async () => referenceEngine,
  };
  const opened = await Promise.all(names.map((name) => open[name]().catch(() => undefined)));
  return opened.filter((engine) => engine !== undefined);
}

let sink: unknown; // Read by nobody, but the optimiser does not know.

function time(engine: Engine, { flops, bytes, prepare }: KernelCase): Omit<Timing, 'kernel' | 'size' | 'engine'> {
  const result = engine.scope(() => {
    const work = prepare(engine);
    const once = performance.now();
    sink = work();
    const firstMs = performance.now() - once;
    const repeats =
      firstMs > ONCE_FROM_MS
        ? { iterations: 1, warmup: false }
        : { iterations: 3, warmupTime: WARM_MS, warmupIterations: 1 };
    const bench = new Bench({
      time: MEASURE_MS,
      ...repeats,
      ...(firstMs > PROCESSOR_CLOCK_FROM_MS ? { now: processorMs } : {}),
    });
    bench.add('work', () => {
      sink = work();
    });
    bench.runSync();
    return bench.tasks[0]?.result;
  });
  if (result === undefined || !('latency' in result))
    throw new Error(`the work did not run: ${JSON.stringify(result)}`);
  const { min: minMs, p50: medianMs } = result.latency;
  if (flops !== undefined) return { minMs, medianMs, rate: flops / minMs / 1e6, unit: 'GFLOP/s' };
  if (bytes !== undefined) return { minMs, medianMs, rate: bytes / minMs / 1e6, unit: 'GB/s' };
  return { minMs, medianMs };
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function report(timing: Timing): void {
  const { kernel, size, engine, minMs, medianMs, rate, unit } = timing;
  const shown = rate === undefined ? '' : `${rate.toFixed(1).padStart(8)} ${unit}${shareOf(timing)}`;
  console.log(
    `${kernel.padEnd(30)} ${size.padEnd(14)} ${engine.padEnd(11)} min ${milliseconds(minMs)}  median ${milliseconds(medianMs)}${shown}`,
  );
  process.send?.(timing);
  if (sink === timing) console.log('unreachable');
}

/** How near a rate comes to what the machine showed it can do. */
function shareOf({ rate, unit, engine }: Timing): string {
  if (limits === null || rate === undefined) return '';
  const limit = unit === 'GB/s' ? limits.sweep : engine === 'openblas' ? limits.blas : limits.wasm;
  return limit === null
    ? ''
    : `  ${Math.round((100 * rate) / limit)} % of ${unit === 'GB/s' ? 'the sweep' : engine === 'openblas' ? 'its product' : 'the wasm product'}`;
}

function milliseconds(value: number): string {
  return `${value < 10 ? value.toFixed(3) : value.toFixed(1)} ms`.padStart(11);
}

/** Seeded values about 0, as returns are. */
export function seededPanel(length: number, seed = 42): Float64Array {
  let state = seed;
  return Float64Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state / 2 ** 31) * 0.02;
  });
}
