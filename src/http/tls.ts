import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { unwatchFile, watchFile } from 'node:fs';
import type { Server } from 'node:https';
import { createSecureContext, type TLSSocket } from 'node:tls';

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** File with certificate authorities. If it is set, every connection needs a client certificate. */
  readonly clientCa?: string | undefined;
}

export interface TlsOptions {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
  readonly requestCert?: true;
  readonly rejectUnauthorized?: true;
  readonly handshakeTimeout: number;
}

/** Time limit in ms for a TLS handshake. A client that needs longer probably wants to block the socket. */
const HANDSHAKE_TIMEOUT_MS = 5_000;
/** Interval in ms between checks of the files. Certificates are renewed days before they expire. */
const WATCH_MS = 5_000;
/**
 * Time in ms after a change of the certificate authorities at which all earlier connections are closed. Streams are
 * closed as well.
 */
const LEAVE_MS = 15_000;

export interface FollowTerms {
  /** Certificate authorities whose client certificates the server accepts. */
  readonly ca?: Buffer | undefined;
  readonly onReload: (failure?: unknown) => void;
  readonly watchMs?: number;
  readonly leaveMs?: number;
}

/**
 * Reads the files. @throws Error for an unreadable or damaged file, or for a certificate that does not match the
 * key
 */
export async function readTls({ cert, key, clientCa }: TlsFiles): Promise<TlsOptions> {
  const [certificate, secret, ca] = await Promise.all([cert, key, clientCa].map((path) => path && readFile(path)));
  if (ca) assertCertificates(ca as Buffer, clientCa!);
  const options = {
    cert: certificate as Buffer, // `files` names a certificate and a key
    key: secret as Buffer,
    ...(ca && { ca, requestCert: true as const, rejectUnauthorized: true as const }),
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
  };
  createSecureContext(options); // throws if the certificate does not match the key
  return options;
}

/**
 * Checks that a file of certificate authorities is intact. A server would read a damaged file as empty and accept no
 * client. @throws Error
 */
function assertCertificates(pem: Buffer, path: string): void {
  const text = pem.toString('latin1');
  const blocks = text.match(/-----BEGIN [A-Z ]+-----[^-]*-----END [A-Z ]+-----/g) ?? [];
  const beginCount = text.split('-----BEGIN ').length - 1;
  if (blocks.length === 0 || blocks.length !== beginCount)
    throw new Error(`${path} does not contain complete PEM certificates`);
  for (const block of blocks) createSecureContext({ ca: new X509Certificate(block).toString() });
}

/**
 * Loads changed files into a server. If the files cannot be used, the server keeps the old ones. If the certificate
 * authorities change, all open connections are closed, because their clients may rely on a removed authority: idle ones
 * at once, others after `leaveMs`.
 * @param terms `onReload` is called after each change, with the failure if there is one
 * @returns a function that stops watching
 */
export function followTls(
  files: TlsFiles,
  server: Pick<Server, 'setSecureContext' | 'on' | 'closeIdleConnections'>,
  { ca: initialAuthorities, onReload, watchMs = WATCH_MS, leaveMs = LEAVE_MS }: FollowTerms,
): () => void {
  const paths = [files.cert, files.key, ...(files.clientCa === undefined ? [] : [files.clientCa])];
  let authorities = initialAuthorities;
  const openConnections = new Set<TLSSocket>();
  if (files.clientCa !== undefined)
    server.on('secureConnection', (socket) => {
      openConnections.add(socket);
      socket.once('close', () => openConnections.delete(socket));
    });
  const closeConnections = (): void => {
    server.closeIdleConnections();
    const openSockets = [...openConnections];
    setTimeout(() => openSockets.forEach((socket) => socket.destroy()), leaveMs).unref();
  };
  const reload = (): void => {
    readTls(files)
      .then((options) => {
        server.setSecureContext(options);
        if (authorities !== undefined && options.ca?.equals(authorities) !== true) closeConnections();
        authorities = options.ca;
        onReload();
      })
      .catch(onReload);
  };
  for (const path of paths) watchFile(path, { interval: watchMs, persistent: false }, reload);
  return () => paths.forEach((path) => unwatchFile(path, reload));
}
