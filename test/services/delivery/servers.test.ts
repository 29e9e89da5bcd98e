import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { createS3Client } from '#store/s3/client.js';
import { startS3, type S3Service } from '../../store/s3/s3-service.js';
import { openDeliveryWorld, type DeliveryWorld, type WorldOptions } from './delivery-world.js';
import { computeHash, listLogLines, openWorlds } from './open-worlds.js';
import { explainMissingSftpServer, startSftpServer, type SftpServer } from './sftp-server.js';

let world: DeliveryWorld;
const { closing, open: openNew } = openWorlds();
const open = async (options?: WorldOptions) => (world = await openNew(options));
const listLines = () => listLogLines(world);

describe.skipIf(explainMissingSftpServer() !== undefined)('an SFTP server', () => {
  let server: SftpServer;
  beforeAll(async () => {
    server = await startSftpServer();
    return () => server.stop();
  });
  const createSftpClient = (change: object = {}, secret: string | undefined = server.key) =>
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

  test('has files, checksums and folders, and receives each file once', async () => {
    await openWorld();
    const files = [world.file('CORE', 'one\n'), world.file('EVEN', 'two\n')];
    const client = createSftpClient({ path: '{date:YYYY}/{file}' });
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
    await world.deliver(client, files, { isRepeat: true });
    expect(statSync(join(folder, 'CORE_20241231_closing.csv')).ino).toBe(ino);
    expect(world.read.length).toBe(2);
    await world.deliver(client, [world.file('CORE', 'corrected\n')]);
    expect(readFileSync(join(folder, 'CORE_20241231_closing.csv'), 'utf8')).toBe('corrected\n');
    expect(readFileSync(join(folder, 'CORE_20241231_closing.csv.sha256'), 'utf8')).toContain(
      computeHash('corrected\n'),
    );
  });

  test('with another host key, without a key, or with an unknown one is refused at once', async () => {
    await openWorld();
    const files = [world.file('CORE', 'one')];
    const other = createSftpClient({ host_key: `SHA256:${'A'.repeat(43)}` });
    expect((await world.deliver(other, files)).reason).toBe(`The server has another host key: ${server.fingerprint}.`);
    expect((await world.record()).files[0]!.attempts).toBe(0);
    const clientWithoutSecret = { ...createSftpClient(), secretOf: () => undefined };
    expect((await world.deliver(clientWithoutSecret, files)).reason).toContain('No password and no key');
    const password = createSftpClient({}, 'guess');
    expect((await world.deliver(password, files)).reason).toContain('password or its key was refused');
    expect((await listLines()).length).toBe(3);
  });

  test('that is unavailable is retried, within the round and in the next one', async () => {
    await openWorld();
    const files = [world.file('CORE', 'late')];
    const dead = createSftpClient({ url: `sftp://${server.user}@127.0.0.1:9${server.folder}` });
    const awayWorld = await openDeliveryWorld({ hosts: ['127.0.0.1:9'] });
    closing.push(() => awayWorld.close());
    expect(await awayWorld.deliver(dead, files)).toMatchObject({
      waiting: 1,
      reason: 'The server could not be used: ECONNREFUSED.',
    });
    expect((await awayWorld.record()).log.length).toBe(3);
  });

  test('whose folder is missing fails with the message of the server', async () => {
    await openWorld();
    const client = createSftpClient({ url: `sftp://${server.user}@127.0.0.1:${server.port}/nonexistent/deep` });
    const { reason } = await world.deliver(client, [world.file('CORE', 'one')]);
    expect(reason).toMatch(/could not store the file: No such file/i);
  });
});
if (explainMissingSftpServer() !== undefined) console.log(`SFTP is not tested: ${explainMissingSftpServer()}`);

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
    const bucketClient = world.clientOf({ targets: [{ type: 'bucket', name: 'bucket', url }] });
    const files = [world.file('CORE', 'one\n')];
    expect(await world.deliver(bucketClient, files)).toMatchObject({ delivered: 1 });
    const client = createS3Client({ ...service.access, prefix: `${prefix}acme/` });
    const readText = (name: string) => client.get(name, async ({ body }) => readStreamText(body));
    expect(await readText('CORE_20241231_closing.csv')).toBe('one\n');
    expect(await readText('CORE_20241231_closing.csv.sha256')).toBe(
      `${computeHash('one\n')}  CORE_20241231_closing.csv\n`,
    );
    await world.deliver(bucketClient, files, { isRepeat: true });
    expect(world.read.length).toBe(1);
    const target = {
      type: 'bucket',
      name: 'bucket',
      url: `s3://${bucket}/${prefix}their`,
      endpoint,
      access_key_id: keys.accessKeyId,
    };
    const bucketOwner = world.clientOf({ targets: [target] }, keys.secretAccessKey);
    expect(await world.deliver(bucketOwner, [world.file('CORE', 'two\n')])).toMatchObject({ delivered: 1 });
  });

  test('that the operator does not allow receives nothing', async () => {
    await open({ buckets: ['s3://results/acme'] });
    const reasonFor = async (target: object) =>
      (
        await world.deliver(world.clientOf({ targets: [{ type: 'bucket', name: 'b', ...target }] }, 's'), [
          world.file('CORE', '1'),
        ])
      ).reason;
    expect(await reasonFor({ url: 's3://results/acme-2' })).toContain('--delivery-buckets');
    expect(await reasonFor({ url: 's3://other' })).toContain('--delivery-buckets');
    expect(await reasonFor({ url: 's3://other', access_key_id: 'x', endpoint: 'https://s3.evil.example' })).toContain(
      '--delivery-hosts',
    );
  });
});

async function readStreamText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
