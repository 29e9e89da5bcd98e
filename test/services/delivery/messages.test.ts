import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Senders } from '#services/delivery/targets.js';
import { CALLBACK_KEY, type DeliveryWorld, type WorldOptions } from './delivery-world.js';
import { listLogLines, openWorlds } from './open-worlds.js';
import { findAttachment, startSmtpServer } from './smtp-server.js';

const TARGET_KEY = Buffer.from('a secret of one target, for tests');
const NEXT_KEY = Buffer.from('its next secret, during a rotation');
const formatSecret = (key: Buffer) => `whsec_${key.toString('base64')}`;
const sign = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest('base64');

let world: DeliveryWorld;
const { closing, open: openNew } = openWorlds();
const open = async (options?: WorldOptions) => (world = await openNew(options));
const listLines = () => listLogLines(world);

describe('a callback', () => {
  interface ReceivedRequest {
    readonly headers: IncomingHttpHeaders;
    readonly body: Buffer;
  }
  async function createReceiver() {
    const receivedRequests: ReceivedRequest[] = [];
    const state = { status: 204 };
    const server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        receivedRequests.push({ headers: incoming.headers, body: Buffer.concat(chunks) });
        outgoing.writeHead(state.status).end();
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    closing.push(() => server.close());
    return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, received: receivedRequests, state };
  }

  test('is signed, contains the file, and has the same id in every attempt', async () => {
    const { host, received, state } = await createReceiver();
    await open({ callbackHosts: [host] });
    const client = world.clientOf(
      { targets: [{ type: 'callback', name: 'hook', url: `http://${host}/in` }] },
      formatSecret(TARGET_KEY),
    );
    state.status = 500;
    const files = [world.file('CORE', 'a,b\n1,2\n')];
    expect(await world.deliver(client, files)).toMatchObject({ waiting: 1, reason: 'The receiver answered 500.' });
    state.status = 200;
    expect(await world.deliver(client, files)).toMatchObject({ delivered: 1 });
    await world.deliver(client, files);
    expect(received.length).toBe(4);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    const { headers, body } = received.at(-1)!;
    expect(body.toString()).toBe('a,b\n1,2\n');
    expect(headers).toMatchObject({
      'content-type': 'text/csv',
      'content-disposition': 'attachment; filename="CORE_20241231_closing.csv"',
      'content-digest': `sha-256=:${createHash('sha256').update(body).digest('base64')}:`,
      'divisor-date': '2024-12-31',
    });
    const signedText = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    expect(headers['webhook-signature']).toBe(`v1,${sign(TARGET_KEY, signedText)}`);
    // The receiver of a target cannot forge messages to receivers of other targets or about jobs.
    expect(headers['webhook-signature']).not.toContain(sign(CALLBACK_KEY, signedText));
  });

  test('has two signatures while its secret is replaced, and is not sent without a secret', async () => {
    const { host, received } = await createReceiver();
    await open({ callbackHosts: [host] });
    const target = { type: 'callback', name: 'hook', url: `http://${host}/in` };
    const secrets = [formatSecret(TARGET_KEY), formatSecret(NEXT_KEY)].join(', ');
    expect(await world.deliver(world.clientOf({ targets: [target] }), [world.file('EVEN', '1')])).toMatchObject({
      delivered: 0,
      reason: 'No secret is stored that signs the requests of the target.',
    });
    expect(received).toEqual([]);
    await world.deliver(world.clientOf({ targets: [target] }, secrets), [world.file('CORE', '1')]);
    const { headers, body } = received.at(-1)!;
    const signedText = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const signatures = [TARGET_KEY, NEXT_KEY].map((key) => `v1,${sign(key, signedText)}`);
    expect(headers['webhook-signature']).toBe(signatures.join(' '));
  });

  test('to a host that the operator does not allow is not sent', async () => {
    await open();
    const client = world.clientOf({ targets: [{ type: 'callback', name: 'hook', url: 'http://127.0.0.1:9/in' }] });
    expect((await world.deliver(client, [world.file('CORE', '1')])).reason).toContain('DIVISOR_CALLBACK_HOSTS');
  });

  test('whose process ended before its result was known is repeated under the same id', async () => {
    const { host, received } = await createReceiver();
    await open({ callbackHosts: [host] });
    const client = world.clientOf(
      { targets: [{ type: 'callback', name: 'hook', url: `http://${host}/in` }] },
      formatSecret(TARGET_KEY),
    );
    const files = [world.file('CORE', 'once')];
    const createFailingSenders = (senders: Senders): Senders => ({
      ...senders,
      callback: (job) => senders.callback({ ...job, delivered: () => Promise.reject(new Error('killed')) }),
    });
    await expect(world.deliver(client, files, { wrap: createFailingSenders })).rejects.toThrow('killed');
    expect((await world.record()).files[0]!.state).toBe('sending');
    expect(await world.deliver(client, files)).toMatchObject({ delivered: 1 });
    expect(received.map(({ headers }) => headers['webhook-id']).length).toBe(2);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(await listLines()).toContain('CORE_20241231_closing.csv: An earlier attempt has no result: it is repeated.');
  });
});

describe('mail', () => {
  const createMailClient = (change: object = {}) =>
    world.clientOf({
      targets: [
        { type: 'mail', name: 'mail', to: ['desk@acme.example'], subject: '{client} {date:DD.MM.YYYY}', ...change },
      ],
    });
  async function openWithMail() {
    const server = await startSmtpServer();
    closing.push(server.close);
    await open({ smtpUrl: server.url });
    return server;
  }

  test('has the reports attached, is sent once, and keeps its id', async () => {
    const server = await openWithMail();
    const files = [
      world.file('CORE', '%PDF-1.7 core', 'report'),
      world.file('EVEN', '%PDF-1.7 even', 'report'),
      world.file('CORE', 'csv'),
    ];
    server.state.answer = '451 later';
    expect(await world.deliver(createMailClient(), files)).toMatchObject({
      waiting: 2,
      reason: 'The mail server did not accept the mail: it answered 451.',
    });
    server.state.answer = '250 taken';
    expect(await world.deliver(createMailClient(), files)).toMatchObject({ delivered: 2 });
    await world.deliver(createMailClient(), files);
    expect(server.taken.length).toBe(1);
    const [mail] = server.taken;
    expect(mail).toMatchObject({ from: 'indices@desk.example', to: ['desk@acme.example'] });
    expect(mail!.text).toContain('Subject: ACME 31.12.2024');
    expect(findAttachment(mail!, 'CORE_20241231_report.pdf')!.toString()).toBe('%PDF-1.7 core');
    expect(findAttachment(mail!, 'EVEN_20241231_report.pdf')!.toString()).toBe('%PDF-1.7 even');
    expect(findAttachment(mail!, 'CORE_20241231_closing.csv')).toBeUndefined();
    const id = /Message-ID: (<[^>]+>)/i.exec(mail!.text)![1];
    await world.deliver(createMailClient(), files, { isRepeat: true });
    expect(server.taken.at(-1)!.text).toContain(id);
  });

  test('to a domain that the operator does not allow is not sent', async () => {
    const server = await openWithMail();
    const report = [world.file('CORE', '%PDF', 'report')];
    const { reason } = await world.deliver(createMailClient({ to: ['desk@evil.example'] }), report);
    expect(reason).toContain('--mail-domains');
    expect(server.taken).toEqual([]);
  });
});
