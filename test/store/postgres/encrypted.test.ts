import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:https';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '#store/postgres/database.js';
import { migrateDatabase, openDatabaseDocuments } from '#store/postgres/open-documents.js';
import { hasPostgresql, openTestDatabase, TLS_FOLDER } from '../../postgresql/shared-postgresql.js';

/** The certificate of the server is for localhost, by the authority of the tests. */
const [AUTHORITY, STRANGER] = ['authority.crt', 'stranger.crt'].map((name) => resolve(TLS_FOLDER, name));

describe.skipIf(!hasPostgresql)('a connection to PostgreSQL with sslmode=verify-full', () => {
  const through = (url: string, host: string, authority?: string): string => {
    const encrypted = new URL(url);
    encrypted.hostname = host;
    encrypted.searchParams.set('sslmode', 'verify-full');
    if (authority !== undefined) encrypted.searchParams.set('sslrootcert', authority);
    return encrypted.href;
  };

  test('is encrypted, and made with a server of the authority and of the name alone', async () => {
    const place = await openTestDatabase();
    try {
      const url = through(place.url, 'localhost', AUTHORITY);
      expect(await migrateDatabase({ url })).toMatchObject({ from: 0 });
      const documents = await openDatabaseDocuments({ place: { url }, onFailure: () => {} });
      await documents.transaction((tx) => tx.put('index', 'a', { n: 1 }));
      const connections = await documents.database.query<{ readonly ssl: boolean }>(
        `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = current_database()`,
        [],
      );
      expect([...new Set(connections.map(({ ssl }) => ssl))]).toEqual([true]);
      await documents.close();

      const refused = [
        through(place.url, 'localhost', STRANGER),
        through(place.url, '127.0.0.1', AUTHORITY),
        through(place.url, 'localhost'),
      ];
      for (const wrong of refused) {
        await expect(migrateDatabase({ url: wrong })).rejects.toMatchObject({ exitStatus: 75 });
        const database = openDatabase({ url: wrong });
        await expect(database.query('SELECT 1', [])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
        await database.close();
      }
    } finally {
      await place.drop();
    }
  });
});

/** Writes an object and reads it again, or says why not. */
const ROUND_TRIP = `
  import { createS3Client } from '#store/s3/s3-client.js';
  const [, endpoint] = process.argv;
  const access = { region: 'us-east-1', bucket: 'results', prefix: '', accessKeyId: 'KEY', secretAccessKey: 'SECRET' };
  const client = createS3Client({ ...access, endpoint });
  try {
    await client.put('a', new TextEncoder().encode('prices'), 'a'.repeat(64));
    const { body } = await client.get('a');
    console.log(await new Response(body).text());
  } catch ({ code, message }) {
    console.log(code, message);
  }
`;

describe('an object store on TLS', () => {
  let server: Server;
  let endpoint: string;
  const objects = new Map<string, Buffer>();
  beforeAll(async () => {
    const read = (name: string) => readFileSync(resolve(TLS_FOLDER, name));
    server = createServer({ cert: read('server.crt'), key: read('server.key') }, async (request, answer) => {
      const body = Buffer.concat(await request.toArray());
      if (request.method === 'PUT') objects.set(request.url!, body);
      answer.end(request.method === 'PUT' ? '' : objects.get(request.url!));
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    endpoint = `https://localhost:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });

  /** What a process says that was given the authority: Node reads it when it starts. */
  async function roundTrip(authority: string): Promise<string> {
    const environment = { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: authority };
    const words = ['--input-type=module', '--eval', ROUND_TRIP, endpoint];
    return (await promisify(execFile)(process.execPath, words, { env: environment })).stdout.trim();
  }

  test('is used by a process that is given its authority, and refused at once by any other', async () => {
    const refused =
      'STORE_UNAVAILABLE The certificate of the object store is refused: UNABLE_TO_VERIFY_LEAF_SIGNATURE.';
    expect(await Promise.all([AUTHORITY!, STRANGER!].map(roundTrip))).toEqual(['prices', refused]);
    expect([...objects]).toEqual([['/results/a', Buffer.from('prices')]]);
  });
});
