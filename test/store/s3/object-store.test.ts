import { createHash } from 'node:crypto';
import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { AwsClient } from 'aws4fetch';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openArtifactWriter } from '#store/artifact-writer.js';
import { watchFreeSpace } from '#store/artifacts/free-space.js';
import type { ArtifactDestination, ArtifactStore, FixedKeys, S3Access } from '#store/port.js';
import { createArtifactName } from '#store/artifacts/artifact.js';
import { claimStore } from '#store/ownership/ownership.js';
import { openObjectArtifacts } from '#store/s3/object-store.js';
import { createS3Client } from '#store/s3/client.js';
import { IS_SOAK } from '../../soak.js';
import { createMemoryEngine } from '../memory-engine.js';
import { openTemporaryFolders } from '../temporary-folder.js';
import { startS3, type S3Service } from './s3-service.js';

const createFolder = openTemporaryFolders();
let service: S3Service;
beforeAll(async () => {
  service = await startS3();
});
afterAll(() => service.stop());

const MIB = 2 ** 20;
const createBytes = (size: number, seed = 0): Uint8Array =>
  new Uint8Array(
    Buffer.alloc(
      size,
      Uint8Array.from({ length: 251 }, (_, i) => i + seed),
    ),
  );
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const CONTENT = createBytes(700_001);
const isReferenced = async (): Promise<boolean> => true;
/** Creates a machine with its own cache. */
async function openMachine(folder?: string): Promise<{ readonly artifacts: ArtifactStore; readonly folder: string }> {
  const cache = { folder: folder ?? (await createFolder()), bytesMax: 64 * MIB };
  const { access } = service;
  return { artifacts: await openObjectArtifacts({ access, cache, freeSpace: watchFreeSpace(cache.folder) }), ...cache };
}

