import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import type { FixedKeys, S3Access } from '#store/port.js';
import { IS_SOAK } from '../../soak.js';
import { findMissingProgram, openSharedCeph } from './ceph.js';

interface S3rver {
  run(): Promise<{ readonly port: number }>;
  close(): Promise<void>;
}

type S3rverClass = new (options: object) => S3rver;

/** An object store on loopback. It is behind a proxy that counts requests and can refuse them. */
export interface S3Service {
  readonly access: S3Access & { readonly keys: FixedKeys };
  /** True if the store checks the hash of a body and the signature of a request. s3rver accepts any. */
  readonly isStrict: boolean;
  /** Requests for artifacts that were received. Each is the method and the name of the operation. */
  readonly seen: string[];
  /** Returns the headers of the last request with a body. */
  readonly headers: () => IncomingMessage['headers'];
  /** While true, requests are refused with status 503. */
  isClosed: boolean;
  /** If true, requests for artifacts wait. The store is reachable, but jobs cannot end. */
  isHeld: boolean;
  bodiesToDamage: number;
  stop(): Promise<void>;
}

const BUCKET = 'results';

/** Address of the objects, and the keys that give access to them. */
interface Upstream extends Pick<S3Service['access'], 'bucket' | 'prefix' | 'keys'>, Pick<S3Service, 'isStrict'> {
  readonly host: string;
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Opens the store in `TEST_S3=http://key:secret@host:port/bucket` if it is set. Otherwise the soak opens Ceph if it is
 * installed. Otherwise it opens s3rver from npm.
 */
async function openUpstream(): Promise<Upstream> {
  const namedService = process.env['TEST_S3'];
  if (namedService !== undefined) return createUpstreamAt(namedService, new URL(namedService).host);
  if (!IS_SOAK) return startS3rver();
  const missing = findMissingProgram();
  if (missing === undefined) {
    const { url, version } = await openSharedCeph();
    return createUpstreamAt(url, `Ceph RGW ${version}`);
  }
  console.log(`object store: s3rver, ${missing} is not installed`);
  return startS3rver();
}

/** Uses a separate prefix in the given bucket. Its objects are not deleted. */
function createUpstreamAt(url: string, name: string): Upstream {
  const { hostname: host, port, username, password, pathname } = new URL(url);
  const [accessKeyId, secretAccessKey] = [decodeURIComponent(username), decodeURIComponent(password)];
  const prefix = `divisor-${process.pid}-${Date.now()}/`;
  console.log(`object store: ${name}`);
  const isStrict = true;
  return {
    host,
    port: Number(port || 80),
    bucket: pathname.slice(1),
    prefix,
    isStrict,
    keys: { kind: 'given', accessKeyId, secretAccessKey },
    async stop() {},
  };
}

async function startS3rver(): Promise<Upstream> {
  // s3rver is a CommonJS module without types
  const S3rver = createRequire(import.meta.url)('s3rver') as S3rverClass;
  const directory = mkdtempSync(join(tmpdir(), 'divisor-s3-'));
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: BUCKET, configs: [] }],
  });
  const { port } = await server.run();
  return {
    host: '127.0.0.1',
    port,
    bucket: BUCKET,
    prefix: 'divisor/',
    isStrict: false,
    keys: { kind: 'given', accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    async stop() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export async function startS3(): Promise<S3Service> {
  const { host, port, isStrict, stop, ...place } = await openUpstream();
  const seenRequests: string[] = [];
  let headers: IncomingMessage['headers'] = {};
  const state = { isClosed: false, isHeld: false, bodiesToDamage: 0 };
  const server = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
    const isMarker = new URL(incoming.url!, 'http://s3').pathname.endsWith('divisor-store.json');
    if (!isMarker)
      seenRequests.push(
        `${incoming.method} ${new URL(incoming.url!, 'http://s3').searchParams.keys().next().value ?? ''}`.trim(),
      );
    if (incoming.method === 'PUT') headers = incoming.headers;
    if (state.isClosed || (state.isHeld && !isMarker)) {
      incoming.resume();
      outgoing.writeHead(503).end();
      return;
    }
    const { method, url: path } = incoming;
    // Each request has its own connection. A connection that is used again could be closed while the next request is
    // sent.
    const inner = request({ port, host, method, path, headers: incoming.headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    inner.on('error', () => outgoing.destroy());
    // If a client is killed while it sends an object, its request would keep the store open.
    outgoing.on('close', () => inner.destroy());
    const isDamaged = method === 'PUT' && state.bodiesToDamage > 0;
    if (isDamaged) state.bodiesToDamage--;
    (isDamaged ? incoming.pipe(createDamagingTransform()) : incoming).pipe(inner);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, {
    access: { endpoint, region: 'us-east-1', ...place },
    isStrict,
    seen: seenRequests,
    headers: () => headers,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await stop();
    },
  });
}

/** Creates a stream that changes a bit of every chunk. */
const createDamagingTransform = (): Transform =>
  new Transform({
    transform(piece: Buffer, _, done) {
      const damagedPiece = Buffer.from(piece);
      damagedPiece[0]! ^= 1;
      done(null, damagedPiece);
    },
  });
