import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { DECLARED, EXIT_USAGE, refuse, findUnknownVariable, listVariables } from './variables.js';

/**
 * Runs the benchmarks one after the other, each in a separate process.
 *
 *     npm run bench                          all benchmarks
 *     npm run bench -- optimisation tails    benchmarks whose path contains each of the words
 *     npm run bench -- peers                 compares the running service with numpy, pandas and cvxopt, and the optimiser
 *                                            with other solvers; also compares the results
 *     npm run bench -- goals                 the rows of the table of goals in docs/performance.md: two hours on a free machine
 *     npm run bench -- --help                lists the benchmarks with their variables, and the words for several benchmarks
 */
const folder = fileURLToPath(new URL('.', import.meta.url));

const flags = new Set(process.argv.slice(2).filter((word) => word.startsWith('--')));
const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const unknownFlags = [...flags].filter((flag) => flag !== '--help');
if (unknownFlags.length > 0) refuse(`unknown option ${unknownFlags.join(', ')}; --help is known`);
const unknownVariable = findUnknownVariable(process.env);
if (unknownVariable !== undefined) refuse(unknownVariable);

/** Words that select several benches. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  peers: ['http/peers', 'kernels/optimisation/peers'],
  goals: [
    'http/peers',
    'http/circumstances',
    'http/requests',
    'http/memory',
    'http/many-indices',
    'cli/start',
    'workers/sweep',
    'workers/estimate-risk-model',
    'optimisation/class-pairs',
    'optimisation/peers',
    'optimisation/derived',
    'optimisation/maros-meszaros',
    'optimisation/objectives',
    'optimisation/tails',
    'risk/style-model',
    'http/exposures',
    'domain/backtest',
  ],
};

const allFiles = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.bench.js'))
  .toSorted();
if (flags.has('--help')) {
  console.log(`npm run bench -- [WORDS]\n\n${describeBenches()}`);
  process.exit(0);
}
const benches = allFiles.filter((file) =>
  words.every((word) => (ALIASES[word] ?? [word]).some((part) => file.includes(part))),
);
if (benches.length === 0)
  refuse(
    `no benchmark has ${words.map((word) => `"${word}"`).join(' and ')} in its path; there are\n${describeBenches()}`,
  );
printUnreadVariables();
const processorName = `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores`;
const date = new Date().toISOString().slice(0, 10);
console.log(`${processorName}, Node ${process.version}, ${date}`);

for (const bench of benches) {
  console.log(`\n${bench.replace('.bench.js', '')}`);
  const child = fork(`${folder}${bench}`, { stdio: 'inherit' });
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) process.exitCode = status === EXIT_USAGE ? EXIT_USAGE : 1;
}

/** Lists the benches with their variables, and the words that select several benches. */
function describeBenches(): string {
  const lines = allFiles.map((file) => [file.replace('.bench.js', ''), ...listVariables(file)].join('  '));
  const aliasLines = Object.entries(ALIASES).map(([word, parts]) => `${word}: ${parts.join(', ')}`);
  return [...lines, '', ...aliasLines].join('\n');
}

function printUnreadVariables(): void {
  const read = new Set(benches.flatMap(listVariables).map((variable) => variable.split('=', 1)[0]));
  const unreadNames = [...DECLARED.keys()].filter((name) => process.env[name] !== undefined && !read.has(name));
  if (unreadNames.length > 0) console.log(`not read by what runs: ${unreadNames.join(', ')}`);
}