/** @returns host and port */
async function listenOnFreePort(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const drainStream = async (stream: ReadableStream<Uint8Array>): Promise<Buffer> =>
  Buffer.from(await new Response(stream).arrayBuffer());

test('another machine reads an object completely, in part and as a file', async () => {
  const [writer, reader] = [await openMachine(), await openMachine()];
  const ref = await writer.artifacts.write(CONTENT, sha256(CONTENT));
  const range = { start: 262_000, end: 524_400 };
  expect(Buffer.compare(await reader.artifacts.read(ref), CONTENT)).toBe(0);
  expect(Buffer.compare(await reader.artifacts.read(ref, range), CONTENT.subarray(range.start, range.end))).toBe(0);
  expect(Buffer.compare(await drainStream(await reader.artifacts.stream(ref)), CONTENT)).toBe(0);
  expect(Buffer.compare(await readFile(await reader.artifacts.file(ref)), CONTENT)).toBe(0);
  await writer.artifacts.remove([ref.name]);
  await expect((await openMachine()).artifacts.read(ref)).rejects.toMatchObject({ code: 'DOCUMENT_UNREADABLE' });
});

/** Copies bytes to shared memory. The columns of a run are stored in such memory. */
function toSharedMemory(bytes: Uint8Array): Uint8Array {
  const sharedBytes = new Uint8Array(new SharedArrayBuffer(bytes.length));
  sharedBytes.set(bytes);
  return sharedBytes;
}

test('a body is sent with its hash, and one above 16 MiB in parts with their hashes', async () => {
  const { artifacts, folder } = await openMachine();
  const large = toSharedMemory(createBytes(33 * MIB + 7, 3));
  const destination = JSON.parse(JSON.stringify(artifacts.destination)) as ArtifactDestination;
  const names = [artifacts.newName(), artifacts.newName()];
  const [small] = await openArtifactWriter(destination).write([{ name: names[0]!, bytes: toSharedMemory(CONTENT) }]);
  expect(service.headers()['x-amz-content-sha256']).toBe(sha256(CONTENT));
  expect(small).toEqual({ name: names[0], bytes: CONTENT.length, sha256: sha256(CONTENT) });
  service.seen.length = 0;
  const [ref] = await openArtifactWriter(destination).write([{ name: names[1]!, bytes: large }]);
  expect(service.seen.filter((each) => each === 'PUT partNumber')).toHaveLength(3);
  const parts = [0, 1, 2].map((i) => sha256(large.subarray(i * 16 * MIB, (i + 1) * 16 * MIB)));
  expect(parts).toContain(service.headers()['x-amz-content-sha256']);
  // The machine that wrote the object reads its cached copy. Another machine reads the object.
  service.seen.length = 0;
  expect((await readFile(await artifacts.file(ref!))).length).toBe(large.length);
  expect(service.seen).toEqual([]);
  const other = await openMachine();
  expect(sha256(await other.artifacts.read(ref!))).toBe(sha256(large));
  expect((await readdir(folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
});

test('a file is sent in parts from disk, and read by another machine', async () => {
  const large = createBytes(17 * MIB + 3, 5);
  const path = join(await createFolder(), 'prices.parquet');
  await writeFile(path, large);
  service.seen.length = 0;
  const { artifacts, folder } = await openMachine();
  const ref = await artifacts.writeFile(path);
  expect(ref).toMatchObject({ bytes: large.length, sha256: sha256(large) });
  expect(service.seen.filter((each) => each === 'PUT partNumber')).toHaveLength(2);
  expect(await readdir(folder)).toEqual([]); // the machine that wrote the object has its file
  expect(sha256(await (await openMachine()).artifacts.read(ref))).toBe(sha256(large));
});

test('a damaged copy is fetched again, also by a process that starts on it; a damaged object is refused', async () => {
  const { artifacts, folder } = await openMachine();
  const ref = await artifacts.write(CONTENT, sha256(CONTENT));
  const damage = async (): Promise<void> => {
    const { mtime } = await stat(join(folder, ref.name));
    await writeFile(join(folder, ref.name), createBytes(CONTENT.length, 1));
    await utimes(join(folder, ref.name), mtime, mtime); // only the content reveals the change
  };
  await damage();
  expect(Buffer.compare(await artifacts.read(ref), CONTENT)).toBe(0);
  await damage();
  const reader = await openMachine(folder);
  expect(Buffer.compare(await readFile(await reader.artifacts.file(ref)), CONTENT)).toBe(0);
  await putUnchecked(ref.name, createBytes(9), sha256(CONTENT));
  await expect((await openMachine()).artifacts.file(ref)).rejects.toMatchObject({ code: 'DOCUMENT_UNREADABLE' });
});

/** Overwrites an object with other content and a wrong hash. This simulates damage in the store. */
async function putUnchecked(name: string, bytes: Uint8Array, claimedHash: string): Promise<void> {
  const { endpoint, bucket, prefix, region, keys } = service.access;
  const { accessKeyId, secretAccessKey } = keys;
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0 });
  const init = { method: 'PUT', body: Buffer.from(bytes), headers: { 'x-amz-meta-sha256': claimedHash } };
  expect((await client.fetch(`${endpoint}/${bucket}/${prefix}${name}`, init)).status).toBe(200);
}

test('a body that arrives damaged is refused and sent again, completely and in parts', async () => {
  if (!service.isStrict) return console.log('skipped: s3rver compares no hash; Ceph in npm run soak does');
  const client = createS3Client(service.access);
  for (const size of [9, 17 * MIB]) {
    const [name, bytes] = [createArtifactName(), createBytes(size)];
    service.bodiesToDamage = 1;
    await client.put(name, bytes, sha256(bytes));
    expect(service.bodiesToDamage).toBe(0);
    expect(await client.get(name, async ({ body }) => sha256(await buffer(body)))).toBe(sha256(bytes));
  }
  const impatient = createS3Client(service.access, { patienceMs: 0 });
  service.bodiesToDamage = 1;
  const name = createArtifactName();
  await expect(impatient.put(name, CONTENT, sha256(CONTENT))).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(/it answers 400 XAmzContentSHA256Mismatch/),
  });
  expect(await client.get(name, isReferenced)).toBeUndefined();
});

