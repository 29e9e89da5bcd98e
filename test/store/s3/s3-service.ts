import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { S3Access } from '#store/s3/s3-access.js';

interface S3rver {
  run(): Promise<{ readonly port: number }>;
  close(): Promise<void>;
}

type S3rverClass = new (options: object) => S3rver;

/** An object store on loopback, seen through a door that counts, and closes when it is told to. */
export interface S3Service {
  readonly access: S3Access;
  /** Requests for artifacts that arrived, as method and name of the operation. */
  readonly seen: string[];
  /** Headers of the last request with a body. */
  readonly headers: () => IncomingMessage['headers'];
  /** While closed, requests are answered with 503. */
  isClosed: boolean;
  /** While held, those for artifacts are: the place is there, and jobs cannot end. */
  isHeld: boolean;
  stop(): Promise<void>;
}

const BUCKET = 'results';

/** Where objects lie, and how they are reached. */
interface Upstream extends Pick<S3Access, 'bucket' | 'prefix' | 'accessKeyId' | 'secretAccessKey'> {
  readonly host: string;
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Objects in the store that `TEST_S3=http://key:secret@host:port/bucket` names, as Ceph's gateway, under a prefix of
 * their own, which stay there; else in s3rver from npm.
 */
const openUpstream = (): Promise<Upstream> =>
  process.env['TEST_S3'] === undefined ? startS3rver() : Promise.resolve(upstreamAt(process.env['TEST_S3']));

function upstreamAt(url: string): Upstream {
  const { hostname: host, port, username, password, pathname } = new URL(url);
  const keys = { accessKeyId: decodeURIComponent(username), secretAccessKey: decodeURIComponent(password) };
  const prefix = `divisor-${process.pid}-${Date.now()}/`;
  console.log(`object store: ${host}:${port}${pathname}`);
  return { host, port: Number(port || 80), bucket: pathname.slice(1), prefix, ...keys, stop: async () => {} };
}

async function startS3rver(): Promise<Upstream> {
  // It is written for CommonJS and declares no types.
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
    accessKeyId: 'S3RVER',
    secretAccessKey: 'S3RVER',
    async stop() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export async function startS3(): Promise<S3Service> {
  const { host, port, stop, ...place } = await openUpstream();
  const seen: string[] = [];
  let headers: IncomingMessage['headers'] = {};
  const state = { isClosed: false, isHeld: false };
  const door = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
    const isMarker = new URL(incoming.url!, 'http://s3').pathname.endsWith('divisor-store.json');
    if (!isMarker)
      seen.push(
        `${incoming.method} ${new URL(incoming.url!, 'http://s3').searchParams.keys().next().value ?? ''}`.trim(),
      );
    if (incoming.method === 'PUT') headers = incoming.headers;
    if (state.isClosed || (state.isHeld && !isMarker)) {
      incoming.resume();
      outgoing.writeHead(503).end();
      return;
    }
    const { method, url: path } = incoming;
    const inner = request({ port, host, method, path, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    inner.on('error', () => outgoing.destroy());
    // A client that is killed in the middle of an object leaves a request that would keep the store open.
    outgoing.on('close', () => inner.destroy());
    incoming.pipe(inner);
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  return {
    access: {
      endpoint: `http://127.0.0.1:${(door.address() as AddressInfo).port}`,
      region: 'us-east-1',
      ...place,
    },
    seen,
    headers: () => headers,
    get isClosed() {
      return state.isClosed;
    },
    set isClosed(isClosed) {
      state.isClosed = isClosed;
    },
    get isHeld() {
      return state.isHeld;
    },
    set isHeld(isHeld) {
      state.isHeld = isHeld;
    },
    async stop() {
      door.closeAllConnections();
      await new Promise((resolve) => door.close(resolve));
      await stop();
    },
  };
}
