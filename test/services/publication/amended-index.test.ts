import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Publication } from '#contract/publication.js';
import type { PublicationEntry } from '#domain/definition/publication.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { runService, type RunningService } from '../running-service.js';

/** Service with an index that is amended between publications. Each test depends on the previous test. */
let service: RunningService;
let sessions: readonly string[];

const createDefinition = (rest: object = {}) => ({
  id: 'AMD',
  name: 'Amended',
  calendar: 'XNYS',
  base_date: '2023-01-03',
  rebalance: { frequency: 'weekly' },
  pipeline: { weighting: { type: 'EqualWeight' } },
  ...rest,
});
const findAmendment = (from: string) => ({
  effective_from: from,
  announced: sessions[15],
  reason: 'Client consultation',
  changes: { pipeline: { weighting: { type: 'MarketCapWeight' } } },
});

interface Run {
  readonly result: { readonly extended_from?: string | null; readonly full_run_reason?: string | null } | null;
}

async function runToEnd(id = 'AMD'): Promise<Run['result']> {
  const { body } = await service.ask<{ readonly job_id: string }>('POST', `/analytics/${id}/backtest`, {});
  const { result, error } = await service.waitForJob(body.job_id);
  expect(error).toBeNull();
  return result as Run['result'];
}
const publish = () => service.ask<Publication>('POST', '/analytics/AMD/publish', {});
const readEntries = async () =>
  (await service.ask<{ readonly entries: PublicationEntry[] }>('GET', '/analytics/AMD/published')).body.entries;

/** Writes the prices of four securities on the first sessions. */
function writeBars(count: number): void {
  const rows = sessions
    .slice(0, count)
    .flatMap((date, t) =>
      [0, 1, 2, 3].map((i) =>
        [date, `S${i}`, 50 + 20 * i + 5 * Math.sin((t + 3 * i) / (2 + i)), 1000 * (4 - i)].join(),
      ),
    );
  writeFileSync(join(folder, 'market.csv'), ['date,identifier,CLOSE,SHARES_OUTSTANDING', ...rows].join('\n'));
}

let folder: string;
beforeAll(async () => {
  service = await runService();
  folder = join(service.root, 'prices');
  mkdirSync(folder);
  sessions = [...openCalendars().get('XNYS')!.sessions]
    .filter((day) => day >= parseValidDay('2023-01-03'))
    .slice(0, 40)
    .map(formatDay);
  writeBars(20);
  await service.ask('POST', '/data/stores', { name: 'Desk', kind: 'folder', location: folder, activate: true });
  await service.ask('PUT', '/indices/AMD', createDefinition());
});
afterAll(() => service.close());

async function refresh(): Promise<void> {
  const { body } = await service.ask<{ readonly stores: readonly { readonly store_id: string }[] }>(
    'GET',
    '/data/stores',
  );
  const { store_id: id } = body.stores[0]!;
  await service.ask('POST', `/data/stores/${id}/refresh`, {});
  expect((await service.waitForJob(`refresh:${id}`)).error).toBeNull();
}

test('twenty closes are published, an amendment keeps the run current, and twenty more follow without a conflict', async () => {
  await runToEnd();
  const first = await publish();
  expect([first.status, first.body.published]).toEqual([200, 20]);
  const before = await readEntries();

  const savedAnswer = await service.ask(
    'PUT',
    '/indices/AMD',
    createDefinition({ amendments: [findAmendment(sessions[22]!)] }),
  );
  expect(savedAnswer.status).toBe(200);
  const secondPublication = await publish();
  expect([secondPublication.status, secondPublication.body.published, secondPublication.body.stale]).toEqual([
    200,
    0,
    null,
  ]);

  writeBars(40);
  await refresh();
  const result = await runToEnd();
  expect(result).toMatchObject({ full_run_reason: null, extended_from: sessions[19] });
  const second = await publish();
  expect([second.status, second.body.published, second.body.restated]).toEqual([200, 20, 0]);
  const all = await readEntries();
  expect(all.slice(0, 20)).toEqual(before);
  expect(all.map(({ date }) => date)).toEqual(sessions.slice(0, 40));
});

test('the extended run is bit-identical to a whole one, and has other levels than without the amendment', async () => {
  const extendedEntries = (await readEntries()).slice(20).map(({ price }) => price);
  await service.ask('PUT', '/indices/TWIN', {
    ...createDefinition({ amendments: [findAmendment(sessions[22]!)] }),
    id: 'TWIN',
  });
  await service.ask('PUT', '/indices/PLAIN', { ...createDefinition(), id: 'PLAIN' });
  const readLevels = async (id: string): Promise<readonly number[]> => {
    await runToEnd(id);
    const answer = await service.ask<{
      readonly columns: readonly string[];
      readonly data: readonly (readonly number[])[];
    }>('GET', `/analytics/${id}/exports/levels?format=json`);
    return answer.body.data.map((row) => row[answer.body.columns.indexOf('price')]!);
  };
  expect((await readLevels('TWIN')).slice(20)).toEqual(extendedEntries);
  const plainLevels = await readLevels('PLAIN');
  const changedRow = sessions.findIndex((date, t) => t >= 22 && new Date(date).getUTCDay() === 5);
  expect(plainLevels.slice(20, changedRow + 1)).toEqual(extendedEntries.slice(0, changedRow - 19));
  expect(plainLevels[39]).not.toBe(extendedEntries[19]);
});

test('an amendment within the run is a change of its definition', async () => {
  await service.ask('PUT', '/indices/AMD', createDefinition({ amendments: [findAmendment(sessions[30]!)] }));
  const { body } = await service.ask<{ readonly stale: { readonly reasons: readonly string[] } | null }>(
    'GET',
    '/analytics/AMD/performance',
  );
  expect(body.stale!.reasons.join()).toContain('amendments');
});

test('the text in force on a day is served, and the methodology states both', async () => {
  const previewOnDate = async (date: string) =>
    (
      await service.ask<{ readonly pipeline: { readonly weighting: { readonly type: string } } }>(
        'GET',
        `/indices/AMD?on=${date}`,
      )
    ).body.pipeline.weighting.type;
  expect(await previewOnDate(sessions[29]!)).toBe('EqualWeight');
  expect(await previewOnDate(sessions[30]!)).toBe('MarketCapWeight');
  const { body } = await service.ask<{ readonly sentences?: readonly string[] }>('GET', '/indices/AMD/methodology');
  expect(JSON.stringify(body)).toContain(`From the first review on or after ${sessions[30]!}`);
});
