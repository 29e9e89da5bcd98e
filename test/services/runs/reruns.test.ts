import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RerunRow, RerunView, StoredRuns } from '#contract/runs.js';
import { openLiveService, type LiveService } from '../../real/live.js';
import { IS_SOAK } from '../../soak.js';
import { readLeftovers } from '../../durability/effects.js';
import { createEqualIndex, SESSIONS, writeWalks } from './random-walks.js';

const NAMES = ['A', 'B', 'C', 'D'];
/** Ids of the indices. There are enough of them for more than one part. */
const IDS = Array.from({ length: 9 }, (_, i) => `I${String(i).padStart(2, '0')}`);
const COSTS = 7;

if (!IS_SOAK) console.log('skipped: files that nothing names, as it takes a minute; npm run soak has it');

let service: LiveService;
beforeAll(async () => {
  service = await openLiveService(['--runs-kept', '3']);
  await serve(60, 1);
  for (const [i, id] of IDS.entries()) await put(id, NAMES.slice(0, 1 + (i % 4)));
  await service.ok('PUT', '/strategies/FOLLOW', { id: 'FOLLOW', name: 'Follow', index_id: 'I03' });
  await service.ok('POST', '/analytics/backtests', { ids: [...IDS, 'FOLLOW'], transaction_cost_bps: COSTS });
  for (const id of [...IDS, 'FOLLOW']) await service.ok('GET', `/jobs/backtest:${id}?wait=30`);
  await put('NEVER', NAMES);
});
afterAll(() => service?.close());

const put = (id: string, names: readonly string[]) => service.ok('PUT', `/indices/${id}`, createEqualIndex(id, names));

/** Serves a folder of random walks. If the seed is equal, sessions are appended. Another seed gives another content. */
async function serve(sessions: number, seed: number): Promise<void> {
  const location = writeWalks(join(service.folder, 'walks'), { names: NAMES, sessions, seed });
  if (sessions > 60 || seed > 1) return void (await service.job('/data/stores/walks/refresh', { full: true }));
  await service.ok('POST', '/data/stores', { store_id: 'walks', name: 'Walks', kind: 'folder', location });
  await service.job('/data/stores/walks/activate');
}

const rerun = async (body: object = {}): Promise<RerunView> =>
  (await service.job<RerunView>('/analytics/reruns', body)).result;
const readRuns = async (id: string) => (await service.ok<StoredRuns>('GET', `/analytics/${id}/runs`)).runs;
const readLevels = async (id: string, run?: string): Promise<unknown> =>
  service.ok('GET', `/analytics/${id}/exports/levels?format=json${run === undefined ? '' : `&run_id=${run}`}`);
const listOutcomes = ({ rows }: RerunView) => new Set(rows.map(({ outcome }) => outcome));

describe('a rerun', () => {
  test('finds nothing to do while no run is stale', async () => {
    const view = await rerun();
    expect(view).toMatchObject({ indices: 10, stored: 0, current: 10, refused: 0 });
    expect(view.rows.map(({ index_id: id }) => id)).toEqual(['FOLLOW', ...IDS]);
    const [newest] = await readRuns('I00');
    expect(view.rows[1]).toEqual({
      index_id: 'I00',
      outcome: 'current',
      run_id: newest!.run_id,
      previous_run_id: null,
      end: SESSIONS[59],
      extended_from: null,
      full_run_reason: null,
      error: null,
    });
  });

  test('after new sessions extends every run on its terms, and gives the levels of single backtests', async () => {
    const before = await readRuns('I05');
    await serve(61, 1);
    const view = await rerun({ rerun_id: 'day' });
    expect(view).toMatchObject({ rerun_id: 'day', indices: 10, stored: 10, current: 0, refused: 0 });
    const row = view.rows.find(({ index_id: id }) => id === 'I05')!;
    expect(row).toMatchObject({ end: SESSIONS[60], extended_from: SESSIONS[59], full_run_reason: null });
    const after = await readRuns('I05');
    expect(after.map(({ run_id: id }) => id)).toEqual([row.run_id, ...before.map(({ run_id: id }) => id)]);
    expect(row.previous_run_id).toBe(before[0]!.run_id);
    expect(after[0]!.request).toMatchObject({ transaction_cost_bps: COSTS });
    const levels = await readLevels('I05');
    const singleAnswer = await service.job<{ run_hash: string }>('/analytics/I05/backtest', {
      transaction_cost_bps: COSTS,
    });
    expect(singleAnswer.result.run_hash).toBe(after[0]!.run_hash);
    expect(await readLevels('I05')).toEqual(levels);
    expect(listOutcomes(await rerun())).toEqual(new Set(['current']));
  });

  test('after other data runs all again, and keeps the run of an index that cannot be run', async () => {
    await service.ok('PUT', '/indices/I02', createEqualIndex('I02', NAMES, { base_date: SESSIONS[70] }));
    const before = await readRuns('I02');
    await serve(61, 2);
    const view = await rerun();
    expect(view).toMatchObject({ indices: 10, stored: 9, current: 0, refused: 1 });
    const refusal = view.rows.find(({ index_id: id }) => id === 'I02')!;
    expect(refusal).toMatchObject({ outcome: 'refused', run_id: null, error: { code: 'NO_DATA_IN_RANGE' } });
    const listIds = (runs: StoredRuns['runs']) => runs.map(({ run_id: id }) => id);
    expect(listIds(await readRuns('I02'))).toEqual(listIds(before));
    expect(view.rows.find(({ index_id: id }) => id === 'I03')).toMatchObject({ extended_from: null });
    await put('I02', NAMES);
  });

  test('of some runs includes only these, also without a stored run, and each once', async () => {
    const view = await rerun({ ids: ['NEVER', 'I02', 'NEVER', 'NOBODY', 'I01'] });
    expect(view.rows.map(({ index_id: id, outcome }) => [id, outcome])).toEqual([
      ['NEVER', 'stored'],
      ['I02', 'stored'],
      ['NOBODY', 'refused'],
      ['I01', 'current'],
    ]);
    expect(view.rows[2]!.error).toMatchObject({ code: 'INDEX_NOT_FOUND' });
    const [only, ...otherRuns] = await readRuns('NEVER');
    expect(only!.run_id).toBe(view.rows[0]!.run_id);
    expect(otherRuns).toEqual([]);
  });

  test('has its rows in blocks', async () => {
    const body = await service.ok<{ rows: RerunRow[] }>('GET', '/analytics/reruns/day/rows');
    expect(body).toMatchObject({ rerun_id: 'day', count: 10, block: 0, blocks: 1 });
    expect(body.rows.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 10 }, () => 'stored'));
    const beyondAnswer = await service.ask('GET', '/analytics/reruns/day/rows?block=1');
    expect(beyondAnswer.status).toBe(422);
    expect((await service.ask('GET', '/analytics/reruns/none/rows')).status).toBe(404);
  });

  test.runIf(IS_SOAK)('leaves no orphaned file a minute later', async () => {
    await expect.poll(() => readLeftovers(join(service.folder, 'home'))).toEqual([]);
  });
});
