// `npm run test:timings`: runs every test file and writes the duration of each to test/timings.json; vitest.config.mjs
// orders the files by it. Run it on an otherwise idle machine. Only the proportions of the durations matter.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startVitest } from 'vitest/node';
import { buildOrEnd } from './build.mjs';

/** Minimum recorded duration; the start order of shorter files does not matter. */
const SECONDS_MIN = 2;

const root = fileURLToPath(new URL('../dist/test/', import.meta.url));
await buildOrEnd({});
const vitest = await startVitest('test');
const seconds = vitest.state.getTestModules().map((module) => {
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  const file = module.moduleId.replace(root, '').replace(/\.js$/, '.ts');
  return [file, Math.round((collectDuration + setupDuration + duration) / 1000)];
});
await vitest.close();
const long = seconds
  .filter(([, taken]) => taken >= SECONDS_MIN)
  .toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
writeFileSync('test/timings.json', `${JSON.stringify(Object.fromEntries(long), null, 2)}\n`);
