import { createHash, createHmac } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Senders } from '#services/delivery/senders.js';
import { createS3Client } from '#store/s3/s3-client.js';
import { startS3, type S3Service } from '../../store/s3/s3-service.js';
import { CALLBACK_KEY, deliveryWorld, type DeliveryWorld } from './delivery-world.js';
import { missingSftpServer, startSftpServer, type SftpServer } from './sftp-server.js';
import { attachmentOf, startSmtpServer } from './smtp-server.js';

let world: DeliveryWorld;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
const open = async (options: Parameters<typeof deliveryWorld>[0] = {}): Promise<DeliveryWorld> => {
  world = await deliveryWorld(options);
  closing.push(() => world.close());
  return world;
};
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
const linesOf = async () => (await world.record()).log.map(({ path, message }) => `${path ?? '*'}: ${message}`);

describe('a folder', () => {
  const folderClient = (change: object = {}) =>
    world.clientOf({ targets: [{ type: 'folder', name: 'house', url: `file://${world.root}/acme`, ...change }] });

  test('holds the files under their names with a checksum each, and nothing else', async () => {
    await open();
    const files = [world.file('CORE', 'a,b\n1,2\n'), world.file('EVEN', 'a,b\n3,4\n')];
    expect(await world.deliver(folderClient(), files)).toEqual({ delivered: 2, waiting: 0, failed: 0, reason: null });
    const folder = join(world.root, 'acme');
    expect(readdirSync(folder).toSorted()).toEqual([
      'CORE_20241231_closing.csv',
      'CORE_20241231_closing.csv.sha256',
      'EVEN_20241231_closing.csv',
      'EVEN_20241231_closing.csv.sha256',
    ]);
    expect(readFileSync(join(folder, 'CORE_20241231_closing.csv'), 'utf8')).toBe('a,b\n1,2\n');
    expect(readFileSync(join(folder, 'CORE_20241231_closing.csv.sha256'), 'utf8')).toBe(
      `${hashOf('a,b\n1,2\n')}  CORE_20241231_closing.csv\n`,
    );
  });

  test('receives a file once, however often it is delivered', async () => {
    await open();
    const files = [world.file('CORE', 'one')];
    await world.deliver(folderClient(), files);
    const { mtimeMs, ino } = statSync(join(world.root, 'acme/CORE_20241231_closing.csv'));
    await world.deliver(folderClient(), files);
    await world.deliver(folderClient(), files, { isAgain: true });
    const after = statSync(join(world.root, 'acme/CORE_20241231_closing.csv'));
    expect([after.mtimeMs, after.ino]).toEqual([mtimeMs, ino]);
    expect(world.read.length).toBe(1);
    expect(await linesOf()).toEqual([
      'CORE_20241231_closing.csv: Delivered.',
      'CORE_20241231_closing.csv: The same file was there already.',
    ]);
  });

  test('receives a corrected file in place of the first', async () => {
    await open();
    await world.deliver(folderClient(), [world.file('CORE', 'one')]);
    await world.deliver(folderClient(), [world.file('CORE', 'two')]);
    expect(readFileSync(join(world.root, 'acme/CORE_20241231_closing.csv'), 'utf8')).toBe('two');
    expect(readFileSync(join(world.root, 'acme/CORE_20241231_closing.csv.sha256'), 'utf8')).toContain(hashOf('two'));
    expect((await linesOf()).at(-1)).toContain('in place of another version');
  });

  test('has paths by a pattern', async () => {
    await open();
    const path = '{client}/{date:YYYY}/{date:MM}/{index}-{table}.txt';
    await world.deliver(folderClient({ path, checksum: false }), [world.file('CORE', 'one')]);
    expect(readFileSync(join(world.root, 'acme/ACME/2024/12/CORE-closing.txt'), 'utf8')).toBe('one');
    expect(existsSync(join(world.root, 'acme/ACME/2024/12/CORE-closing.txt.sha256'))).toBe(false);
  });

  test('receives one of two files that have the same path, which the log says', async () => {
    await open();
    const files = [world.file('CORE', 'one'), world.file('EVEN', 'two')];
    await world.deliver(folderClient({ path: 'levels.csv' }), files);
    expect(readFileSync(join(world.root, 'acme/levels.csv'), 'utf8')).toBe('one');
    expect(await linesOf()).toContain(
      'levels.csv: EVEN_20241231_closing.csv was left out: CORE_20241231_closing.csv has the same path.',
    );
  });

  test('outside the folders that the operator allows receives nothing, by name or by a link', async () => {
    await open();
    const files = [world.file('CORE', 'one')];
    const outside = world.clientOf({ targets: [{ type: 'folder', name: 'out', url: `file://${world.base}/other` }] });
    expect((await world.deliver(outside, files)).reason).toContain('--delivery-roots');
    mkdirSync(join(world.base, 'secret'));
    symlinkSync(join(world.base, 'secret'), join(world.root, 'acme'));
    expect((await world.deliver(folderClient(), files)).reason).toContain('A link leads out');
    expect(readdirSync(join(world.base, 'secret'))).toEqual([]);
  });

  test('that cannot be written fails with the reason, and has the file once it can', async () => {
    await open();
    writeFileSync(join(world.root, 'acme'), 'a file, no folder');
    const files = [world.file('CORE', 'one')];
    expect(await world.deliver(folderClient(), files)).toMatchObject({ delivered: 0, waiting: 1, failed: 0 });
    expect((await world.record()).files[0]).toMatchObject({ state: 'waiting', attempts: 3, rounds: 1, code: 'DELIVERY_FAILED' });
    rmSync(join(world.root, 'acme'));
    expect(await world.deliver(folderClient(), files)).toMatchObject({ delivered: 1 });
    expect((await world.record()).files[0]).toMatchObject({ state: 'delivered', attempts: 4, rounds: 2, code: null });
  });

  test('is given up after the last round', async () => {
    await open();
    const files = [world.file('CORE', 'one')];
    const outside = world.clientOf({ targets: [{ type: 'folder', name: 'out', url: `file://${world.base}/other` }] });
    for (let round = 1; round < 50; round++) expect((await world.deliver(outside, files)).waiting).toBe(1);
    expect(await world.deliver(outside, files)).toMatchObject({ waiting: 0, failed: 1 });
    expect((await world.deliver(outside, files)).failed).toBe(1);
    expect((await world.record()).files[0]!.rounds).toBe(50);
  });
});

