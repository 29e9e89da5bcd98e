import { expect, test } from 'vitest';
import { FuturesPriceRequest, RollQuery, TermStructureQuery } from '#contract/derivatives.js';
import { parseValidDay } from '#domain/base/time.js';
import { createDerivatives, fetchAnnouncedDividends } from '#services/runs/derivatives.js';
import { createTestContext } from '../context.js';

const asOf = parseValidDay('2024-12-31');
const derivatives = createDerivatives(
  createTestContext({ calendars: { get: () => undefined } }),
  () => Promise.resolve({ calendar: 'XNYS', days: [asOf - 1, asOf], levels: [990, 1000] }),
  () =>
    Promise.resolve({
      asOf,
      dividends: [
        { exDay: asOf + 73, points: 4 },
        { exDay: asOf + 146, points: 6 },
        { exDay: asOf + 200, points: 100 },
      ],
    }),
);
const findPrice = (rest: object) =>
  derivatives.priceFutures(
    FuturesPriceRequest.parse({ index_id: 'X', expiry: '2025-05-26', risk_free_rate: 0.05, ...rest }),
  );

const TERMS = { name: 'dividend-points', needs: [] };

test('announced dividends up to the expiry, discounted to today, lower the forward', async () => {
  const { fair_value, dividend_points, basis } = await findPrice({ dividend_source: 'announced' });
  // 73 and 146 days are one and two fifths of a year. The dividend of day 200 is after the expiry on day 146.
  const expected = (1000 - 4 * Math.exp(-0.01) - 6 * Math.exp(-0.02)) * Math.exp(0.02);
  expect(fair_value).toBeCloseTo(expected, 10);
  expect(basis).toBeCloseTo(expected - 1000, 10);
  expect(dividend_points).toBe(10);
});

test('along the curve each expiry has the dividends up to it, announced or given, and a roll those of both expiries', async () => {
  const findCurve = (rest: object) =>
    derivatives.termStructure(
      'X',
      TermStructureQuery.parse({ expiries: ['2025-03-14', '2025-05-26'], risk_free_rate: 0.05, ...rest }),
    );
  const { points, shape } = await findCurve({ dividend_source: 'announced' });
  // Expiries are after 73 and 146 days. The first dividend goes ex on the first expiry.
  const nearForward = (1000 - 4 * Math.exp(-0.01)) * Math.exp(0.01);
  const farForward = (1000 - 4 * Math.exp(-0.01) - 6 * Math.exp(-0.02)) * Math.exp(0.02);
  expect(points.map(({ fair_value }) => fair_value)).toEqual([
    expect.closeTo(nearForward, 10),
    expect.closeTo(farForward, 10),
  ]);
  expect(points.map(({ dividend_points }) => dividend_points)).toEqual([4, 10]);
  expect(points.map(({ roll_from_previous }) => roll_from_previous)).toEqual([
    null,
    expect.closeTo(Math.log(nearForward / farForward) / 0.2, 10),
  ]);
  expect(shape).toBe('contango');
  const dividendCurve = await findCurve({ dividends: ['2025-03-14:4', '2025-05-26:6.0'] });
  expect(dividendCurve.points).toEqual(points);
  const roll = await derivatives.roll(
    'X',
    RollQuery.parse({
      front_expiry: '2025-03-14',
      back_expiry: '2025-05-26',
      risk_free_rate: 0.05,
      dividend_source: 'announced',
    }),
  );
  expect(roll).toMatchObject({
    front_price: points[0]!.fair_value,
    back_price: points[1]!.fair_value,
    front_dividend_points: 4,
    back_dividend_points: 10,
  });
  await expect(findCurve({ dividends: ['2025-06-01:4'] })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  expect(RollQuery.shape.dividends.safeParse(['2025-02-30:1']).success).toBe(false);
});

test('announced dividends are refused before the last date, and together with another assumption on dividends', async () => {
  const announcedTerms = { dividend_source: 'announced' };
  await expect(findPrice({ ...announcedTerms, as_of: '2024-12-30' })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  });
  await expect(findPrice({ ...announcedTerms, dividend_yield: 0.02 })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  });
});

test('an index that reinvests its dividends loses none of them, a net index loses the withheld part', async () => {
  const createView = (variant: string, withholding_tax = 0) => ({
    show: () =>
      Promise.resolve({
        etag: '',
        runId: 'newest',
        bytes: new TextEncoder().encode(
          JSON.stringify({
            variant,
            withholding_tax,
            as_of: '2024-12-31',
            announced: { dividends: [{ ex_date: '2025-01-15', points: 2, net_points: 2 * (1 - withholding_tax) }] },
          }),
        ),
      }),
  });
  await expect(fetchAnnouncedDividends(createView('total'), TERMS)('X')).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  });
  await expect(fetchAnnouncedDividends(createView('net'), TERMS)('X')).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  });
  const announceDividend = (points: number) => ({ asOf, dividends: [{ exDay: parseValidDay('2025-01-15'), points }] });
  expect(await fetchAnnouncedDividends(createView('price', 0.25), TERMS)('X')).toEqual(announceDividend(2));
  expect(await fetchAnnouncedDividends(createView('net', 0.25), TERMS)('X')).toEqual(announceDividend(0.5));
});

test('a repeated expiry of a term structure is refused at its second position', () => {
  const { error } = TermStructureQuery.safeParse({
    expiries: ['2025-03-14', '2025-05-26', '2025-03-14'],
    risk_free_rate: 0.05,
  });
  expect(error?.issues.map(({ path, message }) => [path, message])).toEqual([
    [['expiries', 2], 'is 2025-03-14, the same date as expiries[0]'],
  ]);
});

test('with separate rates for borrowing and lending, the price has a range without arbitrage', async () => {
  const terms = { dividend_yield: 0.015, borrow_rate: 0.002, cash_rates: { borrowing: 0.055, lending: 0.045 } };
  // 146 days are two fifths of a year. A buyer of the securities does not pay the borrow rate.
  const [upper, lower] = [1000 * Math.exp(0.4 * (0.055 - 0.015)), 1000 * Math.exp(0.4 * (0.045 - 0.015 - 0.002))];
  const { no_arbitrage, fair_value } = await findPrice(terms);
  expect(no_arbitrage).toEqual({ lower: expect.closeTo(lower, 9), upper: expect.closeTo(upper, 9), market: null });
  expect(fair_value).toBeCloseTo(1000 * Math.exp(0.4 * 0.033), 9);
  for (const [price, position] of [
    [lower - 1, 'below'],
    [fair_value, 'within'],
    [upper + 1, 'above'],
  ] as const)
    expect((await findPrice({ ...terms, market_price: price })).no_arbitrage!.market).toBe(position);
  expect((await findPrice({})).no_arbitrage).toBeNull();
  await expect(findPrice({ ...terms, cash_rates: { borrowing: 0.04, lending: 0.05 } })).rejects.toThrow(
    'cash_rates.lending is 0.05, more than cash_rates.borrowing, which is 0.04',
  );
  await expect(findPrice({ ...terms, cash_rates: { borrowing: 5, lending: 0.05 } })).rejects.toThrow(
    'cash_rates.borrowing is 5',
  );
});
