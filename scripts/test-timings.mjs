// `npm run test:timings`: runs every test file and writes how long each took to test/timings.json, by which
// vitest.config.mjs orders them. Run it alone on a machine; the order needs no more than their proportions.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startVitest } from 'vitest/node';
import { buildOrEnd } from './build.mjs';

/** Shorter files may start at any time. */
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
