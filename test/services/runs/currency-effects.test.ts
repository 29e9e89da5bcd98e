import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GroupAttributionView } from '#contract/analytics/analytics.js';
import { runService, type RunningService } from '../running-service.js';
import { createEqualIndex, drawCloses, SESSIONS, writeWalks } from './random-walks.js';

/** Securities with their currencies; the indices are in dollars. */
const CURRENCIES = { A: 'USD', B: 'USD', X: 'EUR', Y: 'EUR' } as const;
type Name = keyof typeof CURRENCIES;
const INDICES = { OWN: ['A', 'X', 'Y'], BROAD: ['A', 'B', 'X', 'Y'] } as const;
const RATES = drawCloses('EURUSD', { seed: 7 }).map((close) => close / 90);
const closes = new Map(Object.keys(CURRENCIES).map((name) => [name, drawCloses(name, {})]));
const rateAt = (name: Name, t: number): number => (CURRENCIES[name] === 'EUR' ? RATES[t]! : 1);
const priceAt = (name: Name, t: number): number => closes.get(name)![t]! * rateAt(name, t);

let service: RunningService;
beforeAll(async () => {
  service = await runService();
  const names = Object.keys(CURRENCIES) as Name[];
  const location = writeWalks(join(service.root, 'prices'), { names });
  appendFileSync(join(location, 'market.csv'), RATES.map((rate, t) => `EURUSD,${SESSIONS[t]},${rate}\n`).join(''));
  writeFileSync(
    join(location, 'reference.csv'),
    `identifier,CURRENCY\n${names.map((name) => `${name},${CURRENCIES[name]}`).join('\n')}\n`,
  );
  const store = { store_id: 'desk', name: 'desk', kind: 'folder', location, activate: true };
  expect((await service.ask('POST', '/data/stores', store)).status).toBe(201);
  for (const [id, members] of Object.entries(INDICES)) {
    await service.ask('POST', '/indices', createEqualIndex(id, members, { rebalance: { frequency: 'none' } }));
    await service.ask('POST', `/analytics/${id}/backtest`, {});
    expect(await service.waitForJob(`backtest:${id}`)).toMatchObject({ status: 'succeeded' });
  }
});
afterAll(() => service.close());

interface GroupPeriod {
  readonly weight: number;
  readonly total: number;
  readonly local: number;
}

/** Computes a period of an index by currency: equal weights at the first close drift with the prices. */
function readPeriod(id: keyof typeof INDICES, t: number): Record<'EUR' | 'USD', GroupPeriod> {
  const members: readonly Name[] = INDICES[id];
  const valueAt = (name: Name): number => priceAt(name, t) / priceAt(name, 0);
  const sum = members.reduce((total, name) => total + valueAt(name), 0);
  const read = (currency: string): GroupPeriod => {
    const own = members.filter((name) => CURRENCIES[name] === currency);
    const add = (of: (name: Name) => number): number =>
      own.reduce((total, name) => total + (valueAt(name) / sum) * of(name), 0);
    return {
      weight: add(() => 1),
      total: add((name) => priceAt(name, t + 1) / priceAt(name, t) - 1),
      local: add((name) => closes.get(name)![t + 1]! / closes.get(name)![t]! - 1),
    };
  };
  return { EUR: read('EUR'), USD: read('USD') };
}

const add = (period: Record<'EUR' | 'USD', GroupPeriod>, of: keyof GroupPeriod): number =>
  period.EUR[of] + period.USD[of];

describe('the effects of a stored run in two currencies', () => {
  const readEffects = async (query: string) =>
    (
      await service.ask<GroupAttributionView>(
        'GET',
        `/analytics/OWN/attribution/groups?by=CURRENCY&benchmark=BROAD&currency=separate&${query}`,
      )
    ).body;

  test('of one session are those of local returns and of the exchange rate', async () => {
    const t = 40;
    const { effects, groups, active_return } = await readEffects(`start=${SESSIONS[t]}&end=${SESSIONS[t + 1]}`);
    const [own, broad] = [readPeriod('OWN', t), readPeriod('BROAD', t)];
    const local = add(broad, 'local');
    const of = (name: 'EUR' | 'USD') => {
      const [p, b] = [own[name], broad[name]];
      const [r, q] = [p.local / p.weight, b.local / b.weight];
      return {
        allocation: (p.weight - b.weight) * (q - local),
        selection: b.weight * (r - q),
        interaction: (p.weight - b.weight) * (r - q),
        currency: p.total - p.local - (b.total - b.local),
      };
    };
    for (const name of ['EUR', 'USD'] as const) {
      const row = groups.find(({ group }) => group === name)!;
      for (const [effect, value] of Object.entries(of(name)))
        expect([name, effect, row[effect as 'currency']]).toEqual([name, effect, expect.closeTo(value, 12)]);
    }
    expect(effects!.currency).toBeCloseTo(of('EUR').currency, 12);
    expect(Math.abs(of('EUR').currency)).toBeGreaterThan(1e-5);
    expect(active_return).toBeCloseTo(add(own, 'total') - add(broad, 'total'), 12);
  });

  test('that are geometric compound over all sessions, and the exchange rate is their ratio of growth', async () => {
    const { effects, active_return, residual } = await readEffects('linking=geometric');
    let [currency, active] = [1, 1];
    for (let t = 0; t + 1 < SESSIONS.length; t++) {
      const [own, broad] = [readPeriod('OWN', t), readPeriod('BROAD', t)];
      const [total, other] = [1 + add(own, 'total'), 1 + add(broad, 'total')];
      currency *= total / (1 + add(own, 'local')) / (other / (1 + add(broad, 'local')));
      active *= total / other;
    }
    expect(active_return).toBeCloseTo(active - 1, 11);
    expect(effects!.currency).toBeCloseTo(currency - 1, 11);
    const { allocation, selection } = effects!;
    expect((1 + allocation) * (1 + selection) * (1 + effects!.currency!) - 1).toBeCloseTo(active - 1, 11);
    expect(residual).toBeCloseTo(0, 11);
  });

  test('sum to the active return with those of the exchange rate', async () => {
    const { effects, active_return, reconciles } = await readEffects('');
    const { allocation, selection, interaction, currency } = effects!;
    expect(allocation + selection + interaction + currency!).toBeCloseTo(active_return!, 11);
    expect(reconciles).toBe(true);
  });
});
