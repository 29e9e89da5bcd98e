import { createServer } from 'node:https';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '#store/postgres/database.js';
import { migrateDatabase, openDatabaseDocuments } from '#store/postgres/open-documents.js';
import { createS3Client } from '#store/s3/s3-client.js';
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

test('an object store whose certificate is of an unknown authority is refused at once', async () => {
  const read = (name: string) => readFileSync(resolve(TLS_FOLDER, name));
  const server = createServer({ cert: read('server.crt'), key: read('server.key') }, (_request, answer) => {
    answer.writeHead(200, { 'content-length': '0' }).end();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const client = createS3Client({
    endpoint: `https://localhost:${(server.address() as AddressInfo).port}`,
    region: 'us-east-1',
    bucket: 'results',
    prefix: '',
    accessKeyId: 'KEY',
    secretAccessKey: 'SECRET',
  });
  await expect(client.put('a', new Uint8Array(1), 'a'.repeat(64))).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: 'The certificate of the object store is refused: UNABLE_TO_VERIFY_LEAF_SIGNATURE.',
  });
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});