test('an unavailable object store delays a write, and one that refuses reports it at once', async () => {
  const { artifacts } = await openMachine();
  service.isClosed = true;
  service.seen.length = 0;
  const writing = artifacts.write(CONTENT, sha256(CONTENT));
  while (service.seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  service.isClosed = false;
  expect(await (await openMachine()).artifacts.isIntact(await writing)).toBe(true);
  const { access } = service;
  const addKeys = (keys: Partial<FixedKeys>) => createS3Client({ ...access, keys: { ...access.keys, ...keys } });
  const stranger = addKeys({ accessKeyId: 'nobody', secretAccessKey: 'another' });
  const forger = addKeys({ secretAccessKey: 'another' });
  for (const client of service.isStrict ? [stranger, forger] : [stranger]) {
    const refusal = await client.get('nothing', isReferenced).catch((thrown: unknown) => thrown);
    expect(refusal).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(String(refusal)).toMatch(/403 \w+: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/);
    expect(String(refusal)).not.toMatch(/another|nobody/);
  }
});

test('a stalled object read restarts from the beginning, up to the retry limit', async () => {
  let brokenCount = 2;
  let reads = 0;
  const server = createServer((_, outgoing) => {
    reads++;
    outgoing.writeHead(200, { 'content-length': CONTENT.length, 'x-amz-meta-sha256': sha256(CONTENT) });
    if (brokenCount-- > 0) outgoing.write(CONTENT.subarray(0, 300_000), () => outgoing.destroy());
    else outgoing.end(CONTENT);
  });
  const endpoint = `http://${await listenOnFreePort(server)}`;
  const cache = { folder: await createFolder(), bytesMax: 64 * MIB };
  const access = { ...service.access, endpoint };
  const artifacts = await openObjectArtifacts({ access, cache, freeSpace: watchFreeSpace(cache.folder) });
  const path = await artifacts.file({ name: createArtifactName() });
  expect([Buffer.compare(await readFile(path), CONTENT), reads]).toEqual([0, 3]);
  expect((await readdir(cache.folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
  brokenCount = 1;
  const hurriedClient = createS3Client(access, { patienceMs: 0 });
  await expect(hurriedClient.get('a', ({ body }) => buffer(body))).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: `The object store ${endpoint} broke off a response.`,
  });
  // If the storage of the reader causes an error, it is reported unchanged and immediately.
  const full = new Error('ENOSPC');
  await expect(hurriedClient.get('a', () => Promise.reject(full))).rejects.toBe(full);
  await new Promise((resolve) => server.close(resolve));
});

test('a request abandons a stalled object; a job receives it once the store answers', async () => {
  const waitingResponses: (() => void)[] = [];
  const server = createServer(({ url }, outgoing) => {
    outgoing.writeHead(200, { 'content-length': CONTENT.length, 'x-amz-meta-sha256': sha256(CONTENT) });
    if (url!.endsWith('half')) outgoing.write(CONTENT.subarray(0, 300_000));
    waitingResponses.push(() => outgoing.end(url!.endsWith('half') ? CONTENT.subarray(300_000) : CONTENT));
  });
  const endpoint = `http://${await listenOnFreePort(server)}`;
  const cache = { folder: await createFolder(), bytesMax: 64 * MIB };
  const openStore = async (access: S3Access) =>
    openObjectArtifacts({ access, cache, freeSpace: watchFreeSpace(cache.folder) });
  const stalledStore = await openStore({ ...service.access, endpoint });
  const absentStore = await openStore({ ...service.access, endpoint: 'http://127.0.0.1:9' });
  const names = ['none', 'half'];
  const jobReads = names.map((name) => stalledStore.file({ name }));
  const requestReads = names.map((name) => stalledStore.forRequests!.file({ name }));
  const refusals = await Promise.allSettled([...requestReads, absentStore.forRequests!.file({ name: 'away' })]);
  expect(refusals.map((each) => each.status === 'rejected' && (each.reason as { code: string }).code)).toEqual(
    Array.from({ length: 3 }, () => 'STORE_UNAVAILABLE'),
  );
  expect(String((refusals[0] as PromiseRejectedResult).reason)).toMatch(
    /cannot be reached at .*: it does not answer\.$/,
  );
  expect(String((refusals[2] as PromiseRejectedResult).reason)).toMatch(
    /cannot be reached at .*: (ECONNREFUSED|bad port)\.$/,
  );
  for (const answer of waitingResponses) answer();
  for (const path of await Promise.all(jobReads)) expect(Buffer.compare(await readFile(path), CONTENT)).toBe(0);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('an error that only another setting resolves names that setting, and no key', async () => {
  let answer: readonly [number, string] = [200, ''];
  const strictServer = createServer((_, outgoing) => outgoing.writeHead(answer[0]).end(answer[1]));
  const host = await listenOnFreePort(strictServer);
  const keys: FixedKeys = {
    kind: 'given',
    accessKeyId: 'KEY-OF-MINE',
    secretAccessKey: 'SECRET-OF-MINE',
    sessionToken: 'TOKEN-OF-MINE',
  };
  const openClient = (endpoint: string) => createS3Client({ ...service.access, keys, endpoint }, { patienceMs: 0 });
  const catchMessage = async (endpoint: string): Promise<string> => {
    const thrown: unknown = await openClient(endpoint)
      .get('nothing', isReferenced)
      .catch((reason: unknown) => reason);
    expect(thrown).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(String(thrown)).not.toMatch(/OF-MINE/);
    return String(thrown);
  };
  const reports = [
    [403, 'SignatureDoesNotMatch', /AWS_SECRET_ACCESS_KEY/],
    [403, 'AccessDenied', /AWS_ACCESS_KEY_ID, may not/],
    [400, 'ExpiredToken', /AWS_SESSION_TOKEN/],
    [400, 'AuthorizationHeaderMalformed', /region us-east-1.*not in the region of AWS_REGION/],
    [301, 'PermanentRedirect', /not in the region of AWS_REGION/],
    [403, 'RequestTimeTooSkewed', /clock/],
    [409, 'SomethingElse', /with 409 SomethingElse\.$/],
  ] as const;
  for (const [status, code, words] of reports) {
    answer = [status, `<Error><Code>${code}</Code><Message>of TOKEN-OF-MINE</Message></Error>`];
    expect(await catchMessage(`http://${host}`)).toMatch(words);
  }
  answer = [400, 'Client sent an HTTP request to an HTTPS server.'];
  expect(await catchMessage(`http://${host}`)).toMatch(/should AWS_ENDPOINT_URL_S3 begin with https:\/\/\?$/);
  expect(await catchMessage(`https://${host}`)).toMatch(
    /without TLS: should AWS_ENDPOINT_URL_S3 begin with http:\/\/\?$/,
  );
  await new Promise((resolve) => strictServer.close(resolve));
});

test('a missing object is damage, and a missing bucket a wrong setting; a place belongs to its database', async () => {
  const { access } = service;
  const cache = { folder: await createFolder(), bytesMax: MIB };
  const otherAccess = { ...access, bucket: 'another' };
  expect(await createS3Client(access).get(createArtifactName(), isReferenced)).toBeUndefined();
  await expect(createS3Client(otherAccess).get(createArtifactName(), isReferenced)).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: `The object store ${access.endpoint} has no bucket another.`,
  });
  const documents = createMemoryEngine().open();
  const openClient = (s3Access: S3Access) => ({ kind: 's3', access: s3Access, cache }) as const;
  const ownAccess = { ...access, prefix: `${access.prefix}own/` };
  await expect(claimStore(documents, openClient(otherAccess))).rejects.toMatchObject({
    exitStatus: 78,
    message: /no bucket/,
  });
  const id = await claimStore(documents, openClient(ownAccess));
  expect(await claimStore(documents, openClient(ownAccess))).toBe(id);
  const other = { ...access, prefix: `${access.prefix}other/` };
  await expect(claimStore(documents, openClient(other))).rejects.toMatchObject({
    exitStatus: 78,
    message: new RegExp(id),
  });
  const artifacts = await openObjectArtifacts({ access: ownAccess, cache, freeSpace: watchFreeSpace(cache.folder) });
  expect(await artifacts.sweep(async () => new Set())).toBe(0); // the marker does not count as orphaned
  expect(await claimStore(documents, openClient(ownAccess))).toBe(id);
});

test('a cached file is read under a second name without a request, and fetched once it is damaged', async () => {
  const { artifacts, folder } = await openMachine();
  const first = await artifacts.write(CONTENT, sha256(CONTENT));
  const [second] = await artifacts.link([{ ref: first, name: artifacts.newName() }]);
  await artifacts.remove([first.name]);
  service.seen.length = 0;
  expect(Buffer.compare(await artifacts.read(second!), CONTENT)).toBe(0);
  expect(service.seen).toEqual([]);
  await writeFile(join(folder, second!.name), createBytes(CONTENT.length, 1));
  expect(Buffer.compare(await artifacts.read(second!), CONTENT)).toBe(0);
});

test('garbage is old and unreferenced; second names are separate objects', async () => {
  const { artifacts } = await openMachine();
  const [keptRef, goneRef] = [
    await artifacts.write(CONTENT, sha256(CONTENT)),
    await artifacts.write(CONTENT, sha256(CONTENT)),
  ];
  const [second] = await artifacts.link([{ ref: keptRef, name: artifacts.newName() }]);
  const foreignNames = ['report.pdf', `${createArtifactName()}.bak`, `another/${createArtifactName()}`];
  for (const name of foreignNames) await putUnchecked(name, createBytes(3), sha256(createBytes(3)));
  const listOwned = async () => new Set([second!.name]);
  expect(await artifacts.sweep(listOwned, { olderThanMs: 60_000 })).toBe(0);
  expect(await artifacts.sweep(listOwned)).toBeGreaterThanOrEqual(2);
  expect(await artifacts.isIntact(second!)).toBe(true);
  const client = createS3Client(service.access);
  // These objects belong to another application or another results location.
  for (const name of foreignNames) expect(await client.get(name, isReferenced)).toBe(true);
  await expect(artifacts.link([{ ref: goneRef, name: artifacts.newName() }])).rejects.toMatchObject({
    code: 'DOCUMENT_UNREADABLE',
  });
});

if (!IS_SOAK) console.log('skipped: a listing of a thousand objects; npm run soak has it');

test.runIf(IS_SOAK)('a listing has every object once, also in several responses', async () => {
  const client = createS3Client({ ...service.access, prefix: `${service.access.prefix}many/` });
  const names = Array.from({ length: 1010 }, createArtifactName);
  for (let i = 0; i < names.length; i += 20)
    await Promise.all(names.slice(i, i + 20).map((name) => client.put(name, createBytes(1), sha256(createBytes(1)))));
  service.seen.length = 0;
  const listing: string[] = [];
  for await (const { name } of client.list()) listing.push(name);
  expect(listing.toSorted()).toEqual(names.toSorted());
  expect(service.seen).toEqual(['GET list-type', 'GET list-type']);
});
