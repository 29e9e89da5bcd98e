import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';

/** Programs of an installed PostgreSQL; a test that needs one says when there is none. */
const BINARIES = ['/usr/lib/postgresql', '/usr/local/pgsql', '/opt/homebrew/opt']
  .flatMap((root) => (existsSync(root) ? [root, ...readdirSync(root).map((name) => join(root, name))] : []))
  .map((root) => join(root, 'bin'))
  .find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));

export const hasPostgresql = BINARIES !== undefined;
if (!hasPostgresql) console.warn('skipped: no PostgreSQL is installed here');

export interface PostgresqlServer {
  readonly port: number;
  /** Connection URL of its only database, with a password. */
  readonly url: string;
  query(sql: string): Promise<void>;
  /** Ends the server at once, as a crash does. */
  kill(): void;
  stop(): Promise<void>;
}

const PASSWORD = 'secret-of-the-test';

/** A PostgreSQL of its own on a free port of loopback. The server refuses to run as root and gets another user there. */
export async function startPostgresql(): Promise<PostgresqlServer> {
  const folder = mkdtempSync(join(tmpdir(), 'divisor-postgresql-'));
  const data = join(folder, 'data');
  const user = process.getuid?.() === 0 ? userOf('postgres') : undefined;
  chmodSync(folder, 0o755);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  execFileSync(join(BINARIES!, 'initdb'), ['-D', data, '-U', 'tester', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--no-locale'], { stdio: 'pipe', ...user, cwd: folder });
  const port = await freePort();
  const server: ChildProcess = spawn(join(BINARIES!, 'postgres'), ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-F'], { stdio: 'ignore', ...user, cwd: folder });
  const connect = async () => {
    const client = new Client({ host: '127.0.0.1', port, user: 'tester', database: 'postgres' });
    await client.connect();
    return client;
  };
  for (let tries = 0; ; tries++) {
    try {
      const client = await connect();
      await client.query(`ALTER USER tester PASSWORD '${PASSWORD}'`);
      await client.end();
      break;
    } catch (error) {
      if (tries === 200 || server.exitCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return {
    port,
    url: `postgresql://tester:${PASSWORD}@127.0.0.1:${port}/postgres`,
    async query(sql) {
      const client = await connect();
      try {
        await client.query(sql);
      } finally {
        await client.end();
      }
    },
    kill: () => void server.kill('SIGQUIT'),
    async stop() {
      if (server.exitCode === null && server.signalCode === null) {
        const ended = new Promise((resolve) => server.once('exit', resolve));
        server.kill('SIGQUIT');
        await ended;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function userOf(name: string): { readonly uid: number; readonly gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}
