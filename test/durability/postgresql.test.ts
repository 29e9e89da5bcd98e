import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import type { DocumentStore, StoredDocument } from '#store/port.js';
import { openDatabase, UnknownOutcomeError } from '#store/postgres/database.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import { migrate, SCHEMA } from '#store/postgres/migrate.js';
import { hasPostgresql, startPostgresql, type PostgresqlServer } from '../postgresql/postgresql-server.js';

const CRASHES = process.env['SOAK'] === '1' ? 20 : 2;
const WRITERS = 6;
/** Minimum number of writes that each writer has had acknowledged between two crashes. */
const WRITES = 15;

describe.skipIf(!hasPostgresql)('a PostgreSQL server that crashes during writes', () => {
  let server: PostgresqlServer;
  beforeAll(async () => {
    server = await startPostgresql();
    const client = new Client(server.url);
    await client.connect();
    await migrate(client);
    await client.end();
  });
  afterAll(() => server?.stop());

  test('loses no acknowledged write, and applies none twice', async () => {
    const processes = Array.from({ length: 2 }, () => openDatabase({ url: server.url }));
    const stores = await Promise.all(processes.map((database) => openPostgresDocuments({ database, schema: SCHEMA })));
    await stores[0]!.transaction((tx) => tx.put('index', 'shared', { n: 0 }));
    const state = { isOver: false, acknowledged: () => {} };
    const acknowledgedIds = new Set<string>();
    let unknownCount = 0;

    /** Repeats one transaction, which writes a private document and increments a counter in a shared document. */
    async function write(store: DocumentStore, writer: number): Promise<void> {
      for (let n = 0; !state.isOver; n++) {
        const id = `w${writer}-${n}`;
        const change = store.transaction(async (tx) => {
          const { body } = (await tx.get('index', 'shared')) as StoredDocument;
          await tx.put('index', 'shared', { n: (body as { readonly n: number }).n + 1 });
          await tx.put('run', id, { n });
        });
        await change.then(
          () => {
            acknowledgedIds.add(id);
            state.acknowledged();
          },
          (thrown: unknown) => {
            expect((thrown as Refusal).code).toBe('STORE_UNAVAILABLE');
            if (thrown instanceof UnknownOutcomeError) unknownCount++;
          },
        );
      }
    }

    const writers = Array.from({ length: WRITERS }, (_, i) => write(stores[i % 2]!, i));
    const waitForCount = (count: number): Promise<void> =>
      new Promise((resolve) => {
        state.acknowledged = () => acknowledgedIds.size >= count && resolve();
      });
    for (let crash = 0; crash < CRASHES; crash++) {
      await waitForCount(acknowledgedIds.size + WRITERS * WRITES);
      await server.crash();
    }
    await waitForCount(acknowledgedIds.size + WRITERS * WRITES);
    state.isOver = true;
    await Promise.all(writers);

    const storedIds = new Set(await stores[0]!.ids('run'));
    expect([...acknowledgedIds].filter((id) => !storedIds.has(id))).toEqual([]);
    const { body } = (await stores[1]!.get('index', 'shared')) as StoredDocument;
    // Each transaction writes one document and increments the counter once. If a transaction were partial, the two
    // numbers would differ.
    expect(body).toEqual({ n: storedIds.size });
    expect(storedIds.size - acknowledgedIds.size).toBeLessThanOrEqual(unknownCount);
    for (const store of stores) await store.close();
    for (const database of processes) await database.close();
  });
});
