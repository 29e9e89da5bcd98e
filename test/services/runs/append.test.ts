import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import type { MarketContent } from '#market/content/market-content.js';
import { generateMarket } from '#market/synthetic/generate-market.js';
import { writeMarket } from '#market/content/write-market.js';
import { runService, type RunningService } from '../running-service.js';

/** 40 names over 440 sessions, with splits, dividends, delistings and gaps, but without names that come later. */
const WHOLE: MarketContent = generateMarket(
  {
    seed: 11,
    assets: 40,
    sessions: openCalendars()
      .get('XNYS')!
      .sessions.filter((day) => day > 18_000)
      .slice(0, 440),
    exchange: 'XNYS',
    currency: 'USD',
    sectors: 4,
    market_return: 0.07,
    market_volatility: 0.16,
    specific_volatility: 0.25,
    dividend_yield: 0.03,
    splits_per_year: 0.4,
    delistings_per_year: 0.1,
    listings_per_year: 0,
    missing_rate: 0.002,
  },
  () => {},
);

const isoDay = (day: number): string => new Date(day * 86_400_000).toISOString().slice(0, 10);
const dateAt = (row: number): string => isoDay(WHOLE.dates[row]!);

const DEFINITION = { calendar: 'XNYS', base_date: dateAt(3), rebalance: { frequency: 'quarterly' } };
const INDEX = {
  ...DEFINITION,
  id: 'GROWS',
  name: 'Grows',
  pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight', cap: 0.1 } },
};
const REQUEST = { transaction_cost_bps: 10, benchmark: { id: 'EQUAL', kind: 'index' } };

let service: RunningService;
let folder: string;

/** What the market told by so many sessions. */
function until(rows: number): MarketContent {
  const names = WHOLE.identifiers.length;
  const last = WHOLE.dates[rows - 1]!;
  return {
    ...WHOLE,
    dates: WHOLE.dates.slice(0, rows),
    fields: new Map([...WHOLE.fields].map(([name, panel]) => [name, panel.slice(0, rows * names)])),
    actions: WHOLE.actions.filter(({ exDay }) => exDay <= last),
  };
}

async function put(content: MarketContent, body: object = {}): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  await writeMarket(folder, content, () => {});
  const { status, body: refreshing } = await service.ask('POST', '/data/stores/desk/refresh', body);
  expect(status, JSON.stringify(refreshing)).toBe(202);
  expect(await service.finished('refresh:desk')).toMatchObject({ status: 'succeeded' });
}

// Bodies are whatever the service answers.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

async function backtest(id = 'GROWS', request: object = REQUEST): Promise<Body> {
  expect((await service.ask('POST', `/analytics/${id}/backtest`, request)).status).toBe(202);
  const { error, result } = await service.finished(`backtest:${id}`);
  expect(error).toBeNull();
  return result;
}

/** A run of the whole, in place of the stored one. */
async function wholeRun(id = 'GROWS', request: object = REQUEST): Promise<Body> {
  await service.ask('DELETE', `/analytics/${id}/record`);
  const result = await backtest(id, request);
  expect(result).toMatchObject({ extended_from: null, full_run_reason: null });
  return result;
}

const text = async (path: string): Promise<string> => (await service.download(path)).text();

/** A text but for what tells when and how it was made. */
const numbers = (json: string): string =>
  json.replace(/"run_at":"[^"]*"/, '').replace(/"extended_from":[^,]*,"full_run_reason":[^}]*}/, '');

async function views(id = 'GROWS'): Promise<Record<string, string>> {
  const mid = dateAt(300);
  const paths = {
    record: 'record',
    overview: 'overview',
    attribution: 'attribution',
    window: `attribution?start=${mid}`,
    levels: 'levels?variant=net',
    weights: 'weights?risk=true&benchmark=EQUAL',
    asset: `assets/${WHOLE.identifiers[0]}`,
    groups: 'attribution/groups?by=SECTOR',
  };
  const texts = await Promise.all(Object.values(paths).map((path) => text(`/analytics/${id}/${path}`)));
  return Object.fromEntries(Object.keys(paths).map((name, i) => [name, numbers(texts[i]!)]));
}

/** Starts the service again and waits until it serves the store. */
async function restart(): Promise<void> {
  await service.restart();
  for (;;) {
    const { body } = await service.ask<{ store: { end: string | null } }>('GET', '/health');
    if (body.store.end !== null) return;
  }
}

const artifacts = (): string[] => readdirSync(join(service.root, 'home', 'artifacts'));

