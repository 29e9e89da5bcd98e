import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DataAudit } from '#contract/stores.js';
import type { Finding } from '#domain/base/findings.js';
import { formatDay } from '#domain/base/time.js';
import { runService, type RunningService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';

let service: RunningService;
beforeAll(async () => void (service = await runService()));
afterAll(() => service.close());

interface RefreshResult {
  readonly findings: readonly Finding[];
}

const FIRST = 20_339; // Monday, 2025-09-08
const DAYS = Array.from({ length: 40 }, (_, i) => FIRST + i + 2 * Math.floor(i / 5));

/** Writes the closes of securities on the first days, and returns the folder. */
async function writeCloses(
  name: string,
  closes: Readonly<Record<string, readonly (number | null)[]>>,
): Promise<string> {
  const location = join(service.root, name);
  await mkdir(location, { recursive: true });
  const rows = Object.entries(closes).flatMap(([identifier, prices]) =>
    prices.flatMap((price, i) => (price === null ? [] : [`${identifier},${formatDay(DAYS[i]!)},${price}`])),
  );
  await writeFile(join(location, 'market.csv'), `identifier,date,CLOSE\n${rows.join('\n')}\n`);
  return location;
}

async function register(storeId: string, location: string, activate = true): Promise<void> {
  const body = { store_id: storeId, name: storeId, kind: 'folder', location, activate };
  const { status, body: answer } = await service.ask('POST', '/data/stores', body);
  if (status !== 201) throw new Error(JSON.stringify(answer));
}

async function refresh(storeId: string, body: object = {}): Promise<RefreshResult> {
  await service.ask('POST', `/data/stores/${storeId}/refresh`, body);
  const job = await service.waitForJob(`refresh:${storeId}`);
  if (job.status !== 'succeeded') throw new Error(JSON.stringify(job.error));
  return job.result as RefreshResult;
}

const listFindings = ({ findings }: Pick<RefreshResult, 'findings'>) =>
  findings.map(({ code, path }) => `${code} ${path}`);
/** Returns closes that move by up to 1 % around a price. */
const waver = (count: number, price: number) =>
  Array.from({ length: count }, (_, i) => Math.round(price * (1000 + ((7 * i) % 11))) / 1000);

describe('a refresh', () => {
  test('reports a price jump that it causes, once, also if the store has many earlier ones', async () => {
    const jumps = Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? 10 : 100));
    const location = await writeCloses('jumps', { A: waver(30, 50), B: jumps });
    await register('jumps', location);
    await writeCloses('jumps', { A: [...waver(30, 50), 20], B: [...jumps, 100] });
    const expected = [`PRICE_JUMP market[A ${formatDay(DAYS[30]!)}].CLOSE`];
    expect(listFindings(await refresh('jumps', { dry_run: true }))).toEqual(expected);
    expect(listFindings(await refresh('jumps'))).toEqual(expected);
    expect(listFindings(await refresh('jumps'))).toEqual([]);
  });

  test('is rejected by fail_on for a price jump although the store has many earlier ones', async () => {
    const jumps = Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? 10 : 100));
    await register('guarded', await writeCloses('guarded', { A: waver(30, 50), B: jumps }));
    await writeCloses('guarded', { A: [...waver(30, 50), 20], B: [...jumps, 100] });
    await service.ask('POST', '/data/stores/guarded/refresh', { fail_on: 'PRICE_JUMP' });
    expect((await service.waitForJob('refresh:guarded')).error?.code).toBe('REFRESH_REJECTED');
  });
});