describe('an entitlement', () => {
  const pathsFor = async (entitlements: object[], target: object = {}) => {
    await open();
    const client = world.clientOf({
      entitlements,
      targets: [{ type: 'folder', name: 'house', url: `file://${world.root}`, checksum: false, ...target }],
    });
    const files = [
      world.file('CORE', '1'),
      world.file('CORE', '2', 'opening'),
      world.file('EVEN', '3'),
      world.file('EVEN', '4', 'report'),
    ];
    await world.deliver(client, files);
    return readdirSync(world.root).toSorted();
  };

  test('decides by index, table and date which files a client receives', async () => {
    expect(await pathsFor([])).toEqual([]);
    expect(await pathsFor([{ indices: ['CORE'] }])).toEqual(['CORE_20241231_closing.csv', 'CORE_20241231_opening.csv']);
    expect(await pathsFor([{ tables: ['closing'] }])).toEqual(['CORE_20241231_closing.csv', 'EVEN_20241231_closing.csv']);
    expect(await pathsFor([{ indices: ['CORE'], tables: ['opening'] }, { indices: ['EVEN'], tables: ['report'] }])).toEqual([
      'CORE_20241231_opening.csv',
      'EVEN_20241231_report.pdf',
    ]);
    expect(await pathsFor([{ starts_on: '2025-01-01' }])).toEqual([]);
    expect(await pathsFor([{ ends_on: '2024-12-30' }])).toEqual([]);
    expect((await pathsFor([{ starts_on: '2024-12-31', ends_on: '2024-12-31' }])).length).toBe(4);
  });

  test('is not widened by what a target asks for', async () => {
    expect(await pathsFor([{ indices: ['CORE'] }], { tables: ['closing', 'report'] })).toEqual(['CORE_20241231_closing.csv']);
  });
});

