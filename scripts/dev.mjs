// `npm run dev`: builds and restarts the service after each change of a source. Arguments are passed to `divisor
// serve`. A change that does not compile leaves the running service unchanged.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { build, BuildFailure } from './build.mjs';
import { watchFolders } from './watch-folders.mjs';

const WATCHED = ['src', 'kernels', 'workers', 'data'];
/** Quiet time after a change: an editor writes a file in several steps, a checkout many files. */
const QUIET_MS = 100;

let service;
let timer;
let working = Promise.resolve();

watchFolders(WATCHED, restartAfterChange);
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => end(signal));
working = restart();

function restartAfterChange(file) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    process.stderr.write(`${file} changed\n`);
    working = working.then(restart);
  }, QUIET_MS);
}

async function restart() {
  try {
    await build({ compileOnly: true });
  } catch (failure) {
    if (!(failure instanceof BuildFailure)) throw failure;
    process.stderr.write(`${failure.message}\n`);
    return;
  }
  await stop('SIGTERM');
  service = spawn(process.execPath, ['dist/src/main.js', 'serve', '--drain-ms', '0', ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
}

async function stop(signal) {
  if (service === undefined || service.exitCode !== null || service.signalCode !== null) return;
  service.kill(signal);
  await once(service, 'close');
}

async function end(signal) {
  clearTimeout(timer);
  await working;
  await stop(signal);
  process.exit(0);
}
