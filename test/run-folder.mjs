import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/**
 * Prepares the environment of all tests, and creates a folder for files shared by one run. @returns a function that
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
 * Removes two costs from every process that tests start: 40 ms for certificates that Node parses at each start if an
 * environment variable names them, which no test needs, and 75 ms for scripts that choose one of several Pythons.
 */
function shortenStarts() {
  delete process.env.NODE_EXTRA_CA_CERTS;
  const { stdout } = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' });
  const folder = dirname((stdout ?? '').trim());
  if (existsSync(join(folder, 'python3'))) process.env.PATH = `${folder}${delimiter}${process.env.PATH}`;
}

/** Returns the lines of a file that are numbers; empty if the file does not exist. */
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
