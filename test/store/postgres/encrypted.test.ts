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

/**
 * Certificate files of two authorities. The test authority issued the certificate of the server for localhost. The
 * other did not.
 */
const [AUTHORITY, STRANGER] = ['authority.crt', 'stranger.crt'].map((name) => resolve(TLS_FOLDER, name));

describe.skipIf(!hasPostgresql)('a connection to PostgreSQL with sslmode=verify-full', () => {
  const routeThroughProxy = (url: string, host: string, authority?: string): string => {
    const encryptedUrl = new URL(url);
    encryptedUrl.hostname = host;
    encryptedUrl.searchParams.set('sslmode', 'verify-full');
    if (authority !== undefined) encryptedUrl.searchParams.set('sslrootcert', authority);
    return encryptedUrl.href;
  };

  test('is encrypted, and is opened only to a server with a certificate of the authority and the right name', async () => {
    const testDatabase = await openTestDatabase();
    try {
      const url = routeThroughProxy(testDatabase.url, 'localhost', AUTHORITY);
      expect(await migrateDatabase({ url })).toMatchObject({ from: 0 });
      const documents = await openDatabaseDocuments({ place: { url }, onFailure: () => {} });
      await documents.transaction((tx) => tx.put('index', 'a', { n: 1 }));
      const connections = await documents.database.query<{ readonly ssl: boolean }>(
        `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = current_database()`,
        [],
      );
      expect([...new Set(connections.map(({ ssl }) => ssl))]).toEqual([true]);
      await documents.close();

      const refusals = [
        routeThroughProxy(testDatabase.url, 'localhost', STRANGER),
        routeThroughProxy(testDatabase.url, '127.0.0.1', AUTHORITY),
        routeThroughProxy(testDatabase.url, 'localhost'),
      ];
      for (const wrong of refusals) {
        const refusal = {
          exitStatus: 78,
          message: expect.stringMatching(/^The certificate of the database at .* is refused/),
        };
        await expect(migrateDatabase({ url: wrong })).rejects.toMatchObject(refusal);
        const database = openDatabase({ url: wrong });
        await expect(database.query('SELECT 1', [])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
        await database.close();
      }
    } finally {
      await testDatabase.drop();
    }
  });
});

describe.skipIf(!hasPostgresql)('a connection to PostgreSQL that fails', () => {
  test('exits with 78 if the settings are wrong and with 75 if a retry may help, with host and port', async () => {
    const testDatabase = await openTestDatabase();
    const { hostname, port } = new URL(testDatabase.url);
    const changeUrl = (change: (url: URL) => void): string => {
      const url = new URL(testDatabase.url);
      change(url);
      return url.href;
    };
    const databaseText = `The database at ${hostname}:${port}`;
    const missing = '/nowhere/authority.crt';
    const cases: [string, number, RegExp | string][] = [
      [
        changeUrl((url) => (url.username = 'absent')),
        78,
        new RegExp(`^${databaseText} refuses the connection: .*"absent"`),
      ],
      [
        changeUrl((url) => (url.pathname = '/absent')),
        78,
        `${databaseText} refuses the connection: database "absent" does not exist.`,
      ],
      [
        changeUrl((url) => (url.search = `?sslmode=verify-full&sslrootcert=${missing}`)),
        78,
        `The file ${missing}, sslrootcert in the address of the database, cannot be read: ENOENT.`,
      ],
      [
        changeUrl((url) => (url.search = '?sslmod=disable')),
        78,
        /^The address of the database has an unknown parameter/,
      ],
      [
        changeUrl((url) => (url.port = '1')),
        75,
        `The database at ${hostname}:1 (--database, DATABASE_URL) cannot be reached: ECONNREFUSED.`,
      ],
    ];
    for (const [url, exitStatus, said] of cases) {
      const message = typeof said === 'string' ? said : expect.stringMatching(said);
      await expect(migrateDatabase({ url })).rejects.toMatchObject({ exitStatus, message });
    }
    await testDatabase.drop();
  });

  test('requires the certificate checks of verify-full if sslmode is require or verify-ca', async () => {
    const testDatabase = await openTestDatabase();
    for (const mode of ['require', 'verify-ca']) {
      const url = new URL(testDatabase.url);
      url.hostname = '127.0.0.1';
      url.search = `?sslmode=${mode}&sslrootcert=${AUTHORITY}`;
      await expect(migrateDatabase({ url: url.href })).rejects.toMatchObject({ exitStatus: 78 });
      url.hostname = 'localhost';
      expect(await migrateDatabase({ url: url.href })).toHaveProperty('to');
    }
    await testDatabase.drop();
  });
});

/** Script that writes an object and reads it back, or reports the error. */
const ROUND_TRIP = `
  import { text } from 'node:stream/consumers';
  import { createS3Client } from '#store/s3/client.js';
  const [, endpoint] = process.argv;
  const keys = { kind: 'given', accessKeyId: 'KEY', secretAccessKey: 'SECRET' };
  const access = { region: 'us-east-1', bucket: 'results', prefix: '', keys };
  const client = createS3Client({ ...access, endpoint });
  try {
    await client.put('a', new TextEncoder().encode('prices'), 'a'.repeat(64));
    console.log(await client.get('a', ({ body }) => text(body)));
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

  /** Returns the output of a process with this certificate authority. Node reads the authority at its start. */
  async function roundTrip(authority: string): Promise<string> {
    const environment = { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: authority };
    const words = ['--input-type=module', '--eval', ROUND_TRIP, endpoint];
    return (await promisify(execFile)(process.execPath, words, { env: environment })).stdout.trim();
  }

  test('is used by a process with the right authority, and refused at once by any other', async () => {
    const refusal =
      'STORE_UNAVAILABLE The certificate of the object store is refused: UNABLE_TO_VERIFY_LEAF_SIGNATURE.';
    expect(await Promise.all([AUTHORITY!, STRANGER!].map(roundTrip))).toEqual(['prices', refusal]);
    expect([...objects]).toEqual([['/results/a', Buffer.from('prices')]]);
  });
});
