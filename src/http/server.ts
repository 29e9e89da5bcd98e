import { X509Certificate } from 'node:crypto';
import { unwatchFile, watchFile } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { createSecureContext, type TLSSocket } from 'node:tls';
import { getNetwork } from '#base/addresses.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import type { IsAddressOf } from '#services/keys/keys.js';
import { formatRawResponse, sendStream } from './answers.js';
import type { App } from './app.js';
import { type Bindings, UPLOAD_MS } from './handler.js';

/** Time limit in ms for the headers of a request. A client that needs longer probably wants to block the socket. */
const HEADERS_TIMEOUT_MS = 5_000;
/** Time limit in ms for a whole request. The time limit of a body is shorter; it is enforced where the body is read. */
const REQUEST_TIMEOUT_MS = UPLOAD_MS;
const CONNECTIONS_CHECK_MS = 1_000;
const REQUESTS_PER_SOCKET_MAX = 1_000;
/**
 * Time in ms after which an idle connection is closed. A client that polls keeps its connection; the connection of a
 * client that has gone is released.
 */
const KEEP_ALIVE_MS = 20_000;
const CONNECTIONS_MAX = 2_000;

/** Time in ms after the start of a server until the full reader is loaded, if no request needs it earlier. */
const READER_LOADED_MS = 500;

export interface ServerOptions {
  readonly app: App;
  readonly host: string;
  readonly port: number;
  /**
   * Time limit for the headers of a request, and for the first request of a connection. Default:
   * HEADERS_TIMEOUT_MS.
   */
  readonly headersTimeoutMs?: number;
  /** Time in ms after which a response that its client does not read is aborted. Default: MAX_IDLE_WRITE_SECONDS. */
  readonly idleWriteMs?: number;
  /** Addresses whose connections are not limited. Default: none. */
  readonly isTrustedProxy?: IsAddressOf;
  /** TLS files. Default: plain HTTP. */
  readonly tls?: TlsFiles | undefined;
  /** Called after the TLS files changed. */
  readonly onTlsReload?: (failure?: unknown) => void;
}

export interface Server {
  /** Address for clients. */
  readonly url: string;
  /**
   * Stops accepting connections. Resolves after the last response.
   * @param deadlineMs time after which the remaining connections are cut
   */
  close(deadlineMs: number): Promise<void>;
}