beforeAll(async () => {
  service = await runService();
  folder = join(service.root, 'desk');
  await writeMarket(folder, until(420), () => {});
  expect(
    (
      await service.ask('POST', '/data/stores', {
        store_id: 'desk',
        name: 'Desk',
        kind: 'folder',
        location: folder,
        activate: true,
      })
    ).status,
  ).toBeLessThan(300);
  await service.finished('load:desk');
  for (const document of [
    INDEX,
    { ...DEFINITION, id: 'EQUAL', name: 'Equal', pipeline: { weighting: { type: 'EqualWeight' } } },
  ])
    expect((await service.ask('POST', '/indices', document)).status).toBe(200);
});

afterAll(() => service.close());

describe('a backtest after the store has grown', () => {
  test('extends the stored run, and every view has what running the whole gives', async () => {
    expect(await backtest()).toMatchObject({ extended_from: null, full_run_reason: null });
    let from = 420;
    // A day, some days, and the days to the end with a rebalance among them, the service started again between.
    for (const rows of [421, 424, 438]) {
      await put(until(rows));
      const extended = await backtest();
      expect([extended.extended_from, extended.full_run_reason]).toEqual([dateAt(from - 1), null]);
      const shown = await views();
      if (rows === 424) {
        const replayed = await service.ask<{ job_id: string }>('POST', '/analytics/GROWS/replay');
        expect((await service.finished(replayed.body.job_id)).result).toMatchObject({
          equal: true,
          inputs_equal: true,
          first_difference: null,
        });
        expect(JSON.parse(await text('/analytics/GROWS/reconcile')).reconciles).toBe(true);
        await restart();
        expect(await views()).toEqual(shown);
      }
      const whole = await wholeRun();
      expect(numbers(JSON.stringify(extended))).toBe(numbers(JSON.stringify(whole)));
      expect(shown).toEqual(await views());
      from = rows;
    }
  }, 120_000);

  test('goes on again and again, and the files that it began in go with the last of them', async () => {
    await put(until(410), { full: true });
    await service.ask('DELETE', '/analytics/GROWS/record');
    await wholeRun();
    for (const rows of [411, 412, 413, 414]) {
      await put(until(rows));
      expect(await backtest()).toMatchObject({ extended_from: dateAt(rows - 2), full_run_reason: null });
    }
    const shown = await views();
    await wholeRun();
    expect(shown).toEqual(await views());
    const before = artifacts();
    await put(until(415));
    expect(await backtest()).toMatchObject({ extended_from: dateAt(413) });
    const made = artifacts().filter((name) => !before.includes(name));
    expect(made.length).toBeGreaterThanOrEqual(5);
    expect((await service.ask('DELETE', '/indices/GROWS')).status).toBeLessThan(300);
    await restart(); // Files that nobody refers to are removed a minute later, or with the service.
    expect(artifacts().filter((name) => made.includes(name))).toEqual([]);
    expect((await service.ask('POST', '/indices', INDEX)).status).toBe(200);
  }, 120_000);

  test('goes on when names are held that never were, and shows of them what was before', async () => {
    await put(until(300), { full: true });
    const risen = { id: 'risen', type: 'TopN', params: { field: 'MOMENTUM', count: 6 } };
    const document = {
      ...INDEX,
      id: 'JOINS',
      name: 'Joins',
      base_date: dateAt(270),
      rebalance: { frequency: 'monthly' },
      pipeline: { ...INDEX.pipeline, selection: [risen], weighting: { type: 'EqualWeight' } },
    };
    expect((await service.ask('POST', '/indices', document)).status).toBe(200);
    expect(
      (
        await service.ask('PUT', '/strategies/HALF', {
          id: 'HALF',
          name: 'Half',
          index_id: 'JOINS',
          exposure: 0.5,
          transaction_cost_bps: 5,
        })
      ).status,
    ).toBe(200);
    const namesIn = (rebalances: readonly { readonly weights: object }[]): Set<string> =>
      new Set(rebalances.flatMap(({ weights }) => Object.keys(weights)));
    const known = namesIn((await wholeRun('JOINS')).rebalances);
    await wholeRun('HALF', {});
    let last: Body;
    for (const rows of [330, 331, 352, 395, 438]) {
      await put(until(rows));
      last = await backtest('JOINS');
      expect(last.full_run_reason).toBeNull();
      expect((await backtest('HALF', {})).full_run_reason).toBeNull();
    }
    const joined = [...namesIn(last.rebalances)].filter((name) => !known.has(name));
    expect(joined.length).toBeGreaterThan(1);
    const seen = async () => ({
      ...(await views('JOINS')),
      half: await views('HALF'),
      assets: await Promise.all(joined.map((name) => text(`/analytics/JOINS/assets/${name}`))),
      rolling: await text('/analytics/JOINS/rolling'),
    });
    const shown = await seen();
    expect((await service.ask<{ weights: unknown[] }>('GET', '/analytics/JOINS/weights')).body.weights).toHaveLength(6);
    for (const id of ['JOINS', 'HALF']) {
      const { body } = await service.ask<{ job_id: string }>('POST', `/analytics/${id}/replay`);
      expect((await service.finished(body.job_id)).result).toMatchObject({ equal: true, first_difference: null });
      expect(JSON.parse(await text(`/analytics/${id}/reconcile`)).reconciles).toBe(true);
    }
    await wholeRun('JOINS');
    await wholeRun('HALF', {});
    expect(shown).toEqual(await seen());
  }, 120_000);

  test('is another one as soon as anything before has changed', async () => {
    await put(until(420), { full: true });
    await wholeRun();
    const restated = until(422);
    const close = restated.fields.get('CLOSE')!;
    close[200 * WHOLE.identifiers.length] = close[200 * WHOLE.identifiers.length]! * 1.01;
    await put(restated, { full: true });
    expect(await backtest()).toMatchObject({ extended_from: null, full_run_reason: 'history_changed' });
    const late = until(423);
    const action = {
      ...late.actions.find(({ type }) => type === 'DIVIDEND')!,
      identifier: WHOLE.identifiers[1]!,
      exDay: WHOLE.dates[150]!,
      value: 0.37,
    };
    const actions = [...late.actions, action].toSorted((a, b) =>
      a.identifier < b.identifier ? -1 : a.identifier > b.identifier ? 1 : a.exDay - b.exDay,
    );
    await put({
      ...late,
      fields:
        restated.fields.size > 0
          ? new Map(
              [...late.fields].map(([name, panel]) => [
                name,
                name === 'CLOSE' ? Float64Array.from(panel, (value, cell) => close[cell] ?? value) : panel,
              ]),
            )
          : late.fields,
      actions,
    });
    expect(await backtest()).toMatchObject({ extended_from: null, full_run_reason: 'history_changed' });
    expect(numbers(JSON.stringify(await backtest()))).toBe(numbers(JSON.stringify(await wholeRun())));
  });

  test('is another one for another definition or request, unless the end alone lies later', async () => {
    await put(until(420), { full: true });
    await wholeRun();
    expect(await backtest()).toMatchObject({ full_run_reason: 'no_new_session' });
    await put(until(421));
    expect(await backtest('GROWS', { ...REQUEST, transaction_cost_bps: 11 })).toMatchObject({
      full_run_reason: 'request_changed',
    });
    expect(await backtest('GROWS', { transaction_cost_bps: 11 })).toMatchObject({ full_run_reason: 'request_changed' });
    await backtest('GROWS', { ...REQUEST, transaction_cost_bps: 11 });
    const changed = { ...INDEX, pipeline: { ...INDEX.pipeline, weighting: { type: 'MarketCapWeight', cap: 0.2 } } };
    expect((await service.ask('PUT', '/indices/GROWS', changed)).status).toBe(200);
    expect(await backtest('GROWS', { ...REQUEST, transaction_cost_bps: 11 })).toMatchObject({
      full_run_reason: 'definition_changed',
    });
    expect((await service.ask('PUT', '/indices/GROWS', INDEX)).status).toBe(200);
    await wholeRun('GROWS', { ...REQUEST, end: dateAt(350) });
    const later = await backtest('GROWS', { ...REQUEST, end: dateAt(352) });
    expect(later).toMatchObject({ extended_from: dateAt(350), full_run_reason: null });
    expect(await backtest('GROWS', { ...REQUEST, end: dateAt(349) })).toMatchObject({
      full_run_reason: 'no_new_session',
    });
    expect(numbers(JSON.stringify(later))).toBe(
      numbers(JSON.stringify(await wholeRun('GROWS', { ...REQUEST, end: dateAt(352) }))),
    );
  });

  test('is a whole one where a file of the stored run is damaged', async () => {
    await put(until(420), { full: true });
    const before = new Set(artifacts());
    await wholeRun();
    for (const name of artifacts())
      if (!before.has(name)) truncateSync(join(service.root, 'home', 'artifacts', name), 100);
    await put(until(421));
    expect(await backtest()).toMatchObject({ extended_from: null, full_run_reason: 'no_checkpoint' });
    expect((await service.ask('GET', '/analytics/GROWS/record')).status).toBe(200);
  });

  test('gives another overview in place of one that is damaged, which is refused until then', async () => {
    await put(until(420), { full: true });
    const before = new Set(artifacts());
    await wholeRun();
    const shown = (await text('/analytics/GROWS/overview')).replace('{"stale":null,', '{');
    const path = artifacts()
      .filter((name) => !before.has(name))
      .map((name) => join(service.root, 'home', 'artifacts', name))
      .find((file) => readFileSync(file, 'utf8') === shown)!;
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(path, bytes);
    expect(await service.ask('GET', '/analytics/GROWS/overview')).toMatchObject({
      status: 404,
      body: { error: { code: 'DOCUMENT_UNREADABLE' } },
    });
    await put(until(421));
    await backtest();
    expect((await service.ask('GET', '/analytics/GROWS/overview')).status).toBe(200);
  });

  test('is a whole one where a weight of a stored snapshot is another one', async () => {
    await put(until(420), { full: true });
    const before = new Set(artifacts());
    await wholeRun();
    const paths = artifacts()
      .filter((name) => !before.has(name))
      .map((name) => join(service.root, 'home', 'artifacts', name));
    const result = paths.find((path) => readFileSync(path, 'latin1').startsWith('{"date"'))!;
    const text = readFileSync(result, 'latin1');
    const point = text.indexOf('0.', text.indexOf('"weights":'));
    writeFileSync(
      result,
      `${text.slice(0, point + 2)}${text[point + 2] === '1' ? '2' : '1'}${text.slice(point + 3)}`,
      'latin1',
    );
    await put(until(421));
    expect(await backtest()).toMatchObject({ extended_from: null, full_run_reason: 'no_checkpoint' });
  });

  test('is a whole one where a bit of a stored weight is another one, whether the new run begins in the file or copies of it', async () => {
    await put(until(420), { full: true });
    /** Those that a run is written to: the smallest, where it begins in others. */
    const columnsSince = (before: readonly string[]): string => {
      const made = artifacts()
        .filter((name) => !before.includes(name))
        .map((name) => join(service.root, 'home', 'artifacts', name));
      return made
        .filter((path) => readFileSync(path, 'latin1').startsWith('DVSRUN'))
        .toSorted((a, b) => statSync(a).size - statSync(b).size)[0]!;
    };
    const damage = (path: string): void => {
      const bytes = readFileSync(path);
      const { offset } = openColumns((from, to) => bytes.subarray(from, to)).header.blocks.weights!;
      bytes[offset]! ^= 1; // The last bit of a weight: nothing that is computed tells it.
      writeFileSync(path, bytes);
    };
    let before = artifacts();
    await wholeRun();
    damage(columnsSince(before));
    await put(until(421));
    expect(await backtest()).toMatchObject({ extended_from: null, full_run_reason: 'no_checkpoint' });
    await put(until(422));
    before = artifacts();
    expect(await backtest()).toMatchObject({ extended_from: dateAt(420) });
    damage(columnsSince(before));
    await put(until(423));
    expect(await backtest()).toMatchObject({ extended_from: null, full_run_reason: 'no_checkpoint' });
    const shown = await views();
    await wholeRun();
    expect(shown).toEqual(await views());
  }, 120_000);
});

