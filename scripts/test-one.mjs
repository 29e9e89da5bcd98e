// `npm run test:one -- NAME...`: builds what changed and runs the test files whose path contains a NAME, as
// test/store/documents.test.ts, store/documents or documents. Options go to vitest: `-t 'part of a title'`.
import { spawn } from 'node:child_process';
import { buildOrEnd } from './build.mjs';

const words = process.argv.slice(2);
if (words.length === 0) {
  process.stderr.write('Which tests? npm run test:one -- NAME; `npm test` runs all of them.\n');
  process.exit(64);
}

await buildOrEnd();
const names = words.map((word) => word.replace(/^(dist\/)?test\//, '').replace(/\.ts$/, '.js'));
const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...names], { stdio: 'inherit' });
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal));
child.once('close', (status) => process.exit(status ?? 1));
