import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { openCalendars } from '#market/serve/calendar-files.js';
import type { MarketContent } from '#market/content/market-content.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { type RunningService, runService } from '../../running-service.js';
import { generateTestMarket } from '../../../synthetic-market.js';

/** Market of 24 securities over 440 sessions. It has splits, dividends, delistings and gaps, but no late listings. */
export const WHOLE_CONTENT: MarketContent = generateTestMarket({
  seed: 11,
  assets: 24,
  sessions: openCalendars()
    .get('XNYS')!
    .sessions.filter((day) => day > 18_000)
    .slice(0, 440),
  sectors: 4,
  dividend_yield: 0.03,
  splits_per_year: 0.4,
  delistings_per_year: 0.1,
  missing_rate: 0.002,
});

const formatIsoDay = (day: number): string => new Date(day * 86_400_000).toISOString().slice(0, 10);
export const formatDateAt = (row: number): string => formatIsoDay(WHOLE_CONTENT.dates[row]!);

export const DEFINITION = { calendar: 'XNYS', base_date: formatDateAt(3), rebalance: { frequency: 'quarterly' } };
export const INDEX = {
  ...DEFINITION,
  id: 'GROWS',
  name: 'Grows',
  pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight', cap: 0.1 } },
};
export const REQUEST = { transaction_cost_bps: 10, benchmark: { id: 'EQUAL', kind: 'index' } };

export let service: RunningService;
let folder: string;
/** Current number of sessions in the store. */
export let sessions = 420;

export function cutMarket(rows: number): MarketContent {
  const names = WHOLE_CONTENT.identifiers.length;
  const last = WHOLE_CONTENT.dates[rows - 1]!;
  return {
    ...WHOLE_CONTENT,
    dates: WHOLE_CONTENT.dates.slice(0, rows),
    fields: new Map([...WHOLE_CONTENT.fields].map(([name, panel]) => [name, panel.slice(0, rows * names)])),
    actions: WHOLE_CONTENT.actions.filter(({ exDay }) => exDay <= last),
  };
}

export async function put(content: MarketContent, body: object = {}): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  await writeMarket(folder, content, () => {});
  const { status, body: refreshing } = await service.ask('POST', '/data/stores/desk/refresh', body);
  expect(status, JSON.stringify(refreshing)).toBe(202);
  expect(await service.waitForJob('refresh:desk')).toMatchObject({ status: 'succeeded' });
  sessions = content.dates.length;
}

/** Appends the next session to the store. */
export const grow = (): Promise<void> => put(cutMarket(sessions + 1));

// Bodies are whatever the service answers.
// oxlint-disable-next-line typescript/no-explicit-any
export type Body = any;

export async function startBacktest(id = 'GROWS', request: object = REQUEST): Promise<Body> {
  expect((await service.ask('POST', `/analytics/${id}/backtest`, request)).status).toBe(202);
  const { error, result } = await service.waitForJob(`backtest:${id}`);
  expect(error).toBeNull();
  return result;
}

/** Runs a full backtest. It replaces the stored run. */
export async function runWhole(id = 'GROWS', request: object = REQUEST): Promise<Body> {
  await service.ask('DELETE', `/analytics/${id}/record`);
  const result = await startBacktest(id, request);
  expect(result).toMatchObject({ extended_from: null, full_run_reason: null });
  return result;
}

export const readText = async (path: string): Promise<string> => (await service.download(path)).text();

/** Returns JSON text without the members that state when and where it was computed. */
export const formatNumbers = (json: string): string =>
  json.replace(/"run_at":"[^"]*"/, '').replace(/"extended_from":[^,]*,"full_run_reason":[^}]*}/, '');

export async function readViews(id = 'GROWS'): Promise<Record<string, string>> {
  const middleDate = formatDateAt(300);
  const paths = {
    record: 'record',
    overview: 'overview',
    attribution: 'attribution',
    window: `attribution?start=${middleDate}`,
    levels: 'levels?variant=net',
    weights: 'weights?risk=true&benchmark=EQUAL',
    asset: `assets/${WHOLE_CONTENT.identifiers[0]}`,
    groups: 'attribution/groups?by=SECTOR',
  };
  const texts = await Promise.all(Object.values(paths).map((path) => readText(`/analytics/${id}/${path}`)));
  return Object.fromEntries(Object.keys(paths).map((name, i) => [name, formatNumbers(texts[i]!)]));
}

/** Restarts the service and waits until it serves the store. */
export async function restart(): Promise<void> {
  await service.restart(undefined, 'new');
  await service.resumed();
}

export const listArtifacts = (): string[] => readdirSync(join(service.root, 'home', 'artifacts'));

beforeAll(async () => {
  service = await runService();
  folder = join(service.root, 'desk');
  await writeMarket(folder, cutMarket(sessions), () => {});
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
  for (const document of [
    INDEX,
    { ...DEFINITION, id: 'EQUAL', name: 'Equal', pipeline: { weighting: { type: 'EqualWeight' } } },
  ])
    expect((await service.ask('POST', '/indices', document)).status).toBe(200);
});

afterAll(() => service.close());
