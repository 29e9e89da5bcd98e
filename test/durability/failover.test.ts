import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import type { DocumentStore } from '#store/port.js';
import { openDatabase } from '#store/postgres/database.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import { migrate, SCHEMA } from '#store/postgres/migrate.js';
import { IS_SOAK } from '../soak.js';

/**
 * Folder of the programs of an installed PostgreSQL. Only these programs can copy a server; the programs from npm
 * cannot.
 */
const ROOT = '/usr/lib/postgresql';
const version = existsSync(ROOT) ? readdirSync(ROOT).toSorted().at(-1) : undefined;
const programFolder = join(ROOT, version ?? '', 'bin');
const isInstalled = existsSync(join(programFolder, 'pg_basebackup'));
if (IS_SOAK && !isInstalled) console.warn('skipped: no PostgreSQL with pg_basebackup is installed');

const WRITERS = 6;
const WRITES = 300;

interface Server {
  readonly port: number;
  readonly data: string;
  readonly process: ChildProcess;
}

const readUserId = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
const user = process.getuid?.() === 0 && isInstalled ? { uid: readUserId('-u'), gid: readUserId('-g') } : {};
const run = (program: string, words: readonly string[]) =>
  execFileSync(join(programFolder, program), words, { stdio: 'pipe', ...user, cwd: tmpdir() });

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function waitForPostgresql(port: number): Promise<void> {
  for (;;) {
    const client = new Client({ host: '127.0.0.1', port, user: 'tester', database: 'postgres' });
    client.on('error', () => {}); // the running query reports the error
    try {
      await client.connect();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      await client.end().catch(() => {});
    }
  }
}

async function launch(data: string): Promise<Server> {
  const port = await freePort();
  const words = ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='];
  const server = spawn(join(programFolder, 'postgres'), words, { stdio: 'ignore', ...user, cwd: tmpdir() });
  await waitForPostgresql(port);
  return { port, data, process: server };
}

/** Opens an address that forwards connections to a server. The test can replace this server. */
async function openAddress(first: number) {
  const sockets = new Set<Socket>();
  const state = { port: first };
  const server = createServer((client) => {
    const upstream = connect(state.port, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      const end = (): void => void other.destroy();
      socket.on('error', end).on('close', end).pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `postgres://tester@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`,
    move(port: number) {
      state.port = port;
      for (const socket of sockets) socket.destroy();
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

test.skipIf(!IS_SOAK || !isInstalled)(
  'a synchronous standby that takes over has every write that was acknowledged, once',
  async () => {
    const base = mkdtempSync(join(tmpdir(), 'divisor-failover-'));
    chmodSync(base, 0o755);
    const formatFolder = (name: string): string => {
      const path = join(base, name);
      mkdirSync(path, { mode: 0o700 });
      if (user.uid !== undefined) chownSync(path, user.uid, user.gid);
      return path;
    };
    const primaryFolder = formatFolder('primary');
    run('initdb', ['-D', primaryFolder, '-U', 'tester', '-A', 'trust', '-E', 'UTF8', '--no-locale']);
    const primary = await launch(primaryFolder);
    const standbyFolder = formatFolder('standby');
    run('pg_basebackup', [
      '-D',
      standbyFolder,
      '-R',
      '-X',
      'stream',
      '-d',
      `postgres://tester@127.0.0.1:${primary.port}/postgres?application_name=standby`,
    ]);
    const standby = await launch(standbyFolder);
    const address = await openAddress(primary.port);
    const client = new Client(address.url);
    client.on('error', () => {}); // the connection ends together with its server
    await client.connect();
    await migrate(client);
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
    await client.query('SELECT pg_reload_conf()');
    for (let state = ''; state !== 'sync';)
      state =
        (await client.query<{ sync_state: string }>('SELECT sync_state FROM pg_stat_replication')).rows[0]
          ?.sync_state ?? '';

    const databases = Array.from({ length: 2 }, () => openDatabase({ url: address.url }));
    const stores = await Promise.all(databases.map((database) => openPostgresDocuments({ database, schema: SCHEMA })));
    const acknowledgedIds = new Set<string>();
    const state = { isOver: false };
    async function write(store: DocumentStore, writer: number): Promise<void> {
      for (let n = 0; !state.isOver; n++) {
        const name = `w${writer}-${n}`;
        await store
          .transaction(async (tx) => void (await tx.put('run', name, { n })))
          .then(
            () => void acknowledgedIds.add(name),
            (thrown: unknown) => expect((thrown as Refusal).code).toBe('STORE_UNAVAILABLE'),
          );
      }
    }
    const writers = Array.from({ length: WRITERS }, (_, i) => write(stores[i % 2]!, i));
    const waitForCount = async (count: number): Promise<void> => {
      while (acknowledgedIds.size < count) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    await waitForCount(WRITES);
    primary.process.kill('SIGKILL');
    const before = acknowledgedIds.size;
    run('pg_ctl', ['-D', standbyFolder, 'promote', '-w']);
    address.move(standby.port);
    await waitForCount(before + WRITES);
    state.isOver = true;
    await Promise.all(writers);
    const storedIds = new Set(await stores[0]!.ids('run'));
    console.log(JSON.stringify({ version, acknowledged: acknowledgedIds.size, stored: storedIds.size }));
    expect([...acknowledgedIds].filter((name) => !storedIds.has(name))).toEqual([]);
    for (const store of stores) await store.close();
    for (const database of databases) await database.close();
    await client.end().catch(() => {}); // the server of this client has already ended
    await address.close();
    standby.process.kill('SIGQUIT');
    await new Promise((resolve) => standby.process.once('exit', resolve));
    rmSync(base, { recursive: true, force: true });
  },
  300_000,
);
