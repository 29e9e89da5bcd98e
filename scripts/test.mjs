// `npm test`: builds, checks the sources and runs the short test files and, for each row of the table of guarantees that
// has no short one, the shortest test named there. `--rest` runs all other files; `npm run test:all` runs both parts. Files and
// titles that the options of vitest choose run whatever their part is.
//
// `--timings` runs every file and writes their durations to test/timings.json. Run it on an otherwise idle machine: only
// the proportions of the durations matter.
//
// A few files that failed run again, one after another, when nothing else uses the machine: a test that fails only next to
// others differs from one that always fails. Both results are printed, and the last line of counts is that of all files.
// A file whose process ended without a result has failed, too.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { parseCLI, startVitest } from 'vitest/node';
import { buildOrEnd, NEEDS_ANSWERS } from './build.mjs';

/** Duration from which a file belongs to the rest, in the seconds of test/timings.json. */
const LONG_SECONDS = 5;
/** Shortest recorded duration; the start order of shorter files does not matter. */
const RECORDED_SECONDS = 2;
const TIMINGS = 'test/timings.json';
const GUARANTEES = 'data/guide/promises.md';
/** Maximum number of failed files that run again; more of them have one cause, which is not the load of the machine. */
const REPEATED_MAX = 5;

/** States of a file that has run to its end. */
const END_STATES = ['passed', 'failed', 'skipped'];
/** Message of vitest for a process that ended while it ran a file. */
const ENDED_PROCESS = 'Worker exited unexpectedly';

const flags = ['--rest', '--timings'].filter((flag) => process.argv.includes(flag));
const { filter, options } = parseCLI([
  'vitest',
  'run',
  ...process.argv.slice(2).filter((word) => !flags.includes(word)),
]);
const isTimed = flags.includes('--timings');
const parts = divideFiles();
const hasChoice = filter.length > 0 || options.testNamePattern !== undefined;
const isShort = !flags.includes('--rest') && !isTimed && !hasChoice;
await buildOrEnd({ lint: isShort, answers: !isShort });

const part = isShort ? parts.short : parts.rest;
const names = hasChoice || isTimed ? filter : part.map(toCompiled);
const results = await run(names, options);
if (isTimed) writeTimings();
const failed = [...results].filter(([, { isPassed }]) => !isPassed).map(([file]) => file);
if (failed.length > 0 && failed.length <= REPEATED_MAX) {
  process.stdout.write(`\nFailed, and run again one after another:\n${list(failed)}\n`);
  const repeated = await run(failed, { ...options, fileParallelism: false });
  for (const [file, result] of repeated) results.set(file, result);
  const unstable = failed.filter((file) => results.get(file).isPassed);
  if (unstable.length > 0) process.stdout.write(`\nPassed only in the second run, a defect:\n${list(unstable)}\n`);
  const [fails, passes, skips] = ['failed', 'passed', 'skipped'].map((state) => count(state));
  const counts = [fails > 0 && `${fails} failed`, `${passes} passed`, skips > 0 && `${skips} skipped`].filter(Boolean);
  process.stdout.write(`\n      Tests  ${counts.join(' | ')} (${fails + passes + skips})\n`);
  process.exitCode = failed.length > unstable.length || repeated.size < failed.length ? 1 : 0;
}

/** Divides the test files, named by their path below `test/` without the ending, into those of `npm test` and the rest. */
function divideFiles() {
  const timings = JSON.parse(readFileSync(TIMINGS, 'utf8'));
  const files = readdirSync('test', { recursive: true })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.slice(0, -'.test.ts'.length));
  const secondsOf = (file) => timings[`${file}.test.ts`] ?? 0;
  const short = new Set(files.filter((file) => secondsOf(file) < LONG_SECONDS && !NEEDS_ANSWERS.test(file)));
  for (const tests of readGuarantees()) {
    const named = files.filter((file) => tests.some((test) => file === test || file.startsWith(`${test}/`)));
    if (named.some((file) => short.has(file))) continue;
    const shortest = named.toSorted((a, b) => secondsOf(a) - secondsOf(b))[0];
    if (shortest === undefined) throw new Error(`${GUARANTEES}: there is no test ${tests.join(', ')}`);
    short.add(shortest);
  }
  return { short: [...short], rest: files.filter((file) => !short.has(file)) };
}

/** Reads the tests of each row of the table of guarantees. */
function readGuarantees() {
  const lines = readFileSync(GUARANTEES, 'utf8').split('\n');
  const first = lines.findIndex((line) => line.startsWith('| guarantee | test |')) + 2;
  const end = lines.findIndex((line, i) => i > first && !line.startsWith('|'));
  return lines.slice(first, end).map((line) =>
    line
      .split('|')[2]
      .split(',')
      .map((test) => test.trim()),
  );
}

function toCompiled(file) {
  return `dist/test/${file}.test.js`;
}

/** Runs test files. @returns whether each file passed, how many of its tests had each state, and its ms, by path */
async function run(files, settings) {
  process.exitCode = 0;
  const vitest = await startVitest('test', files, { ...settings, watch: false });
  const found = new Map();
  let unfinished = 0;
  for (const module of vitest.state.getTestModules()) {
    const counts = { failed: 0, passed: 0, skipped: 0 };
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      counts[state in counts ? state : 'failed']++;
    }
    const hasEnded = END_STATES.includes(module.state());
    const isPassed = module.ok() && hasEnded;
    if (!isPassed && counts.failed === 0) counts.failed = 1; // the file itself failed
    if (!hasEnded) {
      unfinished++;
      process.stdout.write(`\nThe process of ${relative('.', module.moduleId)} ended before its result.\n`);
    }
    const { collectDuration, setupDuration, duration } = module.diagnostic();
    found.set(relative('.', module.moduleId), { isPassed, counts, ms: collectDuration + setupDuration + duration });
  }
  const errors = vitest.state.getUnhandledErrors();
  const endings = errors.filter(({ cause }) => cause?.message === ENDED_PROCESS);
  await vitest.close();
  if (errors.length > endings.length || endings.length > unfinished) process.exit(1);
  return found;
}

function writeTimings() {
  const seconds = [...results].map(([file, { ms }]) => [
    file.replace(/^dist\/test\//, '').replace(/\.js$/, '.ts'),
    Math.round(ms / 1000),
  ]);
  const long = seconds
    .filter(([, taken]) => taken >= RECORDED_SECONDS)
    .toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  writeFileSync(TIMINGS, `${JSON.stringify(Object.fromEntries(long), null, 2)}\n`);
}

function count(state) {
  return [...results.values()].reduce((sum, { counts }) => sum + counts[state], 0);
}

function list(files) {
  return files.map((file) => `  ${file}`).join('\n');
}
