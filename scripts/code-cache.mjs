// Keeps what V8 made of the command line (`src/code-cache.ts`), once it has done in this process what every start does: the
// functions that were run are compiled, and no start compiles them again.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { CODE_CACHE, readScript, runScript } from '../dist/src/code-cache.js';

// V8 discards code that has not run for a while. The cache is created with the flags that a service sets
// (`src/jobs/lane-threads.ts`), because V8 refuses it with others.
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
// A separate process, like every start, has none of the flags of this one.
const module = JSON.stringify(new URL('../dist/src/code-cache.js', import.meta.url).href);
const look = `const { CODE_CACHE, readScript } = await import(${module});
process.exitCode = readScript(process.getBuiltinModule('node:fs').readFileSync(CODE_CACHE)).cachedDataRejected ? 1 : 0;`;
execFileSync(process.execPath, ['--input-type=module', '--eval', look]);
await rm(home, { recursive: true });
process.exit();
