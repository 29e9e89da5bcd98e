import { expect, test } from 'vitest';
import { issueKey } from '#services/keys/keys.js';
import { runService } from '../running-service.js';

interface Log {
  readonly entries: readonly {
    kind: string;
    action: string;
    id: string;
    author: string;
    key_id?: string;
    note: unknown;
  }[];
}

test('the log has cancelled jobs, refused keys and reads of exports but no refused read, also after a restart', async () => {
  const issuedKey = issueKey({ name: 'desk', scopes: ['admin'], expires: null }, Date.now());
  const { record } = issuedKey;
  const service = await runService(['--audit-reads', 'exports'], {
    DIVISOR_API_KEYS: `${record.name}:${record.id}:${record.sha256}:admin`,
  });
  const key = { 'x-api-key': issuedKey.key };
  try {
    const market = { store_id: 'm', seed: 1, assets: 900, start: '2000-01-03', end: '2024-06-28' };
    await service.ask('POST', '/data/synthetic', market, key);
    expect((await service.ask('DELETE', '/jobs/generate:m', undefined, key)).status).toBe(200);
    const wrongKey = issueKey({ name: 'x', scopes: [], expires: null }, Date.now()).key;
    for (let i = 0; i < 3; i++)
      expect((await service.ask('GET', '/indices', undefined, { 'x-api-key': wrongKey })).status).toBe(401);
    expect((await service.ask('GET', '/data/prices/A', undefined, key)).status).toBeGreaterThanOrEqual(400);
    const fields = {
      spot: 4000,
      as_of: '2024-01-02',
      expiry: '2024-03-15',
      risk_free_rate: 0.05,
      dividend_yield: 0.015,
    };
    await service.ask('POST', '/derivatives/futures/price', fields, key);
    const readAuditLog = async () => (await service.ask<Log>('GET', '/audit', undefined, key)).body.entries;
    const listNotes = async (kind: string) =>
      (await readAuditLog())
        .filter((entry) => entry.kind === kind)
        .map(({ action, id, author, key_id, note }) => [action, id, author, key_id, note]);
    expect(await listNotes('job')).toEqual([['cancelled', 'generate:m', 'desk', record.id, null]]);
    await expect.poll(() => listNotes('authentication')).toEqual([['refused', '127.0.0.1', '', undefined, null]]);
    expect(await listNotes('read')).toEqual([]); // a refused request leaves no entry
    const small = { store_id: 's', seed: 1, assets: 3, start: '2024-01-02', end: '2024-06-28' };
    await service.ask('POST', '/data/synthetic', small, key);
    expect((await service.waitForJob('generate:s', key)).status).toBe('succeeded');
    type Identifiers = { readonly identifiers: readonly { readonly identifier: string }[] };
    const { body } = await service.ask<Identifiers>('GET', '/data/identifiers', undefined, key); // not an export
    const path = `/data/prices/${body.identifiers[0]!.identifier}`;
    expect((await service.ask('GET', path, undefined, key)).status).toBe(200);
    await expect.poll(() => listNotes('read')).toEqual([['read', path, 'desk', record.id, 'getPrices']]);
    await service.restart();
    expect(await listNotes('read')).toHaveLength(1);
  } finally {
    await service.close();
  }
});
