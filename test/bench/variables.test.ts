import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createClock } from '../../bench/measure.js';
import { computeMedian } from '#domain/base/numbers.js';
import { DECLARED, findUnknownVariable, listVariables } from '../../bench/variables.js';

const sources = readdirSync('bench', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const pageText = readFileSync('docs/performance.md', 'utf8');
const run = (words: readonly string[], variables: Readonly<Record<string, string>> = {}) =>
  spawnSync(process.execPath, ['dist/bench/main.js', ...words], {
    encoding: 'utf8',
    env: { ...process.env, ...variables },
  });

test('every variable belongs to an existing bench, and the page states its default', () => {
  const benches = sources.filter((file) => file.endsWith('.bench.ts'));
  for (const [name, { of }] of DECLARED) {
    expect(pageText).toContain(`\`${name}\``);
    for (const [word, otherwise] of Object.entries(of)) {
      expect(benches.some((file) => file.includes(word))).toBe(true);
      if (typeof otherwise === 'number' && otherwise !== Infinity)
        expect(pageText).toContain(`\`${name}\` (${otherwise.toLocaleString('en')})`);
    }
  }
});

test('no bench reads an undeclared variable', () => {
  const childVariables = new Set(['BARE_BODY', 'BARE_HEADERS', 'DIVISOR_API_KEYS']); // variables that benches set for their child processes
  const readNames = sources.flatMap((file) =>
    [...readFileSync(`bench/${file}`, 'utf8').matchAll(/process\.env\['([A-Z_]+)'\]/g)].map(([, name]) => name!),
  );
  expect(readNames.filter((name) => !childVariables.has(name))).toEqual([]);
});

test('a misspelt variable of a bench is reported with the nearest known one; variables of other programs are ignored', () => {
  expect(findUnknownVariable({ START_TURNZ: '3' })).toBe(
    'no benchmark reads the variable START_TURNZ; known are START_TURNS, START_IDLE_MS. Did you mean START_TURNS?',
  );
  expect(findUnknownVariable({ START_TURNS: '3', PATH: '/bin', HOME: '/', TURNS: '1' })).toBeUndefined();
});

test('a wrong option, word, value or variable exits with 64 and lists the accepted ones', () => {
  const [option, word, value, variable, folder] = [
    run(['--jsn']),
    run(['nothere']),
    run(['workers/sweep'], { SWEEP_VARIANTS: '30' }),
    run(['cli/start'], { START_TURNZ: '3' }),
    run(['http/peers'], { BENCH_PEERS: '/nowhere' }),
  ] as const;
  expect([option, word, value, variable, folder].map(({ status }) => status)).toEqual([64, 64, 64, 64, 64]);
  expect(folder.stderr).toBe('BENCH_PEERS is "/nowhere", which is not there\n');
  expect(option.stderr).toBe('unknown option --jsn; --help is known\n');
  for (const file of sources.filter((name) => name.endsWith('.bench.ts')))
    expect(word.stderr).toContain(file.replace('.bench.ts', ''));
  expect(value.stderr).toBe('SWEEP_VARIANTS is "30"; it must be a multiple of 20 of at least 20\n');
  expect(variable.stderr).toContain('Did you mean START_TURNS?');
});

test('the help lists the benches with their variables', () => {
  const help = execFileSync(process.execPath, ['dist/bench/main.js', '--help'], { encoding: 'utf8' });
  expect(help).toContain('\nworkers/sweep  SWEEP_VARIANTS=1000\n');
  expect(help).toContain('\npeers: http/peers, kernels/optimisation/peers\n');
  expect(listVariables('http/requests.bench.js')).toEqual([]);
});

test('the median of an even number of values is the mean of the two in the middle', () => {
  expect(computeMedian([4, 1, 3, 2])).toBe(2.5);
  expect(computeMedian([9, 1, 5])).toBe(5);
  expect(computeMedian([])).toBeNaN();
});

test('processor time includes ended threads, and uses the coarse clock if that is ahead', () => {
  const threads = new Map([
    ['1', 10.25],
    ['2', 3.5],
  ]);
  let wholeMs = 10;
  const clock = createClock({ threads: () => new Map(threads), readProcessMs: () => wholeMs });
  expect(clock()).toBe(13.75);
  threads.delete('2');
  threads.set('1', 11.25);
  expect(clock()).toBe(14.75);
  wholeMs = 40; // a thread started and ended between two samples
  expect(clock()).toBe(40);
  threads.set('3', 30);
  expect(clock()).toBe(44.75);
});
