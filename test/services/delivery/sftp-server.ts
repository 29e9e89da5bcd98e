import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** An OpenSSH server on loopback. Its only user is the user of this process. */
export interface SftpServer {
  readonly port: number;
  readonly user: string;
  /** Private key of the user. */
  readonly key: string;
  /** Fingerprint of the host key. */
  readonly fingerprint: string;
  readonly folder: string;
  stop(): Promise<void>;
  /** Starts listening again on the same port. */
  start(): Promise<void>;
}

const SSHD = '/usr/sbin/sshd';
const SFTP = ['/usr/lib/openssh/sftp-server', '/usr/libexec/openssh/sftp-server', '/usr/lib/ssh/sftp-server'];

/** Returns the reason why the server cannot be started, or undefined if it can. */
export function explainMissingSftpServer(): string | undefined {
  if (!existsSync(SSHD)) return `${SSHD} is not installed`;
  return SFTP.some((path) => existsSync(path)) ? undefined : 'openssh-sftp-server is not installed';
}

export async function startSftpServer(): Promise<SftpServer> {
  const base = mkdtempSync(join(tmpdir(), 'divisor-sftp-'));
  const folder = join(base, 'in');
  mkdirSync(folder);
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(base, name)]);
  const [, fingerprint = ''] = execFileSync('ssh-keygen', ['-lf', join(base, 'host.pub')], { encoding: 'utf8' }).split(
    ' ',
  );
  writeFileSync(join(base, 'authorized'), readFileSync(join(base, 'user.pub')));
  chmodSync(join(base, 'authorized'), 0o600);
  const port = await freePort();
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true });
  const lines = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${join(base, 'host')}`,
    `AuthorizedKeysFile ${join(base, 'authorized')}`,
    `PidFile ${join(base, 'pid')}`,
    `Subsystem sftp ${SFTP.find((path) => existsSync(path))}`,
    'PermitRootLogin prohibit-password',
    'PasswordAuthentication no',
    'StrictModes no',
    'UsePAM no',
  ];
  writeFileSync(join(base, 'config'), `${lines.join('\n')}\n`);
  let daemon: ReturnType<typeof spawn> | undefined;

  const server: SftpServer = {
    port,
    user: userInfo().username,
    key: readFileSync(join(base, 'user'), 'utf8'),
    fingerprint,
    folder,
    async start() {
      daemon = spawn(SSHD, ['-D', '-e', '-f', join(base, 'config')], { stdio: ['ignore', 'ignore', 'pipe'] });
      const messages: string[] = [];
      daemon.stderr!.on('data', (text: Buffer) => messages.push(text.toString()));
      for (let tries = 0; !(await isListening(port)); tries++) {
        if (tries > 100) throw new Error(`sshd does not listen: ${messages.join('')}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async stop() {
      const endedDaemon = daemon;
      daemon = undefined;
      if (endedDaemon === undefined) return;
      await new Promise<void>((resolve) => {
        endedDaemon.once('exit', () => resolve());
        endedDaemon.kill();
      });
    },
  };
  await server.start();
  const { stop } = server;
  return {
    ...server,
    async stop() {
      await stop();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));
  return port;
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
