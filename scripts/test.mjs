// Second part of `npm test`: runs every test, or the files and titles that the options of vitest choose. A few files that
// failed run again, one after another, when nothing else uses the machine: a test that fails only next to others differs
// from one that always fails. Both results are printed, and the last line of counts is that of all files.
import { relative } from 'node:path';
import { parseCLI, startVitest } from 'vitest/node';

/** Maximum number of failed files that run again; more of them have one cause, which is not the load of the machine. */
const REPEATED_MAX = 5;

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);
const results = await run(filter, options);
const failed = [...results].filter(([, { isPassed }]) => !isPassed).map(([file]) => file);
if (failed.length > 0 && failed.length <= REPEATED_MAX) {
  process.stdout.write(`\nFailed, and run again one after another:\n${list(failed)}\n`);
  const repeated = await run(failed, { ...options, fileParallelism: false });
  for (const [file, result] of repeated) results.set(file, result);
  const unstable = failed.filter((file) => results.get(file).isPassed);
  if (unstable.length > 0) process.stdout.write(`\nPassed only in the second run, a defect:\n${list(unstable)}\n`);
  const [fails, passes, skips] = ['failed', 'passed', 'skipped'].map((state) => count(state));
  const parts = [fails > 0 && `${fails} failed`, `${passes} passed`, skips > 0 && `${skips} skipped`].filter(Boolean);
  process.stdout.write(`\n      Tests  ${parts.join(' | ')} (${fails + passes + skips})\n`);
  process.exitCode = failed.length > unstable.length || repeated.size < failed.length ? 1 : 0;
}

/** Runs test files. @returns whether each file passed and how many of its tests had each state, by path */
async function run(names, settings) {
  process.exitCode = 0;
  const vitest = await startVitest('test', names, { ...settings, watch: false });
  const files = new Map();
  for (const module of vitest.state.getTestModules()) {
    const counts = { failed: 0, passed: 0, skipped: 0 };
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      counts[state in counts ? state : 'failed']++;
    }
    const isPassed = module.ok();
    if (!isPassed && counts.failed === 0) counts.failed = 1; // the file itself failed
    files.set(relative('.', module.moduleId), { isPassed, counts });
  }
  const errors = vitest.state.getUnhandledErrors();
  await vitest.close();
  if (errors.length > 0) process.exit(1);
  return files;
}

function count(state) {
  return [...results.values()].reduce((sum, { counts }) => sum + counts[state], 0);
}

function list(files) {
  return files.map((file) => `  ${file}`).join('\n');
}
