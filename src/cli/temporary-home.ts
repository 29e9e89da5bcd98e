import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from './log.js';
import { start, stop } from './serve.js';
import { readSettings } from './settings.js';

export interface TemporaryHome {
  /** Part of the name of its folder. */
  readonly name: string;
  readonly port: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** Serves an empty home on this machine while `use` runs. Then removes the home. */
export async function runWithTemporaryHome<T>(
  { name, port, environment }: TemporaryHome,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), `divisor-${name}-`));
  try {
    const { settings } = readSettings(['--home', home, '--port', port, '--drain-ms', '0'], removeKeys(environment));
    const runningService = await start(settings, createLog('error'));
    try {
      return await use(runningService.server.url);
    } finally {
      await stop({ ...runningService, drainMs: 0 });
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** Removes the API keys and the settings of host, home and database from the environment of a temporary service. */
function removeKeys(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { DIVISOR_API_KEYS: _keys, HOST: _host, DIVISOR_HOME: _home, DATABASE_URL: _database, ...rest } = environment;
  return rest;
}