describe.skipIf(missingSftpServer() !== undefined)('an SFTP server', () => {
  let server: SftpServer;
  beforeAll(async () => {
    server = await startSftpServer();
    return () => server.stop();
  });
  const sftpClient = (change: object = {}, secret: string | undefined = server.key) =>
    world.clientOf(
      {
        targets: [
          {
            type: 'sftp',
            name: 'ftp',
            url: `sftp://${server.user}@127.0.0.1:${server.port}${server.folder}`,
            host_key: server.fingerprint,
            ...change,
          },
        ],
      },
      secret,
    );
  const openWorld = () => open({ hosts: [`127.0.0.1:${server.port}`] });

  test('holds files, checksums and folders, and receives each file once', async () => {
    await openWorld();
    const files = [world.file('CORE', 'one\n'), world.file('EVEN', 'two\n')];
    const client = sftpClient({ path: '{date:YYYY}/{file}' });
    expect(await world.deliver(client, files)).toMatchObject({ delivered: 2 });
    const folder = join(server.folder, '2024');
    expect(readdirSync(folder).toSorted()).toEqual([
      'CORE_20241231_closing.csv',
      'CORE_20241231_closing.csv.sha256',
      'EVEN_20241231_closing.csv',
      'EVEN_20241231_closing.csv.sha256',
    ]);
    expect(readFileSync(join(folder, 'CORE_20241231_closing.csv'), 'utf8')).toBe('one\n');
    const { ino } = statSync(join(folder, 'CORE_20241231_closing.csv'));
    await world.deliver(client, files, { isAgain: true });
    expect(statSync(join(folder, 'CORE_20241231_closing.csv')).ino).toBe(ino);
    expect(world.read.length).toBe(2);
    await world.deliver(client, [world.file('CORE', 'corrected\n')]);
    expect(readFileSync(join(folder, 'CORE_20241231_closing.csv'), 'utf8')).toBe('corrected\n');
    expect(readFileSync(join(folder, 'CORE_20241231_closing.csv.sha256'), 'utf8')).toContain(hashOf('corrected\n'));
  });

  test('with another host key, without a key, or with an unknown one is refused at once', async () => {
    await openWorld();
    const files = [world.file('CORE', 'one')];
    const other = sftpClient({ host_key: `SHA256:${'A'.repeat(43)}` });
    expect((await world.deliver(other, files)).reason).toBe(`The server has another host key: ${server.fingerprint}.`);
    expect((await world.record()).files[0]!.attempts).toBe(0);
    const none = { ...sftpClient(), secretOf: () => undefined };
    expect((await world.deliver(none, files)).reason).toContain('No password and no key');
    const password = sftpClient({}, 'guess');
    expect((await world.deliver(password, files)).reason).toContain('password or its key was refused');
    expect((await linesOf()).length).toBe(3);
  });

  test('that is away is attempted again, within the round and in the next', async () => {
    await openWorld();
    const files = [world.file('CORE', 'late')];
    const dead = sftpClient({ url: `sftp://${server.user}@127.0.0.1:9${server.folder}` });
    const away = await deliveryWorld({ hosts: ['127.0.0.1:9'] });
    closing.push(() => away.close());
    expect(await away.deliver(dead, files)).toMatchObject({ waiting: 1, reason: 'The server could not be used: ECONNREFUSED.' });
    expect((await away.record()).log.length).toBe(3);
  });

  test('whose folder is missing fails with what the server says', async () => {
    await openWorld();
    const client = sftpClient({ url: `sftp://${server.user}@127.0.0.1:${server.port}/nonexistent/deep` });
    const { reason } = await world.deliver(client, [world.file('CORE', 'one')]);
    expect(reason).toMatch(/could not store the file: No such file/i);
  });
});
if (missingSftpServer() !== undefined) console.log(`SFTP is not tested: ${missingSftpServer()}`);

describe('a bucket', () => {
  let service: S3Service;
  beforeAll(async () => {
    service = await startS3();
    return () => service.stop();
  });

  test('holds objects with their checksums, each written once, with the keys of the service or of the client', async () => {
    const { endpoint, bucket, keys, prefix } = service.access;
    await open({ endpoint, keys, buckets: [`s3://${bucket}/${prefix}acme`], hosts: [new URL(endpoint).host] });
    const url = `s3://${bucket}/${prefix}acme`;
    const own = world.clientOf({ targets: [{ type: 'bucket', name: 'bucket', url }] });
    const files = [world.file('CORE', 'one\n')];
    expect(await world.deliver(own, files)).toMatchObject({ delivered: 1 });
    const client = createS3Client({ ...service.access, prefix: `${prefix}acme/` });
    const textOf = (name: string) =>
      client.get(name, async ({ body }) => textIn(body));
    expect(await textOf('CORE_20241231_closing.csv')).toBe('one\n');
    expect(await textOf('CORE_20241231_closing.csv.sha256')).toBe(`${hashOf('one\n')}  CORE_20241231_closing.csv\n`);
    await world.deliver(own, files, { isAgain: true });
    expect(world.read.length).toBe(1);
    const target = { type: 'bucket', name: 'bucket', url: `s3://${bucket}/${prefix}their`, endpoint, access_key_id: keys.accessKeyId };
    const theirs = world.clientOf({ targets: [target] }, keys.secretAccessKey);
    expect(await world.deliver(theirs, [world.file('CORE', 'two\n')])).toMatchObject({ delivered: 1 });
  });

  test('that the operator does not allow receives nothing', async () => {
    await open({ buckets: ['s3://results/acme'] });
    const reasonFor = async (target: object) =>
      (await world.deliver(world.clientOf({ targets: [{ type: 'bucket', name: 'b', ...target }] }, 's'), [world.file('CORE', '1')]))
        .reason;
    expect(await reasonFor({ url: 's3://results/acme-2' })).toContain('--delivery-buckets');
    expect(await reasonFor({ url: 's3://other' })).toContain('--delivery-buckets');
    expect(await reasonFor({ url: 's3://other', access_key_id: 'x', endpoint: 'https://s3.evil.example' })).toContain('--delivery-hosts');
  });
});

