import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/**
 * Prepares the environment of all tests and creates a folder for files that they share. @returns a function that
 * removes the folder
 */
export function setup() {
  shortenStarts();
  const folder = mkdtempSync(join(tmpdir(), 'divisor-tests-'));
  process.env.TEST_RUN_FOLDER = folder;
  return () => {
    for (const pid of readNumbers(join(folder, 'postgresql', 'data', 'postmaster.pid')).slice(0, 1))
      end(pid, 'SIGQUIT');
    for (const pid of readNumbers(join(folder, 'ceph', 'pids'))) end(pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}

/**
 * Saves time in every process that tests start. Node parses certificates at each start if an environment variable names
 * them. This takes 40 ms, and no test needs them. Scripts that choose one of several Pythons take 75 ms.
 */
function shortenStarts() {
  delete process.env.NODE_EXTRA_CA_CERTS;
  const { stdout } = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' });
  const folder = dirname((stdout ?? '').trim());
  if (existsSync(join(folder, 'python3'))) process.env.PATH = `${folder}${delimiter}${process.env.PATH}`;
}

/** Returns the lines of a file that are numbers. The list is empty if the file does not exist. */
function readNumbers(file) {
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
