import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for what the files of one run share; whoever is first there starts it, the end of the run ends it. */
export function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'divisor-tests-'));
  process.env.TEST_RUN_FOLDER = folder;
  return () => {
    endPostgresql(join(folder, 'postgresql', 'data', 'postmaster.pid'));
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}

function endPostgresql(pidFile) {
  try {
    process.kill(Number(readFileSync(pidFile, 'utf8').split('\n')[0]), 'SIGQUIT');
  } catch {
    // Nobody has started it.
  }
}
