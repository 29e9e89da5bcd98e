import { createHash } from 'node:crypto';
import type { Client, Done, Sftp } from 'ssh2';
import { trimTrailingSlashes } from '#base/text/trailing-slashes.js';
import { LIMITS } from '#domain/refusals/limits.js';
import type { TargetOf } from '#domain/delivery/target-catalogue.js';
import { loadTransports } from '../load-transports.js';
import {
  computeChecksum,
  DeliveryFault,
  sendEachFile,
  readFolder,
  readFileName,
  formatPartName,
  PRESENT_MESSAGE,
  REPLACED_MESSAGE,
  SENT_MESSAGE,
  type OutgoingFile,
  type Sender,
} from '../sender.js';

/** Time for the connection, the exchange of keys and the sign-in. */
const READY_MS = 20_000;
const PORT = 22;

/** Writes files to a server by SFTP. Each file is written under a temporary name and then renamed. */
export const sendOverSftp: Sender<'sftp'> = async (job) => {
  const { target, secret, signal } = job;
  const { client, sftp } = await connect(target, secret, signal);
  const createdFolders = new Set<string>();
  /** Runs an operation and closes its connection if the operation takes too long. */
  const limitTime = async <T>(work: () => Promise<T>): Promise<T> => {
    const timer = setTimeout(() => client.destroy(), LIMITS.MAX_DELIVERY_SECONDS * 1000);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
    }
  };
  try {
    const root = await resolveRoot(sftp, target.url);
    await sendEachFile(job, async (file) => {
      await job.begin(file);
      return limitTime(() => send(sftp, file, { root, hasChecksum: target.checksum, createdFolders })).catch(
        (failure: unknown) => {
          throw toFault(failure);
        },
      );
    });
  } finally {
    client.destroy();
  }
};

/** Connects and signs in to a server. @throws DeliveryFault */
function connect(
  { url, host_key: fingerprint }: TargetOf<'sftp'>,
  secret: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly client: Client; readonly sftp: Sftp }> {
  const { hostname, port, username } = new URL(url);
  if (secret === undefined)
    throw new DeliveryFault('No password and no key is stored for the target.', { isFinal: true });
  const { Client: SshClient } = loadTransports();
  const client = new SshClient();
  let hostKey: string | undefined;
  return new Promise((resolve, reject) => {
    const rejectConnection = (failure: Error): void => {
      client.destroy();
      const isDifferentHost = hostKey !== undefined && hostKey !== removePadding(fingerprint);
      const message = isDifferentHost
        ? `The server has another host key: ${hostKey}.`
        : `The server could not be used: ${formatReason(failure)}.`;
      // After a refused password there is no immediate retry, because repeated attempts may lock the account.
      const isFinal =
        isDifferentHost || (failure as Error & { readonly level?: string }).level === 'client-authentication';
      reject(new DeliveryFault(message, { isFinal, cause: failure }));
    };
    const onAbort = (): void => rejectConnection(new Error('the service was stopped'));
    signal.addEventListener('abort', onAbort, { once: true });
    client.on('error', rejectConnection);
    client.on('close', () => {
      signal.removeEventListener('abort', onAbort);
      rejectConnection(new Error('the connection was closed'));
    });
    client.on('ready', () =>
      client.sftp((failure, sftp) => (failure ? rejectConnection(failure) : resolve({ client, sftp }))),
    );
    const isKey = secret.includes('-----BEGIN');
    try {
      client.connect({
        host: hostname.replaceAll(/^\[|\]$/g, ''),
        port: port === '' ? PORT : Number(port),
        username: decodeURIComponent(username),
        readyTimeout: READY_MS,
        keepaliveInterval: 10_000,
        ...(isKey ? { privateKey: secret } : { password: secret }),
        hostVerifier(key) {
          hostKey = removePadding(`SHA256:${createHash('sha256').update(key).digest('base64')}`);
          return hostKey === removePadding(fingerprint);
        },
      });
    } catch (failure) {
      rejectConnection(failure as Error); // the key is unreadable
    }
  });
}

const removePadding = (fingerprint: string): string => fingerprint.replaceAll('=', '');

/** Returns the folder of an address on the server. An address with `/~/` starts in the user's folder. */
async function resolveRoot(sftp: Sftp, url: string): Promise<string> {
  const path = trimTrailingSlashes(decodeURIComponent(new URL(url).pathname));
  if (path !== '/~' && !path.startsWith('/~/')) return path;
  return (await ask<string>((done) => sftp.realpath('.', done))) + path.slice('/~'.length);
}

interface SendLocation {
  readonly root: string;
  readonly hasChecksum: boolean;
  /** Folders that exist on the server, as far as this delivery knows. */
  readonly createdFolders: Set<string>;
}