describe('strategies and a derived index', () => {
  test('go on, a strategy also over days on which it rebalances of its own', async () => {
    await put(until(400), { full: true });
    expect(
      (
        await service.ask('PUT', '/strategies/TILT', {
          id: 'TILT',
          name: 'Tilt',
          index_id: 'GROWS',
          exposure: 0.9,
          drift_tolerance: 0.001,
          transaction_cost_bps: 5,
        })
      ).status,
    ).toBe(200);
    expect(
      (
        await service.ask('PUT', '/strategies/MONTHS', {
          id: 'MONTHS',
          name: 'Months',
          index_id: 'GROWS',
          rebalance: { frequency: 'monthly' },
        })
      ).status,
    ).toBe(200);
    const child = {
      id: 'CHILD',
      name: 'Child',
      source_index_id: 'GROWS',
      objective: 'min_tracking_error',
      constraints: [{ id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.08 } }],
    };
    expect(
      (
        await service.ask('PUT', '/indices/CHILD', {
          ...DEFINITION,
          id: 'CHILD',
          name: 'Child',
          derivation: {
            source_index_id: child.source_index_id,
            objective: child.objective,
            constraints: child.constraints,
          },
        })
      ).status,
    ).toBe(200);
    const ids = ['TILT', 'MONTHS', 'CHILD'] as const;
    const seen: Record<(typeof ids)[number], unknown[]> = { TILT: [], MONTHS: [], CHILD: [] };
    for (const id of ids) await wholeRun(id, {});
    for (let rows = 401; rows < 440; rows += 12) {
      await put(until(rows));
      for (const id of ids) {
        const result = await backtest(id, {});
        const shown = await text(`/analytics/${id}/record`);
        seen[id].push(result.full_run_reason);
        const whole = await wholeRun(id, {});
        expect(numbers(JSON.stringify(result))).toBe(numbers(JSON.stringify(whole)));
        expect(numbers(shown)).toBe(numbers(await text(`/analytics/${id}/record`)));
      }
    }
    expect(seen.MONTHS).toEqual([null, null, null, null]);
    expect(seen.CHILD).toEqual([null, null, null, null]); // one of the steps has the rebalance of a quarter
    expect(seen.TILT.filter((reason) => reason === null).length).toBeGreaterThan(1);
  });
});
