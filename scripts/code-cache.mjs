// Keeps what V8 made of the command line (`src/code-cache.ts`), once it has done in this process what every start does: the
// functions that were run are compiled, and no start compiles them again.
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { CODE_CACHE, readScript, runScript } from '../dist/src/code-cache.js';

// V8 forgets code that was not run for a while. The flag is as it was when the cache is made: another set refuses it.
setFlagsFromString('--no-flush-bytecode');
const home = await mkdtemp(join(tmpdir(), 'divisor-code-cache-'));
const script = readScript();
const { dispatch } = runScript(script);
const { stdout } = process;
const write = stdout.write.bind(stdout);
stdout.write = (text, ...rest) => {
  if (String(text).startsWith('listening on')) setImmediate(() => process.kill(process.pid, 'SIGTERM'));
  const told = rest.at(-1);
  if (typeof told === 'function') told();
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
writeFileSync(CODE_CACHE, script.createCachedData());
await rm(home, { recursive: true });
process.exit();
