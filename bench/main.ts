import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Limits } from '#cli/bench/machine.js';
import type { Timing } from './kernels/measure.js';
import { keyOf, RESULTS, storedTimings } from './stored-results.js';
import { DECLARED, KEEPS, variablesOf } from './declared-variables.js';
import { EXIT_USAGE, refuse, unknownVariable } from './variables.js';

/**
 * Runs the benchmarks one after the other, each in a process of its own.
 *
 *     npm run bench                          all of them
 *     npm run bench -- kernels cholesky      those whose path has the words
 *     npm run bench -- peers                 the running service beside numpy, pandas and cvxopt, the optimiser beside its
 *                                            peers, stores beside DuckDB; answers compared
 *     npm run bench -- report                what jobs cost as they grow, drawn and held to the stored results
 *     npm run bench -- goals                 the table of goals in docs/performance.md but its large stores: two hours,
 *                                            a free machine
 *     npm run bench -- --help                the benches with their variables, and the words for several
 *     npm run bench -- --json                stores the timings of kernels, objectives, peers and growth in bench/results, and
 *                                            the picture of growth; nothing else writes there
 *     npm run bench -- --compare             prints each against the last that was stored of it
 */
const folder = fileURLToPath(new URL('.', import.meta.url));

interface BothLimits {
  readonly pinned: Limits | null;
  readonly free: Limits;
}

interface StoredResults {
  readonly date: string;
  readonly processor: string;
  readonly node: string;
  /** As the environment pins the BLAS, and with its variables unset: kernels run unset. Absent until kernels are timed. */
  readonly limits?: BothLimits;
  readonly timings: readonly Timing[];
}

const flags = new Set(process.argv.slice(2).filter((word) => word.startsWith('--')));
const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const FLAGS = ['--json', '--compare', '--help'];
const unknown = [...flags].filter((flag) => !FLAGS.includes(flag));
if (unknown.length > 0) refuse(`unknown option ${unknown.join(', ')}; ${FLAGS.join(', ')} are known`);
const misnamed = unknownVariable(process.env);
if (misnamed !== undefined) refuse(misnamed);

/** Words that stand for benches. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  report: ['http/growth'],
  peers: ['http/peers', 'kernels/optimisation/peers', 'market/read-store'],
  goals: [
    'http/peers',
    'http/requests',
    'http/many-indices',
    'cli/start',
    'workers/sweep',
    'workers/estimate-risk-model',
    'market/read-store',
    'market/served-store',
    'optimisation/class-pairs',
    'optimisation/peers',
    'optimisation/derived',
    'optimisation/factor-model',
    'optimisation/risk-parity',
    'optimisation/tails',
    'risk/style-model',
    'http/exposures',
    'domain/backtest',
  ],
};

const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.bench.js'))
  .toSorted();
if (flags.has('--help')) {
  console.log(`npm run bench -- [WORDS] [--json] [--compare]\n\n${listed()}`);
  process.exit(0);
}
const benches = all.filter((file) =>
  words.every((word) => (ALIASES[word] ?? [word]).some((part) => file.includes(part))),
);
if (benches.length === 0)
  refuse(`no benchmark has ${words.map((word) => `"${word}"`).join(' and ')} in its path; there are\n${listed()}`);
tellUnread();
const processor = `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores`;
const date = new Date().toISOString().slice(0, 10);
console.log(`${processor}, Node ${process.version}, ${date}`);

const free = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('OPENBLAS_')));
const pins = Object.entries(process.env).filter(([name]) => name.startsWith('OPENBLAS_'));
const limits = benches.some((bench) => bench.startsWith('kernels')) ? await bothLimits() : undefined;
const timings: Timing[] = [];
const stored = storedTimings();

for (const bench of benches) {
  console.log(`\n${bench.replace('.bench.js', '')}`);
  const child = start(bench, {
    ...free,
    ...(limits && { BENCH_LIMITS: JSON.stringify(limits.free) }),
    ...(flags.has('--json') && { [KEEPS]: 'on' }),
  });
  child.on('message', (timing) => timings.push(timing as Timing)); // sent as timings alone
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) process.exitCode = status === EXIT_USAGE ? EXIT_USAGE : 1;
}

if (flags.has('--compare')) compare();
if (flags.has('--json') && timings.length > 0)
  keep({ date, processor, node: process.version, timings, ...(limits && { limits }) });

/** The benches with their variables, and the words for several. */
function listed(): string {
  const lines = all.map((file) => [file.replace('.bench.js', ''), ...variablesOf(file)].join('  '));
  const several = Object.entries(ALIASES).map(([word, parts]) => `${word}: ${parts.join(', ')}`);
  return [...lines, '', ...several].join('\n');
}

/** Says which variables the chosen benches do not read. */
function tellUnread(): void {
  const read = new Set(benches.flatMap(variablesOf).map((variable) => variable.split('=', 1)[0]));
  const given = [...DECLARED.keys()].filter((name) => process.env[name] !== undefined && !read.has(name));
  if (given.length > 0) console.log(`not read by what runs: ${given.join(', ')}`);
}

function start(file: string, env: NodeJS.ProcessEnv): ChildProcess {
  return fork(`${folder}${file}`, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
}

/** The machine as the environment shows it to a BLAS, and as it is. */
async function bothLimits(): Promise<BothLimits> {
  const pinned = pins.length > 0 ? await limitsUnder(process.env) : null;
  if (pinned !== null)
    console.log(`pinned by ${pins.map(([name, value]) => `${name}=${value}`).join(' ')}: ${sentence(pinned)}`);
  const unset = await limitsUnder(free);
  console.log(`${pinned === null ? '' : 'unset, as the benchmarks run: '}${sentence(unset)}`);
  return { pinned, free: unset };
}

async function limitsUnder(env: NodeJS.ProcessEnv): Promise<Limits> {
  const child = start('kernels/measure-limits.js', env);
  const [measured] = (await once(child, 'message')) as [Limits];
  return measured;
}

function sentence({ blas, blasName, wasm, sweep }: Limits): string {
  return `${blasName}${blas === null ? '' : ` ${blas.toFixed(0)} GFLOP/s`}; WebAssembly ${wasm.toFixed(0)} GFLOP/s; memory sweep ${sweep.toFixed(0)} GB/s`;
}

/** Timings of the same day and version are merged, so that one bench can be measured again. */
function keep(run: StoredResults): void {
  mkdirSync(RESULTS, { recursive: true });
  const file = `${RESULTS}${run.date}-node${run.node.slice(1).split('.')[0]}.json`;
  const sameDay = readChecked(file);
  const earlier = sameDay?.timings ?? [];
  const again = new Set(run.timings.map(keyOf));
  const merged = [...earlier.filter((timing) => !again.has(keyOf(timing))), ...run.timings];
  writeFileSync(file, `${JSON.stringify({ ...sameDay, ...run, timings: merged }, null, 1)}\n`);
  console.log(`\n${run.timings.length} timings kept in ${file}`);
}

function readChecked(file: string): StoredResults | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as StoredResults; // written by `keep`
  } catch {
    return undefined; // none yet
  }
}

function compare(): void {
  console.log('\ntime now / time as it was stored last');
  for (const timing of timings) {
    const earlier = stored.get(keyOf(timing));
    if (earlier !== undefined)
      console.log(
        `${(timing.minMs / earlier.minMs).toFixed(2).padStart(6)}  ${keyOf(timing)}, ${earlier.date}, Node ${earlier.node}`,
      );
  }
}
