import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates the folder for files that one run shares, and removes it after the run. */
export function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'divisor-tests-'));
  process.env.TEST_RUN_FOLDER = folder;
  return () => {
    for (const pid of numbersIn(join(folder, 'postgresql', 'data', 'postmaster.pid')).slice(0, 1)) end(pid, 'SIGQUIT');
    for (const pid of numbersIn(join(folder, 'ceph', 'pids'))) end(pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}

/** Returns the lines of a file that are numbers; none if the file does not exist. */
function numbersIn(file) {
  try {
    return (readFileSync(file, 'utf8').match(/^\d+$/gm) ?? []).map(Number);
  } catch {
    return [];
  }
}

function end(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already ended.
  }
}
