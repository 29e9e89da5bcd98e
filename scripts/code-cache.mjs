// Creates the code cache of the command line for V8 (`src/code-cache.ts`). This process runs the commands of a typical
// start first, so that the cache contains the compiled functions and later starts need not compile them.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { CODE_CACHE, readScript, runScript } from '../dist/src/code-cache.js';

// V8 discards compiled functions that have not run for a while. The cache is created with the flags that a service sets
// (`src/jobs/pool.ts`), because V8 rejects a cache created with different flags.
setFlagsFromString('--no-flush-bytecode');
const home = await mkdtemp(join(tmpdir(), 'divisor-code-cache-'));
const script = readScript();
const { dispatch } = runScript(script);
const { stdout } = process;
const write = stdout.write.bind(stdout);
stdout.write = (text, ...rest) => {
  if (String(text).startsWith('listening on')) setImmediate(() => process.kill(process.pid, 'SIGTERM'));
  const onWritten = rest.at(-1);
  if (typeof onWritten === 'function') reportReady();
  return true;
};
const environment = { DIVISOR_LOG_LEVEL: 'error' };
for (const [command, ...args] of [
  ['--version'],
  ['--help'],
  ['index', 'list', '--home', home],
  ['serve', '--home', home, '--port', '0', '--drain-ms', '0', '--workers', '1'],
]) {
  const status = await dispatch([command, ...args], environment);
  if (status !== 0) throw new Error(`${command} ended with ${status}`);
}
stdout.write = write;
setFlagsFromString('--flush-bytecode');
setFlagsFromString('--heap-growing-percent=0');
writeFileSync(CODE_CACHE, script.createCachedData());
// Verifies in a separate process, which has default flags like every start, that V8 accepts the cache.
const module = JSON.stringify(new URL('../dist/src/code-cache.js', import.meta.url).href);
const look = `const { CODE_CACHE, readScript } = await import(${module});
process.exitCode = readScript(process.getBuiltinModule('node:fs').readFileSync(CODE_CACHE)).cachedDataRejected ? 1 : 0;`;
execFileSync(process.execPath, ['--input-type=module', '--eval', look]);
await rm(home, { recursive: true });
process.exit();
