import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { OLDER_CHECKOUT, openVersions } from './older-version.js';

async function ask(url: string, key: string, method: string, path: string, body?: unknown) {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
}

const findKey = (output: string): string => /dvs_\w{12}_[\w-]{43}/.exec(output)![0];
const listOf = (name: string) => ({ name, identifiers: ['A'] });

test.skipIf(OLDER_CHECKOUT === undefined || !hasPostgresql)(
  'only this release accepts limited keys while release 0.2.0 also runs, and each release reads the documents of the other',
  async () => {
    const { runToEnd, startListening } = await openVersions();
    const olderCheckout = resolve(OLDER_CHECKOUT!);
    const create = async (folder: string, ...words: readonly string[]) => {
      const { status, said } = await runToEnd(folder, ['keys', 'create', '--scopes', 'read,write', ...words]);
      expect([status, said]).toEqual([0, expect.stringContaining('dvs_')]);
      return findKey(said);
    };
    expect((await runToEnd(olderCheckout, ['migrate'])).status).toBe(0);
    const before = await create(olderCheckout, '--name', 'before');
    const oldFront = await startListening(olderCheckout, 'serve', 'old-front');
    expect((await ask(oldFront.url, before, 'PUT', '/data/watchlists/alpha-old', listOf('Old'))).status).toBe(200);
    expect((await runToEnd('.', ['migrate'])).status).toBe(0);
    const frontEnd = await startListening('.', 'serve', 'front');
    const after = await create('.', '--name', 'after');
    const limitedKey = await create('.', '--name', 'limited', '--prefixes', 'alpha-');
    const localKey = await create('.', '--name', 'local', '--from', '127.0.0.1');

    // Unlimited keys of either release are accepted by both.
    for (const key of [before, after])
      for (const { url } of [oldFront, frontEnd])
        await expect.poll(async () => (await ask(url, key, 'GET', '/data/watchlists')).status).toBe(200);
    // Limited keys are accepted only by the release that supports such limits.
    for (const key of [limitedKey, localKey]) {
      await expect.poll(async () => (await ask(frontEnd.url, key, 'GET', '/data/watchlists')).status).toBe(200);
      expect((await ask(oldFront.url, key, 'GET', '/data/watchlists')).status).toBe(401);
    }
    expect((await ask(frontEnd.url, limitedKey, 'PUT', '/data/watchlists/bravo-x', listOf('X'))).status).toBe(403);

    // Each release replaces the document that the other release wrote, and increases its version number.
    const path = '/data/watchlists/alpha-old';
    expect((await ask(frontEnd.url, limitedKey, 'PUT', path, listOf('New'))).status).toBe(200);
    await expect.poll(async () => (await ask(oldFront.url, before, 'GET', path)).body['name']).toBe('New');
    expect((await ask(oldFront.url, before, 'PUT', path, listOf('Old again'))).status).toBe(200);
    await expect.poll(async () => (await ask(frontEnd.url, after, 'GET', path)).body['name']).toBe('Old again');
    const { body } = await ask(frontEnd.url, after, 'GET', `${path}/versions`);
    expect(body).toMatchObject({
      total: 3,
      versions: [{ author: 'before' }, { author: 'limited' }, { author: 'before' }],
    });
    // The earlier release cannot read a version that contains a key. It reports this and continues.
    expect((await ask(oldFront.url, before, 'GET', `${path}/versions`)).body).toMatchObject({
      error: { code: 'DOCUMENT_UNREADABLE', detail: { version: 2 } },
    });

    // If one release has revoked a key, the other release refuses it.
    expect((await runToEnd('.', ['keys', 'revoke', before.split('_')[1]!])).status).toBe(0);
    for (const { url } of [oldFront, frontEnd])
      await expect.poll(async () => (await ask(url, before, 'GET', path)).status).toBe(401);
    for (const { child, ended } of [oldFront, frontEnd]) {
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
    }
    expect(await runToEnd('.', ['doctor'])).toMatchObject({ status: 0 });
  },
);
