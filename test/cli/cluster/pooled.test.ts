import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPostgresql, openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { runService, type RunningService } from '../../services/running-service.js';
import { runHere } from '../process.js';
import { prepare } from './running-cluster.js';

const hasPgbouncer = spawnSync('pgbouncer', ['--version']).status === 0;
if (!hasPgbouncer) process.stdout.write('skipped: a service behind PgBouncer, which is not installed\n');

/** Number of connections that PgBouncer opens for all its clients. */
const POOL_SIZE = 3;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

describe.skipIf(!hasPostgresql || !hasPgbouncer)('a service behind PgBouncer in transaction mode', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>;
  let folder: string;
  let pooler: ChildProcess;
  let service: RunningService;
  beforeAll(async () => {
    database = await openTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'divisor-pooled-'));
    await chmod(folder, 0o755);
    const { hostname, port, username, pathname, password } = new URL(database.url);
    const poolPort = await freePort();
    const name = pathname.slice(1);
    const passwordText = password === '' ? '' : ` password=${decodeURIComponent(password)}`;
    await writeFile(
      join(folder, 'pgbouncer.ini'),
      `[databases]
${name} = host=${hostname} port=${port} dbname=${name} user=${username}${passwordText}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${poolPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${POOL_SIZE}
`,
    );
    const isRoot = process.getuid?.() === 0;
    pooler = spawn('pgbouncer', [...(isRoot ? ['-u', 'nobody'] : []), join(folder, 'pgbouncer.ini')], {
      stdio: 'ignore',
    });
    const isOpen = () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(poolPort, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
        socket.on('connect', () => socket.destroy());
      });
    for (let tries = 0; !(await isOpen()); tries++) {
      if (tries === 200) throw new Error('pgbouncer does not listen');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const pooledUrl = new URL(database.url);
    pooledUrl.host = `127.0.0.1:${poolPort}`;
    const environment = { DATABASE_URL: database.url, DIVISOR_ARTIFACTS: `file://${join(folder, 'artifacts')}` };
    await runHere(['migrate'], environment);
    service = await runService(['--workers', '1'], { ...environment, DATABASE_POOLER_URL: pooledUrl.href });
  });
  afterAll(async () => {
    await service?.close();
    pooler?.kill('SIGTERM');
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  test('serves concurrent clients, runs jobs and stores writes on few connections', async () => {
    await prepare(service, ['EVEN']);
    const { body } = await service.ask<{ job_id: string }>('POST', '/analytics/EVEN/backtest', {});
    await service.waitForJob(body.job_id);
    expect((await service.ask('GET', '/analytics/EVEN/levels')).status).toBe(200);
    const puts = Array.from({ length: 60 }, (_, i) =>
      service.ask('PUT', `/data/watchlists/w${i % 20}`, { name: `W${i}`, identifiers: ['A'] }),
    );
    const statuses = (await Promise.all(puts)).map(({ status }) => status);
    expect(statuses.filter((status) => status >= 300)).toEqual([]);
    const client = new Client(database.url);
    await client.connect();
    const { rows } = await client.query<{ readonly count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    await client.end();
    // the connections of the pool, and one connection that reserves the database
    expect(rows[0]!.count).toBeLessThanOrEqual(POOL_SIZE + 1);
  });
});
