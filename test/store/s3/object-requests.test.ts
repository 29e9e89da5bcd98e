import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ObjectRequest, onObjectRequest } from '#base/tracing/tracing.js';
import { createS3Client } from '#store/s3/client.js';
import { startS3, type S3Service } from './s3-service.js';

let service: S3Service;
beforeAll(async () => {
  service = await startS3();
});
afterAll(() => service.stop());

test('each request is reported with its method, its time and whether the store has responded', async () => {
  const seenRequests: ObjectRequest[] = [];
  const stop = onObjectRequest((request) => void seenRequests.push(request));
  let answers = 0;
  const server = createServer((_, answer) => void answer.writeHead(answers++ === 0 ? 503 : 404).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    expect(await createS3Client({ ...service.access, endpoint }).look('absent')).toBeUndefined();
    await createS3Client(service.access).remove('absent');
  } finally {
    stop();
    server.close();
  }
  await createS3Client(service.access).remove('absent'); // the server does not listen any more
  expect(seenRequests.map(({ method, isAnswered }) => [method, isAnswered])).toEqual([
    ['HEAD', false],
    ['HEAD', true],
    ['DELETE', true],
  ]);
  expect(seenRequests.every(({ seconds }) => seconds > 0 && seconds < 60)).toBe(true);
});

test('a connection closed by the store is not an outage, however late the client notices', async () => {
  let requests = 0;
  const server = createServer((_, answer) => {
    if (requests++ < 2) answer.destroy();
    else answer.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    expect(await createS3Client({ ...service.access, endpoint }, { patienceMs: 0 }).look('absent')).toBeUndefined();
    requests = -1; // three failures in a row count as an outage
    const client = createS3Client({ ...service.access, endpoint }, { patienceMs: 0 });
    await expect(client.look('absent')).rejects.toThrow('closes the connection without an answer');
  } finally {
    server.close();
  }
});
