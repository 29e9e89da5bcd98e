import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatDay } from '#domain/days.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { runService, type RunningService } from '../running-service.js';

const DAYS = [...openCalendars().get('XNYS')!.sessions]
  .map(formatDay)
  .filter((day) => day >= '2024-01-02' && day <= '2024-03-28');
const NAMES = ['A', 'B'];
const BARS = ['identifier', 'date', 'CLOSE'];
const frame = (columns: readonly string[], data: readonly (readonly unknown[])[]) => ({
  index: data.map((_, i) => i),
  columns,
  data,
});

let service: RunningService;

beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

test('an exchange rate of 0 or less is told at import, doubted by the audit and refused where it is needed', async () => {
  const AT = 40;
  const tables = {
    market: frame(
      BARS,
      DAYS.flatMap((day, t) => NAMES.map((name, n) => [name, day, 50 + n + (t % 7)])),
    ),
    reference: frame(
      ['identifier', 'CURRENCY'],
      NAMES.map((name) => [name, 'USD']),
    ),
    series: frame(
      BARS,
      DAYS.map((day, t) => ['EURUSD', day, t === AT ? -1 : 1.1]),
    ),
  };
  const imported = await service.ask<{ findings: object[] }>('POST', '/data/import', {
    store_id: 'rates',
    name: 'x',
    tables,
    activate: true,
  });
  expect(imported.body.findings).toContainEqual(
    expect.objectContaining({ code: 'OUT_OF_RANGE', path: 'series[EURUSD]', value: -1 }),
  );
  for (const [id, currency] of [
    ['LISTED', 'USD'],
    ['EURO', 'EUR'],
  ])
    await service.ask('PUT', `/indices/${id}`, {
      id,
      name: id,
      currency,
      calendar: 'XNYS',
      base_date: DAYS[0],
      rebalance: { frequency: 'monthly' },
      universe: { kind: 'list', identifiers: NAMES },
      pipeline: { weighting: { type: 'EqualWeight' } },
    });
  const conversion = { id: 'CONVERTED', name: 'x', kind: 'overlay', source_index_id: 'LISTED', calendar: 'XNYS' };
  await service.ask('PUT', '/indices/CONVERTED', {
    ...conversion,
    base_date: DAYS[0],
    overlay: { type: 'currency', to: 'EUR' },
  });
  const message = `The exchange rate EURUSD is -1 on ${DAYS[AT]}; a rate greater than 0 is needed.`;
  for (const id of ['EURO', 'CONVERTED']) {
    await service.ask('POST', `/analytics/${id}/backtest`, {});
    expect((await service.finished(`backtest:${id}`)).error).toMatchObject({ code: 'NUMERIC_FAILURE', message });
  }
  await service.ask('POST', '/analytics/EURO/backtest', { end: DAYS[AT - 1] });
  expect((await service.finished('backtest:EURO')).status).toBe('succeeded');
  const audit = await service.ask<{ doubts: object[] }>('GET', '/data/stores/rates/audit');
  expect(audit.body.doubts).toContainEqual(
    expect.objectContaining({ kind: 'exchange_rate', identifier: 'EURUSD', date: DAYS[AT], repair: null }),
  );
});