/** Serves the application over HTTP/1.1. Resolves once it listens. @throws the error of the socket */
export async function listen(options: ServerOptions): Promise<Server> {
  const { app, host, port, headersTimeoutMs = HEADERS_TIMEOUT_MS, isTrustedProxy = () => false, tls } = options;
  const { idleWriteMs = LIMITS.MAX_IDLE_WRITE_SECONDS * 1000 } = options;
  const answerAny = createFullReader(app);
  const secrets = tls === undefined ? undefined : await readTls(tls);
  const settings = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: Math.min(CONNECTIONS_CHECK_MS, headersTimeoutMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The listener refuses a request without a Host header with the error body of the service. The response of Node has
    // no body.
    requireHostHeader: false,
  };
  const requestCounts = new WeakMap<Socket, number>();
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { socket } = incoming;
    const count = (requestCounts.get(socket) ?? 0) + 1;
    requestCounts.set(socket, count);
    // The option maxRequestsPerSocket of Node does not close the socket. It answers later requests on it with status
    // 503 without a body.
    if (count >= REQUESTS_PER_SOCKET_MAX) outgoing.shouldKeepAlive = false;
    limitIdleWrite(outgoing, idleWriteMs);
    if (hasTwoHosts(incoming)) return refuseRequest(app, createFault('HOSTS'), socket);
    answerAny(incoming, outgoing);
  };
  const secureServer = secrets && createSecureServer({ ...settings, ...secrets }, onRequest);
  const server = secureServer ?? createServer(settings, onRequest);
  const { onTlsReload: onReload = () => {} } = options;
  const unfollow = tls && secureServer ? followTls(tls, secureServer, { ca: secrets.ca, onReload }) : () => {};
  server.maxConnections = CONNECTIONS_MAX;
  limitConnections(server, isTrustedProxy);
  server.on('clientError', (failure: NodeJS.ErrnoException, socket) => refuseRequest(app, failure, socket as Socket));
  server.on('checkExpectation', (_incoming, outgoing: ServerResponse) => {
    refuseRequest(app, createFault('EXPECTATION'), outgoing.socket);
  });

  await new Promise<void>((resolve, reject) => {
    const refuseStart = (failure: Error): void => {
      unfollow();
      reject(failure);
    };
    server.once('error', refuseStart);
    server.listen(port, host, () => {
      server.off('error', refuseStart);
      resolve();
    });
  });

  const address = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    close: (deadlineMs) =>
      new Promise<void>((resolve) => {
        unfollow();
        const closeTimer = setTimeout(() => server.closeAllConnections(), deadlineMs);
        server.close(() => {
          clearTimeout(closeTimer);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/**
 * Closes the connection of a response if written bytes wait and none of them is accepted for a time. A response that has
 * nothing to write yet, such as the end of a job, may take longer.
 */
function limitIdleWrite(outgoing: ServerResponse, idleMs: number): void {
  outgoing.setTimeout(idleMs, () => {
    const { socket } = outgoing;
    if (socket === null) return;
    if (socket.writableLength > 0) socket.destroy();
    else socket.setTimeout(idleMs); // waits for another period
  });
}

type Reader = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

/**
 * Creates the reader that answers everything that `node:http` can parse. The adapter and the fetch of Node are loaded
 * after the start, or by the first request.
 */
function createFullReader(app: App): Reader {
  let reader: Reader | undefined;
  const load = async (): Promise<Reader> => (reader ??= await createReader(app));
  setTimeout(() => void load(), READER_LOADED_MS).unref();
  return (incoming, outgoing) =>
    reader === undefined ? load().then((loadedReader) => loadedReader(incoming, outgoing)) : reader(incoming, outgoing);
}

async function createReader(app: App): Promise<Reader> {
  const { getRequestListener } = await import('@hono/node-server');
  const { RESPONSE_ALREADY_SENT } = await import('@hono/node-server/utils/response');
  return getRequestListener(
    async (request, { incoming, outgoing }) => {
      const bindings: Bindings = { address: () => incoming.socket.remoteAddress };
      const response = await app.answer(request, bindings);
      if (bindings.isStreamed !== true || response.body === null) return response;
      const { status, headers, body: stream } = response;
      await sendStream({ status, headers: Object.fromEntries(headers), stream }, outgoing as ServerResponse);
      return RESPONSE_ALREADY_SENT;
    },
    {
      errorHandler: (failure) => {
        const reason = failure instanceof Error ? failure.message : 'unknown fault';
        return app.refuse(new Refusal('MALFORMED_REQUEST', `The request cannot be read: ${reason}.`));
      },
    },
  );
}

/** Returns true for a request with two Host headers. A proxy in front may have used the other one. */
function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

const createFault = (code: keyof typeof PARSER_FAULTS): NodeJS.ErrnoException =>
  Object.assign(new Error(code), { code });

const PARSER_FAULTS = {
  HPE_HEADER_OVERFLOW: 'The headers are longer than the service accepts.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
  EXPECTATION: 'The service does not support the expectation in the header Expect.',
  HOSTS: 'The request has more than one header Host.',
} as const;

/**
 * Answers a request that the HTTP parser refused, if the socket can still be written. A connection on which no data
 * arrived is closed without a response. Browsers open connections in advance and would take the response for the
 * response to their next request.
 */
function refuseRequest(app: App, failure: NodeJS.ErrnoException, socket: Socket | null): void {
  if (socket === null || !socket.writable || failure.code === 'ECONNRESET' || socket.bytesRead === 0) {
    socket?.destroy();
    return;
  }
  const message =
    (PARSER_FAULTS as Readonly<Record<string, string>>)[failure.code ?? ''] ??
    'The request is not HTTP/1.1 as RFC 9112 defines it.';
  Promise.resolve(app.refuse(new Refusal('MALFORMED_REQUEST', message)))
    .then(formatRawResponse)
    .then((text) => socket.end(text))
    .catch(() => socket.destroy());
}

/** Closes connections if an address or a network has too many. Connections of trusted proxies are not limited. */
function limitConnections(
  server: Pick<NetServer, 'on'>,
  isTrustedProxy: IsAddressOf,
  maxConnections: number = LIMITS.MAX_ADDRESS_CONNECTIONS,
): void {
  const openCounts = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const peer = socket.remoteAddress;
    if (peer === undefined || isTrustedProxy(peer)) return;
    const address = getNetwork(peer);
    const count = (openCounts.get(address) ?? 0) + 1;
    if (count > maxConnections) {
      socket.destroy();
      return;
    }
    openCounts.set(address, count);
    socket.once('close', () => {
      const remainingCount = openCounts.get(address)! - 1;
      if (remainingCount === 0) openCounts.delete(address);
      else openCounts.set(address, remainingCount);
    });
  });
}

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** File with certificate authorities. If it is set, every connection needs a client certificate. */
  readonly clientCa?: string | undefined;
}

interface TlsOptions {
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

interface FollowTerms {
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
  server: Pick<SecureServer, 'setSecureContext' | 'on' | 'closeIdleConnections'>,
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