describe('the first refresh of a store that was registered without an activation', () => {
  const CLOSES = [10, 10.1, 10.2];
  const OTHERS = [30, 31, 30, 31];
  const requestRefresh = async (storeId: string, body: object = {}) => {
    await service.ask('POST', `/data/stores/${storeId}/refresh`, { load: true, ...body });
    return service.waitForJob(`refresh:${storeId}`);
  };
  const readCloses = async (storeId: string) =>
    (
      await service.ask<{ prices: { data: number[][] } }>('GET', `/data/prices/A?columns=CLOSE&store_id=${storeId}`)
    ).body.prices.data.flat();
  const restart = async () => {
    await service.restart(undefined, 'new');
    await service.resumed();
  };

  test.each([
    ['at once', async () => {}],
    ['after a restart', restart],
  ])('compares a new bar with the registered content %s', async (when, wait) => {
    const id = `first-jump-${when === 'at once' ? 1 : 2}`;
    await register(id, await writeCloses(id, { A: CLOSES }), false);
    await wait();
    await writeCloses(id, { A: [...CLOSES, 4.1] });
    expect((await requestRefresh(id, { fail_on: 'PRICE_JUMP' })).error).toMatchObject({
      code: 'REFRESH_REJECTED',
      message: expect.stringContaining('nothing was stored') as string,
    });
    expect(await readCloses(id)).toEqual(CLOSES);
    expect((await requestRefresh(id)).result).toMatchObject({
      rows_added: 1,
      dates_added: 1,
      findings: [{ code: 'PRICE_JUMP', path: `market[A ${formatDay(DAYS[3]!)}].CLOSE` }],
    });
  });

  test('rejects a changed close, and adds a close that was missing when it was registered', async () => {
    await register('first-change', await writeCloses('first-change', { A: CLOSES, B: OTHERS }), false);
    await writeCloses('first-change', { A: [10, 99, 10.2, 10.3], B: OTHERS });
    expect((await requestRefresh('first-change', { fail_on: 'HISTORY_CHANGED' })).error?.code).toBe('REFRESH_REJECTED');
    expect((await requestRefresh('first-change')).result).toMatchObject({
      rows_added: 0,
      rejected: [{ identifier: 'A', bars: { changed: 1 } }],
    });
    expect(await readCloses('first-change')).toEqual(CLOSES);
    await register('first-late', await writeCloses('first-late', { A: CLOSES, B: OTHERS }), false);
    await writeCloses('first-late', { A: [...CLOSES, 10.3], B: OTHERS });
    const { result } = await requestRefresh('first-late');
    expect(listFindings(result as unknown as RefreshResult)).toContain('LATE_BARS market');
    expect(result).toMatchObject({ rows_added: 1, dates_added: 0 });
  });

  test('reports that the registered content was lost, and the data warnings of its source', async () => {
    await register('first-lost', await writeCloses('first-lost', { A: CLOSES }), false);
    await service.restart(async () => rm(join(service.root, 'home', 'artifacts'), { recursive: true }), 'new');
    await service.resumed();
    await writeCloses('first-lost', { A: [10, 99, 10.2] });
    const { error } = await requestRefresh('first-lost', { fail_on: ['HISTORY_CHANGED', 'PRICE_JUMP'] });
    expect(error).toMatchObject({
      code: 'REFRESH_REJECTED',
      message: expect.stringContaining('the earlier content was no longer available') as string,
    });
    expect(listFindings(error!.detail as unknown as RefreshResult)).toEqual([
      'HISTORY_CHANGED market',
      ...[1, 2].map((i) => `PRICE_JUMP market[A ${formatDay(DAYS[i]!)}].CLOSE`),
    ]);
  });
});

describe('an audit of a store that is not active', () => {
  test('describes its content, and a repair keeps the closes that a refresh refused to change', async () => {
    const closes = waver(30, 50).map((close, i) => (i >= 5 && i < 12 ? close / 100 : close));
    await register('inactive', await writeCloses('inactive', { A: closes, B: waver(30, 7) }));
    await writeCloses('inactive', { A: closes.map((close, i) => (i === 20 ? 999 : close)), B: waver(30, 7) });
    expect(listFindings(await refresh('inactive'))).toEqual(['HISTORY_CHANGED market.A']);
    await register('other', await writeCloses('other', { A: waver(10, 3) }));
    const { body: audit } = await service.ask<DataAudit>('GET', '/data/stores/inactive/audit');
    expect(audit.doubts).toMatchObject([{ kind: 'currency_flip', identifier: 'A' }]);
    expect((await service.ask('GET', `/data/stores/inactive`)).body['content_hash']).toBe(audit.content_hash);
    await service.restart(undefined, 'new');
    await service.resumed();
    expect((await service.ask<DataAudit>('GET', '/data/stores/inactive/audit')).body).toEqual(audit);
    const repairs = await service.ask('POST', '/data/stores/inactive/repairs', {
      doubts: [audit.doubts[0]!.id],
      store_id: 'repaired',
    });
    expect(repairs.status).toBe(201);
    const { body } = await service.ask<{ prices: { data: number[][] } }>('GET', '/data/prices/A?store_id=repaired');
    expect(JSON.stringify(body)).not.toContain('999');
  });
});

describe('data warnings of a store', () => {
  // 26 August 2024 was a holiday in London, and a session in New York.
  const data = ['P', 'Q', 'R', 'S'].flatMap((identifier, n) =>
    ['2024-08-22', '2024-08-23', '2024-08-26', '2024-08-27'].flatMap((date) =>
      n > 1 && date === '2024-08-26' ? [] : [[identifier, date, 10 + n]],
    ),
  );
  const market = createFrame(['identifier', 'date', 'CLOSE'], data);
  const importAs = async (storeId: string, activate: boolean) =>
    listFindings(
      (
        await service.ask<RefreshResult>('POST', '/data/import', {
          store_id: storeId,
          name: storeId,
          tables: { market },
          activate,
          on_exists: 'replace',
        })
      ).body,
    );
  const putIndex = async (id: string, storeId: string | null) =>
    service.ask('PUT', `/indices/${id}`, {
      id,
      name: id,
      calendar: 'XLON',
      base_date: '2024-08-22',
      ...(storeId === null ? {} : { store_id: storeId }),
      pipeline: { weighting: { type: 'EqualWeight' } },
    });

  test('depend on the calendars of the indices that use it, and on no others', async () => {
    const closed = ['NOT_A_SESSION market[2024-08-26]'];
    const partial = ['PARTIAL_DATE market[2024-08-26]'];
    expect(await importAs('american', true)).toEqual(partial);
    expect(await importAs('london', false)).toEqual(partial);
    await putIndex('ON-LONDON', 'london');
    expect(await importAs('american', true)).toEqual(partial);
    expect(await importAs('london', false)).toEqual(closed);
    await putIndex('ON-ACTIVE', null);
    expect(await importAs('american-2', false)).toEqual(partial);
    expect(await importAs('american-3', true)).toEqual(closed);
  });
});
