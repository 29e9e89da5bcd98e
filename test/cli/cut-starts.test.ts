import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isStoreUnavailable } from '#domain/base/refusals.js';
import { start, stop } from '#cli/commands/serve.js';
import { readSettings } from '#cli/settings/settings.js';
import { keepThreads } from '#jobs/pool.js';
import { StartRefusal } from '#store/start-refusal.js';
import { openCuttingProxy, type CuttingProxy } from '../postgresql/cutting-proxy.js';
import { hasPostgresql, openTestDatabase, type TestDatabase } from '../postgresql/shared-postgresql.js';
import { IS_SOAK } from '../soak.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { runHere } from './process.js';

/** Number of places at which a start is cut. */
const CUTS = IS_SOAK ? 200 : 12;

describe.skipIf(!hasPostgresql)('a start whose database connections end', () => {
  let database: TestDatabase;
  let proxy: CuttingProxy;
  beforeAll(async () => {
    keepThreads();
    database = await openTestDatabase();
    proxy = await openCuttingProxy(database.url);
    expect((await runHere(['migrate'], { DATABASE_URL: database.url })).status).toBe(0);
  });
  afterAll(async () => {
    await proxy?.close();
    await database?.drop();
  });

  /** Starts a service through the proxy and stops it. @returns the failure of the start */
  async function tryStart(home: string): Promise<unknown> {
    const flags = ['--home', home, '--port', '0', '--warm-up', 'off', '--workers', '1', '--database', proxy.url];
    const { settings } = readSettings([...flags, '--artifacts', `file://${home}/results`], {});
    try {
      await stop({ ...(await start(settings, pino({ level: 'silent' }))), drainMs: 0 });
      return undefined;
    } catch (failure) {
      return failure;
    }
  }

  test('succeeds, or is refused as temporary, wherever they end', async () => {
    const home = await createTemporaryFolder();
    const before = proxy.sentBytes;
    expect(await tryStart(home)).toBe(undefined);
    const bytes = proxy.sentBytes - before;
    const failures: unknown[] = [];
    for (let cut = 0; cut < CUTS; cut++) {
      proxy.cutAfter(Math.floor(((cut + 0.5) / CUTS) * bytes));
      const failure = await tryStart(home);
      if (failure === undefined) continue;
      failures.push(failure);
      const isTemporary = failure instanceof StartRefusal ? failure.exitStatus === 75 : isStoreUnavailable(failure);
      expect(isTemporary, `${cut}: ${String((failure as Error).stack)}`).toBe(true);
    }
    expect(failures.length).toBeGreaterThan(0);
    proxy.cutAfter(Infinity);
  });

  test('after the answer to the check of rights ends with 75 and one sentence', async () => {
    proxy.cutNext('has_table_privilege', 'after');
    const flags = ['serve', '--home', await createTemporaryFolder(), '--port', '0', '--database', proxy.url];
    const served = await runHere(flags, {});
    expect(served.status).toBe(75);
    expect(served.err).toMatch(/^divisor: The database at 127\.0\.0\.1:\d+ .*stopped answering: [^\n]*\.\n$/);
  });
});
