import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { migrateDatabase } from '#store/postgres/open-documents.js';
import { createSecretBox } from '#store/secret-box.js';
import { hasPostgresql, openTestDatabase } from '../../postgresql/shared-postgresql.js';
import { runService, type RunningService } from '../../services/running-service.js';
import { INDEX } from '../even-index.js';
import { OLDER_CHECKOUT, openVersions } from './older-version.js';

/** Opens two services on one database. At each start they read the keys of stored secrets from a shared file. */
async function openFronts(keys: string) {
  const { url, drop } = await openTestDatabase();
  await migrateDatabase({ url });
  const base = await mkdtemp(join(tmpdir(), 'divisor-rotation-'));
  const client = new Client(url);
  await client.connect();
  const file = join(base, 'keys');
  await writeFile(file, keys);
  const environment = {
    DATABASE_URL: url,
    DIVISOR_ARTIFACTS: `file://${join(base, 'artifacts')}`,
    DIVISOR_SECRET_KEY_FILE: file,
    DIVISOR_DATABASE_HOSTS: new URL(url).host,
  };
  const fronts: RunningService[] = [];
  onTestFinished(async () => {
    for (const frontEnd of fronts) await frontEnd.close();
    await client.end();
    await drop();
    await rm(base, { recursive: true, force: true });
  });
  for (let i = 0; i < 2; i++) fronts.push(await runService(['--workers', '1'], environment));
  return { client, url, file, first: fronts[0]!, second: fronts[1]! };
}

/** Query that returns two months of prices of two securities. Each check of a service publishes one more session. */
const DAYS = `SELECT name AS identifier, day::date AS date, 10.0::float8 AS "CLOSE"
  FROM unnest(ARRAY['A', 'B']) name, generate_series('2024-01-02'::date, '2024-02-29'::date, '1 day') day
  WHERE extract(isodow FROM day) < 6 AND day::date NOT IN ('2024-01-15', '2024-02-19')`;