describe('a callback', () => {
  interface Received {
    readonly headers: IncomingHttpHeaders;
    readonly body: Buffer;
  }
  async function receiver() {
    const received: Received[] = [];
    const state = { status: 204 };
    const server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        received.push({ headers: incoming.headers, body: Buffer.concat(chunks) });
        outgoing.writeHead(state.status).end();
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    closing.push(() => server.close());
    return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, received, state };
  }

  test('is signed, holds the file, and has the same id in every attempt', async () => {
    const { host, received, state } = await receiver();
    await open({ callbackHosts: [host] });
    const client = world.clientOf({ targets: [{ type: 'callback', name: 'hook', url: `http://${host}/in` }] });
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
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const signature = createHmac('sha256', CALLBACK_KEY).update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
  });

  test('of a host that the operator does not allow is not sent', async () => {
    await open();
    const client = world.clientOf({ targets: [{ type: 'callback', name: 'hook', url: 'http://127.0.0.1:9/in' }] });
    expect((await world.deliver(client, [world.file('CORE', '1')])).reason).toContain('DIVISOR_CALLBACK_HOSTS');
  });

  test('whose process ended before its result was known is repeated under the same id', async () => {
    const { host, received } = await receiver();
    await open({ callbackHosts: [host] });
    const client = world.clientOf({ targets: [{ type: 'callback', name: 'hook', url: `http://${host}/in` }] });
    const files = [world.file('CORE', 'once')];
    const dying = (senders: Senders): Senders => ({
      ...senders,
      callback: (job) => senders.callback({ ...job, delivered: () => Promise.reject(new Error('killed')) }),
    });
    await expect(world.deliver(client, files, { wrap: dying })).rejects.toThrow('killed');
    expect((await world.record()).files[0]!.state).toBe('sending');
    expect(await world.deliver(client, files)).toMatchObject({ delivered: 1 });
    expect(received.map(({ headers }) => headers['webhook-id']).length).toBe(2);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(await linesOf()).toContain('CORE_20241231_closing.csv: An earlier attempt has no result: it is repeated.');
  });
});

describe('mail', () => {
  const mailClient = (change: object = {}) =>
    world.clientOf({
      targets: [{ type: 'mail', name: 'mail', to: ['desk@acme.example'], subject: '{client} {date:DD.MM.YYYY}', ...change }],
    });
  async function openWithMail() {
    const server = await startSmtpServer();
    closing.push(server.close);
    await open({ smtpUrl: server.url });
    return server;
  }

  test('has the reports attached, goes out once, and keeps its id', async () => {
    const server = await openWithMail();
    const files = [world.file('CORE', '%PDF-1.7 core', 'report'), world.file('EVEN', '%PDF-1.7 even', 'report'), world.file('CORE', 'csv')];
    server.state.answer = '451 later';
    expect(await world.deliver(mailClient(), files)).toMatchObject({ waiting: 2, reason: 'The mail server did not accept the mail: it answered 451.' });
    server.state.answer = '250 taken';
    expect(await world.deliver(mailClient(), files)).toMatchObject({ delivered: 2 });
    await world.deliver(mailClient(), files);
    expect(server.taken.length).toBe(1);
    const [mail] = server.taken;
    expect(mail).toMatchObject({ from: 'indices@desk.example', to: ['desk@acme.example'] });
    expect(mail!.text).toContain('Subject: ACME 31.12.2024');
    expect(attachmentOf(mail!, 'CORE_20241231_report.pdf')!.toString()).toBe('%PDF-1.7 core');
    expect(attachmentOf(mail!, 'EVEN_20241231_report.pdf')!.toString()).toBe('%PDF-1.7 even');
    expect(attachmentOf(mail!, 'CORE_20241231_closing.csv')).toBeUndefined();
    const id = /Message-ID: (<[^>]+>)/i.exec(mail!.text)![1];
    await world.deliver(mailClient(), files, { isAgain: true });
    expect(server.taken.at(-1)!.text).toContain(id);
  });

  test('to a domain that the operator does not allow is not sent', async () => {
    const server = await openWithMail();
    const report = [world.file('CORE', '%PDF', 'report')];
    const { reason } = await world.deliver(mailClient({ to: ['desk@evil.example'] }), report);
    expect(reason).toContain('--mail-domains');
    expect(server.taken).toEqual([]);
  });
});

async function textIn(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
