import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReplayView } from '#contract/runs.js';
import { openLiveService, type LiveService } from './live.js';

const fixture = JSON.parse(readFileSync('test/golden/backtest/four-names.json', 'utf8'));

let service: LiveService;
beforeAll(async () => {
  service = await openLiveService(['--workers', '1']);
  await service.ok('POST', '/data/import', fixture.import);
  await service.ok('POST', '/indices', { ...fixture.index, id: 'FOUR' });
});
afterAll(() => service?.close());

const replay = async (id: string): Promise<ReplayView> => {
  const job = await service.job<ReplayView>(`/analytics/${id}/replay`);
  expect(job.error).toBeNull();
  return job.result;
};

describe('replays over HTTP', () => {
  test('a run is required', async () => {
    expect((await service.ask('POST', '/analytics/NONE/replay')).status).toBe(404);
    expect((await service.ask<{ error: { code: string } }>('POST', '/analytics/FOUR/replay')).body.error.code).toBe(
      'RUN_NOT_FOUND',
    );
    expect((await service.ask('POST', '/analytics/FOUR/replay', { fast: true })).status).toBe(404);
  });

  test('the same inputs give the same bits, of an index and of a strategy', async () => {
    await service.ok('POST', '/strategies', {
      id: 'S',
      name: 'S',
      index_id: 'FOUR',
      exposure: 0.7,
      drift_tolerance: 0.02,
      transaction_cost_bps: 12,
    });
    for (const id of ['FOUR', 'S']) {
      await service.job(`/analytics/${id}/backtest`, id === 'FOUR' ? fixture.backtest : {});
      const view = await replay(id);
      expect(view).toMatchObject({
        index_id: id,
        equal: true,
        first_difference: null,
        inputs_equal: true,
        definition_changed: false,
      });
      expect(view.replayed_run_hash).toBe(view.stored_run_hash);
    }
    expect((await service.ask('POST', '/analytics/FOUR/replay', { fast: true })).status).toBe(422);
  });

  test('a definition changed since is reported, and the original one is run', async () => {
    await service.ok('PUT', '/indices/FOUR', { ...fixture.index, id: 'FOUR', name: 'Another' });
    expect(await replay('FOUR')).toMatchObject({ equal: true, inputs_equal: true, definition_changed: true });
  });

  test('a store changed since is reported by its first price', async () => {
    const { market } = fixture.import.tables;
    const data = structuredClone(market.data);
    data.at(-1)[2] *= 2;
    const changedRun = {
      ...fixture.import,
      on_exists: 'replace',
      tables: { ...fixture.import.tables, market: { ...market, data } },
    };
    await service.ok('POST', '/data/import', changedRun);
    const view = await replay('FOUR');
    expect(view).toMatchObject({ equal: false, inputs_equal: false });
    expect(view.stored_content_hash).not.toBe(view.replayed_content_hash);
    expect(view.first_difference).toMatchObject({
      part: 'price',
      replayed: 2 * (view.first_difference!.stored as number),
    });
    await service.ok('POST', '/data/import', { ...fixture.import, on_exists: 'replace' });
    expect((await replay('FOUR')).equal).toBe(true);
  });

  test('a changed stored number is found', async () => {
    const files = readdirSync(service.folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.art'))
      .map((name) => join(service.folder, name));
    const columns = files.filter(
      (path) => statSync(path).isFile() && readFileSync(path).subarray(0, 8).toString() === 'DVSRUN01',
    );
    expect(columns.length).toBe(2);
    for (const path of columns) {
      const bytes = readFileSync(path);
      const header = JSON.parse(bytes.subarray(16, 16 + bytes.readUInt32LE(8)).toString());
      const offset = header.blocks.value.offset + 8 * 3;
      bytes.writeDoubleLE(bytes.readDoubleLE(offset) + 1e-9, offset);
      writeFileSync(path, bytes);
    }
    const view = await replay('FOUR');
    expect(view).toMatchObject({
      equal: false,
      inputs_equal: true,
      first_difference: { part: 'value', date: '2024-01-05', name: null },
    });
  });
});
