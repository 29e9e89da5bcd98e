import { chmod, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { Refusal } from '#domain/base/refusals.js';
import type { IssuedKey, KeyRecord, AccessKeys, ListedKey, NewKey } from '#services/keys/keys.js';

/** Command of `divisor keys`. It is executed on the home, or by the service that runs on the home. */
export type KeyCommand =
  | { readonly verb: 'create'; readonly key: NewKey }
  | { readonly verb: 'list' }
  | { readonly verb: 'rotate'; readonly id: string; readonly overlapMs: number }
  | { readonly verb: 'revoke'; readonly id: string };

export interface KeyResponse {
  readonly issued?: IssuedKey;
  readonly records?: readonly (KeyRecord & Partial<ListedKey>)[];
  /** Reason of a refusal. */
  readonly refused?: string;
}

/** Maximum length of a command or response, in characters. */
const TEXT_MAX = 1_048_576;
const SOCKET_TIMEOUT_MS = 10_000;

/** Maximum length of a Unix socket address on all supported systems. */
const PATH_MAX = 100;

const getPath = (home: string) => join(home, 'keys.sock');

/**
 * Opens a Unix socket through which `divisor keys` reaches the service of a home. Only that service may write to the
 * home. The socket is in the folder of the home, which only the service's user can enter. A request and a response are
 * one line of JSON each.
 */
export async function openKeySocket(home: string, keys: AccessKeys): Promise<{ close(): Promise<void> }> {
  const path = getPath(home);
  if (path.length > PATH_MAX || process.platform === 'win32') return { async close() {} };
  // This process has the lock of the home. If the socket exists, a process that has ended left it behind.
  await rm(path, { force: true });
  const server = createServer((socket) => {
    socket.setTimeout(SOCKET_TIMEOUT_MS, () => socket.destroy());
    readLine(socket)
      .then(async (line) =>
        socket.end(`${JSON.stringify(await executeKeyCommand(keys, JSON.parse(line) as KeyCommand))}\n`),
      )
      .catch(() => socket.destroy());
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
  await chmod(path, 0o600);
  return { close: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** Sends a command to the service that runs on a home. @returns undefined if there is no such service */
export async function requestFromService(home: string, command: KeyCommand): Promise<KeyResponse | undefined> {
  const path = getPath(home);
  if (path.length > PATH_MAX) return undefined;
  const socket = await new Promise<Socket | undefined>((resolve) => {
    const connection = connect(path, () => resolve(connection));
    connection.once('error', () => resolve(undefined));
  });
  if (socket === undefined) return undefined;
  socket.write(`${JSON.stringify(command)}\n`);
  return JSON.parse(await readLine(socket)) as KeyResponse;
}

/** Executes a command with the keys of a home. */
export async function executeKeyCommand(keys: AccessKeys, command: KeyCommand): Promise<KeyResponse> {
  try {
    switch (command.verb) {
      case 'create':
        return { issued: await keys.create(command.key) };
      case 'rotate':
        return { issued: await keys.rotate(command.id, command.overlapMs) };
      case 'list':
        return { records: keys.list() };
      case 'revoke':
        return { records: [await keys.revoke(command.id)] };
    }
  } catch (failure) {
    if (failure instanceof Refusal) return { refused: failure.message };
    throw failure;
  }
}

async function readLine(socket: Socket): Promise<string> {
  socket.setEncoding('utf8');
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.length > TEXT_MAX) throw new Error(`a line of more than ${TEXT_MAX} characters`);
    if (text.includes('\n')) return text.slice(0, text.indexOf('\n'));
  }
  throw new Error('the connection ended before the end of the line');
}
