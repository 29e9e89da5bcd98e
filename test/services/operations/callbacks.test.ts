import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { runService, type RunningService } from '../running-service.js';
import { waitUntil } from '../../waiting.js';

/** Key with which the service signs callbacks. */
const KEY = Buffer.from('a key of at least 24 bytes, for tests');

interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Creates a receiver of callbacks. The test determines its responses. */
async function createReceiver() {
  const receivedRequests: ReceivedRequest[] = [];
  const state = { status: 204, redirect: '', isSilent: false };
  let resolveArrival = (): void => {};
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      receivedRequests.push({ headers: incoming.headers, body: Buffer.concat(chunks).toString() });
      if (!state.isSilent)
        outgoing.writeHead(state.status, state.redirect === '' ? {} : { Location: state.redirect }).end();
      resolveArrival();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: receivedRequests,
    state,
    /** Resolves after at least this number of messages has arrived. */
    async count(countMin: number) {
      while (receivedRequests.length < countMin) await new Promise<void>((resolve) => void (resolveArrival = resolve));
    },
    close: () => server.close(),
  };
}

let hooks: Awaited<ReturnType<typeof createReceiver>>;
let service: RunningService;
beforeAll(async () => {
  hooks = await createReceiver();
  service = await runService(['--callback-hosts', hooks.host, '--callback-private', 'on'], {
    DIVISOR_CALLBACK_SECRET: `whsec_${KEY.toString('base64')}`,
  });
});
afterAll(async () => {
  await service.close();
  hooks.close();
});

const formatUrl = (path: string) => `http://${hooks.host}${path}`;
const generate = async (id: string, path: string) => {
  const market = { store_id: id, assets: 2, start: '2021-01-04', end: '2021-03-31', activate: false };
  const callback = encodeURIComponent(formatUrl(path));
  const { status, body } = await service.ask<JobStatus>('POST', `/data/synthetic?callback=${callback}`, market);
  expect([status, body.callbacks]).toMatchObject([202, [{ url: formatUrl(path), state: 'waiting', attempts: 0 }]]);
  return body;
};
const waitForCallback = (jobId: string, state: string) =>
  waitUntil(async () => {
    const { callbacks } = (await service.ask<JobStatus>('GET', `/jobs/${jobId}`)).body;
    return callbacks[0]?.state === state && callbacks[0];
  });

test('the notification of a job is signed, repeated until it is accepted, and shown by the job', async () => {
  hooks.state.status = 500;
  const { job_id: jobId, callbacks } = await generate('a', '/hook?of=a');
  await hooks.count(1);
  hooks.state.status = 204;
  await hooks.count(2);
  const report = await waitForCallback(jobId, 'delivered');
  expect(report).toMatchObject({ attempts: 2, last_error: null, next_attempt_at: null });
  expect(hooks.received).toHaveLength(2);
  for (const { headers, body } of hooks.received) {
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = headers;
    expect(id).toBe(callbacks[0]!.delivery_id);
    expect(signature).toBe(`v1,${createHmac('sha256', KEY).update(`${id}.${at}.${body}`).digest('base64')}`);
  }
  const { data, ...rest } = JSON.parse(hooks.received[0]!.body);
  const { body: job } = await service.ask<JobStatus>('GET', `/jobs/${jobId}`);
  expect(rest).toEqual({ type: 'job.succeeded', timestamp: job.finished_at });
  const { callbacks: _callbacks, ...status } = job;
  expect(data).toEqual({ ...status, result: null });
});

test('a message not accepted before a stop is delivered after the start, once the receiver accepts it', async () => {
  hooks.state.status = 503;
  const before = hooks.received.length;
  const { job_id: jobId, callbacks } = await generate('b', '/hook');
  await hooks.count(before + 1);
  expect(await waitForCallback(jobId, 'due')).toMatchObject({ url: formatUrl('/hook') });
  await service.restart(async () => {
    hooks.state.status = 200;
  });
  expect((await waitForCallback(jobId, 'delivered')).attempts).toBeGreaterThan(1);
  expect(hooks.received.at(-1)!.headers['webhook-id']).toBe(callbacks[0]!.delivery_id);
});

test('a stop does not wait for a receiver that does not respond, and the message is not lost', async () => {
  hooks.state.isSilent = true;
  const before = hooks.received.length;
  const { job_id: jobId } = await generate('silent', '/hook');
  await hooks.count(before + 1);
  await service.restart(async () => {
    Object.assign(hooks.state, { isSilent: false, status: 204 });
  });
  // The interrupted attempt is not counted.
  expect(await waitForCallback(jobId, 'delivered')).toMatchObject({ attempts: 1 });
});

test('a redirect is a failure, and a receiver that no longer exists is not retried', async () => {
  Object.assign(hooks.state, { status: 302, redirect: formatUrl('/elsewhere') });
  const before = hooks.received.length;
  const { job_id: jobId } = await generate('c', '/hook');
  await hooks.count(before + 1);
  Object.assign(hooks.state, { status: 410, redirect: '' });
  expect(await waitForCallback(jobId, 'failed')).toMatchObject({ last_error: 'The receiver answered 410.' });
});

test('an address that is not allowed is refused before anything is queued, and only where jobs start', async () => {
  const otherAddress = encodeURIComponent('https://elsewhere.test/');
  expect(await service.refusal('POST', `/data/synthetic?callback=${otherAddress}`, { store_id: 'd' })).toMatchObject({
    status: 422,
    detail: { findings: [{ code: 'CALLBACK_NOT_ALLOWED', path: 'callback' }] },
  });
  expect(await service.refusal('GET', '/jobs/generate:d')).toMatchObject({ status: 404 });
  expect(await service.refusal('GET', `/jobs?callback=${otherAddress}`)).toMatchObject({ status: 422 });
});

test('a service with hosts and no secret does not start', async () => {
  await expect(runService(['--callback-hosts', 'hooks.test'])).rejects.toThrow(/DIVISOR_CALLBACK_SECRET/);
});