test.skipIf(!hasPostgresql)(
  'the key of stored secrets is introduced, replaced, reverted and removed on two fronts, one of which is always available',
  async () => {
    const [firstKey, secondKey] = [0, 1].map(() => randomBytes(32).toString('base64'));
    const { client, url, file, first, second } = await openFronts(`none ${firstKey}`);
    const password = new URL(url).password;
    await client.query(`CREATE TABLE daily AS ${DAYS}`);
    const store = { store_id: 'daily', name: 'daily', kind: 'database', location: url, tables: { market: 'daily' } };
    expect((await first.ask('POST', '/data/stores', { ...store, activate: true })).status).toBe(201);
    expect((await first.ask('PUT', '/indices/EVEN', INDEX)).status).toBe(200);
    expect((await first.ask('POST', '/analytics/EVEN/backtest', {})).status).toBe(202);
    expect(await first.waitForJob('backtest:EVEN')).toMatchObject({ status: 'succeeded' });

    const { body: run } = await first.ask<{ levels: { index: string[] } }>('GET', '/analytics/EVEN/levels');
    const sessions = run.levels.index;
    let publishedCount = 0;
    /** Checks that a service signs with the stored key and reads the source with the stored password. */
    async function checkFront(frontEnd: RunningService): Promise<void> {
      const through = sessions[publishedCount++];
      expect(await frontEnd.ask('POST', '/analytics/EVEN/publish', { through })).toMatchObject({
        status: 200,
        body: { published: 1, through },
      });
      const { status } = await frontEnd.ask('POST', '/data/stores/daily/refresh');
      expect(status).toBe(202);
      expect(await frontEnd.waitForJob('refresh:daily')).toMatchObject({ status: 'succeeded', error: null });
    }
    /** Returns the stored texts of the private key and of both passwords. */
    async function readStoredTexts(): Promise<readonly string[]> {
      const { rows } = await client.query<{ kind: string; body: string }>(
        `SELECT kind, body::text AS body FROM divisor.documents WHERE kind IN ('signing-key', 'store') ORDER BY kind`,
      );
      const bodies = rows.map(({ body }) => JSON.parse(body) as Record<string, string>);
      const key = bodies.find(({ private_key: text }) => text !== undefined && text !== '')!;
      const { location, source } = bodies.find(({ store_id: id }) => id === 'daily')!;
      return [key['private_key']!, new URL(location!).password, new URL(source!).password];
    }
    /** Restarts both services with new keys, one at a time. The other service is used during the restart. */
    async function restartFronts(keys: string): Promise<readonly string[]> {
      await writeFile(file, keys);
      await first.restart(() => checkFront(second)); // the main process reads the keys, its threads do not
      await second.restart(() => checkFront(first));
      return readStoredTexts();
    }

    await checkFront(first);
    const plainTexts = await readStoredTexts();
    expect(plainTexts.slice(1)).toEqual([password, password]);
    const encryptedTexts = await restartFronts(`${firstKey}\n`);
    for (const text of encryptedTexts) expect(text).toMatch(/^enc\.v1\./);
    expect(await restartFronts(`${firstKey}\n${secondKey}\n`)).toEqual(encryptedTexts);
    const replacedTexts = await restartFronts(`${secondKey}\n${firstKey}\n`);
    for (const [i, text] of replacedTexts.entries()) {
      expect(text).toMatch(/^enc\.v1\./);
      expect(text).not.toBe(encryptedTexts[i]);
    }
    expect(await restartFronts(`${firstKey}\n${secondKey}\n`)).toEqual(encryptedTexts);
    expect(await restartFronts(`${secondKey}\n${firstKey}\n`)).toEqual(replacedTexts);
    expect(await restartFronts(`${secondKey}\n`)).toEqual(replacedTexts);

    const { body: log } = await first.ask<{ entries: unknown[] }>('GET', '/analytics/EVEN/published');
    expect(log.entries).toHaveLength(publishedCount);
    expect((await first.ask<{ keys: unknown[] }>('GET', '/analytics/EVEN/published/keys')).body.keys).toHaveLength(1);
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM divisor.documents WHERE position($1 in body::text) > 0`,
      [password],
    );
    expect(rows).toEqual([{ n: 0 }]);
    expect(await restartFronts(`none\n${secondKey}\n`)).toEqual(plainTexts);
    await checkFront(second);
  },
);

test.skipIf(OLDER_CHECKOUT === undefined || !hasPostgresql)(
  'secrets that an earlier release stored as plain text or encrypted are encrypted with another key',
  async () => {
    const { runToEnd, startListening, query, url } = await openVersions();
    const olderCheckout = resolve(OLDER_CHECKOUT!);
    const [firstKey, secondKey] = [0, 1].map(() => randomBytes(32).toString('base64'));
    const hosts = { DIVISOR_DATABASE_HOSTS: new URL(url).host };
    await query(`CREATE TABLE daily AS ${DAYS}`);
    const ask = async (at: string, method: string, path: string, body?: unknown) => {
      const headers = { 'content-type': 'application/json' };
      const init = { method, ...(body !== undefined && { headers, body: JSON.stringify(body) }) };
      const answer = await fetch(`${at}${path}`, init);
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const readPrivateKey = async (): Promise<string> => {
      const [row] = await query<{ text: string }>(
        `SELECT body::jsonb ->> 'private_key' AS text FROM divisor.documents WHERE kind = 'signing-key'`,
      );
      return row!.text;
    };
    const readDocuments = async (): Promise<string> => {
      const rows = await query<{ body: string }>(
        `SELECT body::text AS body FROM divisor.documents WHERE kind IN ('signing-key', 'store') ORDER BY kind, id`,
      );
      return rows.map(({ body }) => body).join('\n');
    };
    expect((await runToEnd(olderCheckout, ['migrate'])).status).toBe(0);
    const plainFront = await startListening(olderCheckout, 'serve', 'plain', hosts);
    const store = { store_id: 'daily', name: 'daily', kind: 'database', location: url, tables: { market: 'daily' } };
    expect((await ask(plainFront.url, 'POST', '/data/stores', { ...store, activate: true })).status).toBe(201);
    expect((await ask(plainFront.url, 'POST', '/publication/keys')).status).toBe(200);
    expect(await readDocuments()).toContain(new URL(url).password);
    const signingKey = await readPrivateKey();
    await stopProcess(plainFront);
    const encrypting = await startListening(olderCheckout, 'serve', 'encrypting', {
      ...hosts,
      DIVISOR_SECRET_KEY: firstKey!,
    });
    await stopProcess(encrypting);
    const before = await readDocuments();
    expect(before).toContain('enc.v1.');
    expect(before).not.toContain(new URL(url).password);

    expect((await runToEnd('.', ['migrate'])).status).toBe(0);
    const bothKeysFront = await startListening('.', 'serve', 'both', {
      ...hosts,
      DIVISOR_SECRET_KEY: `${secondKey},${firstKey}`,
    });
    expect(await readDocuments()).not.toBe(before);
    await stopProcess(bothKeysFront);
    const next = await startListening('.', 'serve', 'next', { ...hosts, DIVISOR_SECRET_KEY: secondKey! });
    const { status, body } = await ask(next.url, 'POST', '/data/stores/daily/refresh');
    expect(status).toBe(202);
    await expect
      .poll(async () => (await ask(next.url, 'GET', `/jobs/${String(body['job_id'])}?wait=10`)).body['status'])
      .toBe('succeeded');
    expect(createSecretBox(Buffer.from(secondKey!, 'base64')).open(await readPrivateKey())).toBe(signingKey);
  },
);

async function stopProcess({
  child,
  ended,
}: Awaited<ReturnType<Awaited<ReturnType<typeof openVersions>>['startListening']>>) {
  child.kill('SIGTERM');
  await ended;
}