async function send(
  sftp: Sftp,
  file: OutgoingFile,
  { root, hasChecksum, createdFolders }: SendLocation,
): Promise<string> {
  const folder = [root, readFolder(file.path)].filter((part) => part !== '').join('/');
  await createFolders(sftp, { root, folder, createdFolders });
  const path = `${folder}/${readFileName(file.path)}`;
  const previousHash = await readHash(sftp, path, file.bytes);
  if (previousHash !== file.sha256) {
    // The checksum is removed first. Otherwise a reader could check the new file against the old checksum.
    if (previousHash !== undefined && hasChecksum)
      await ask<void>((done) => sftp.unlink(`${path}.sha256`, done)).catch(ignoreAbsent);
    await writeAtomically(sftp, {
      path,
      part: `${folder}/${formatPartName(file)}`,
      content: Buffer.from(await file.content()),
    });
  }
  if (hasChecksum) {
    const content = Buffer.from(computeChecksum(file));
    const storedDigest = await read(sftp, `${path}.sha256`);
    if (storedDigest?.equals(content) !== true)
      await writeAtomically(sftp, {
        path: `${path}.sha256`,
        part: `${folder}/${formatPartName(file)}.sha256`,
        content,
      });
  }
  if (previousHash === undefined) return SENT_MESSAGE;
  return previousHash === file.sha256 ? PRESENT_MESSAGE : REPLACED_MESSAGE;
}

/** Creates the folders of a path below the root. The operator of the server has created the root. */
async function createFolders(
  sftp: Sftp,
  {
    root,
    folder,
    createdFolders,
  }: { readonly root: string; readonly folder: string; readonly createdFolders: Set<string> },
): Promise<void> {
  let path = root;
  for (const part of folder.slice(root.length).split('/')) {
    if (part === '') continue;
    path += `/${part}`;
    if (createdFolders.has(path)) continue;
    const result = await ask<{ isDirectory(): boolean }>((done) => sftp.stat(path, done)).catch(() => undefined);
    if (result === undefined) await ask<void>((done) => sftp.mkdir(path, done));
    createdFolders.add(path);
  }
}

/**
 * Returns the SHA-256 of a file. Returns undefined if the file does not exist, and `other` if its size is different or
 * its content is unreadable.
 */
async function readHash(sftp: Sftp, path: string, bytes: number): Promise<string | undefined> {
  const result = await ask<{ readonly size: number }>((done) => sftp.stat(path, done)).catch(() => undefined);
  if (result === undefined) return undefined;
  if (result.size !== bytes) return 'other';
  const content = await read(sftp, path);
  return content === undefined ? 'other' : createHash('sha256').update(content).digest('hex');
}

const read = (sftp: Sftp, path: string): Promise<Buffer | undefined> =>
  ask<Buffer>((done) => sftp.readFile(path, done)).catch(() => undefined);

interface PartialFile {
  readonly path: string;
  /** Temporary path while the file is written. */
  readonly part: string;
  readonly content: Buffer;
}

/**
 * Writes a file and renames it. The rename replaces the old file if the server supports that; otherwise the old file is
 * removed first.
 */
async function writeAtomically(sftp: Sftp, { path, part, content }: PartialFile): Promise<void> {
  await ask<void>((done) => sftp.writeFile(part, content, done));
  try {
    await ask<void>((done) => sftp.ext_openssh_rename(part, path, done));
  } catch {
    await ask<void>((done) => sftp.unlink(path, done)).catch(ignoreAbsent);
    await ask<void>((done) => sftp.rename(part, path, done));
  }
}

/** Ignores a failed removal. Either the file does not exist, or the next step reports the failure. */
const ignoreAbsent = (): void => {};

function ask<T>(call: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => call((failure, result) => (failure ? reject(failure) : resolve(result))));
}

function toFault(failure: unknown): unknown {
  if (failure instanceof DeliveryFault || !(failure instanceof Error) || !isRemoteFault(failure)) return failure;
  return new DeliveryFault(`The server could not store the file: ${formatReason(failure)}.`, { cause: failure });
}

/**
 * Returns true for an error that the server reported. The code of an SFTP error is a number and the code of a
 * connection error is a word. The error of a lost session has only a message.
 */
const isRemoteFault = (failure: Error & { readonly code?: unknown; readonly level?: unknown }): boolean =>
  failure.code !== undefined || failure.level !== undefined || /channel|connect|response|closed/i.test(failure.message);

function formatReason({ message, code, level }: Error & { readonly code?: unknown; readonly level?: unknown }): string {
  if (level === 'client-authentication') return 'the user, its password or its key was refused';
  if (level === 'client-timeout') return `no answer within ${READY_MS / 1000} seconds`;
  return typeof code === 'string' && code !== '' ? code : message.replace(/\.$/, '');
}
