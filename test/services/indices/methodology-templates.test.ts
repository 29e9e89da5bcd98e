import { expect, test } from 'vitest';
import { readMethodologies } from '#cli/compose/package-files.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createMethodologyTemplates } from '#services/indices/templates.js';
import { buildMarket } from '../../domain/backtest/market-builder.js';
import { createTestContext } from '../context.js';

const refuseCall = (): never => {
  throw new Error('no store is served');
};

/** Context of a service that serves no store. */
const unserved = createTestContext({
  calendars: openCalendars(),
  markets: { current: () => undefined, require: refuseCall },
  jobs: { query: refuseCall },
});

test('templates that were checked one by one are those that a request checks at once', async () => {
  let reads = 0;
  const someMethodologies = readMethodologies().slice(0, 3);
  const readSome = () => (reads++, someMethodologies);
  const templates = createMethodologyTemplates(unserved, readSome);
  const checks = templates.listChecks();
  expect(checks.map(({ name }) => name)).toEqual(someMethodologies.map(({ id }) => `methodology template ${id}`));
  for (const { run } of checks) run();
  const listedTemplates = await templates.list();
  expect(reads).toBe(1);
  expect(listedTemplates.templates.map(({ id }) => id)).toEqual(someMethodologies.map(({ id }) => id));
  expect(listedTemplates).toEqual(await createMethodologyTemplates(unserved, readSome).list());
});

test('the check of a template throws if a column of its rules is not described, and other checks do not', () => {
  const all = readMethodologies();
  const undescribedTemplate = { ...all.find(({ id }) => id === 'best-in-class')!, meanings: {} };
  const template = all.find(({ id }) => id === 'blend-60-40')!;
  const templates = createMethodologyTemplates(unserved, () => [undescribedTemplate, template]);
  const [invalid, valid] = templates.listChecks();
  expect(() => invalid!.run()).toThrow(
    'data/methodologies/best-in-class.json must describe these columns in meanings: CONTROVERSY_SCORE, ESG_RATING',
  );
  expect(() => valid!.run()).not.toThrow();
});

test('templates have the currency and the calendar of a store without exchange rates, unless they state a currency', async () => {
  const dates = ['2024-03-04', '2024-03-05'];
  const reference = { A: { CURRENCY: 'EUR', EXCHANGE: 'XETR' } };
  const createTemplatesOn = (close: Record<string, number[]>) => {
    const context = createTestContext({
      calendars: openCalendars(),
      markets: { current: () => ({ market: buildMarket({ dates, close, reference }) }) as never, require: refuseCall },
      jobs: { query: () => Promise.resolve({}) as never },
    });
    return createMethodologyTemplates(context, readMethodologies);
  };
  const templates = createTemplatesOn({ A: [100, 101] });
  const calm = await templates.get('low-volatility', {});
  expect(calm.documents.map(({ currency, calendar }) => [currency, calendar])).toEqual([
    ['EUR', 'XETR'],
    ['EUR', 'XETR'],
  ]);
  expect(calm.missing_rates).toEqual([]);
  const riskControl = await templates.get('risk-control', {});
  expect(riskControl.documents.map(({ currency }) => currency)).toEqual(['EUR', undefined, undefined]);
  const quanto = await templates.get('quanto', {});
  expect(quanto.documents.map(({ currency }) => currency)).toEqual([undefined, 'EUR', 'EUR']);
  expect(quanto.missing_rates).toContain('EURUSD');
  const { templates: summaries } = await templates.list();
  const restrictedIds = summaries.flatMap(({ id, missing_rates: rates }) => (rates.length > 0 ? [id] : []));
  expect(restrictedIds).toEqual(['currency-hedged', 'quanto']);
  const withRate = createTemplatesOn({ A: [100, 101], EURUSD: [1.1, 1.1] });
  expect((await withRate.get('low-volatility', {})).documents[0]).not.toHaveProperty('currency');
});

test('the target of a template is the count of its last selection rule', async () => {
  const templates = createMethodologyTemplates(unserved, readMethodologies);
  const targets = new Map((await templates.list()).templates.map(({ id, target_count: count }) => [id, count]));
  const ids = ['fixed-count-600', 'low-volatility', 'developed-net', 'blend-60-40'];
  expect(ids.map((id) => targets.get(id))).toEqual([600, 100, null, null]);
});
