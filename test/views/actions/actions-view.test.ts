import { expect, test } from 'vitest';
import { createRunColumns } from '#domain/backtest/run-file/columns.js';
import { openMarketOn } from '#domain/market/session-market.js';
import { createExchangeRates } from '#domain/market/rates.js';
import { createActionsView, createProFormaRows, readHoldingsAtEnd } from '#views/actions.js';
import { createIndexLevels } from '#views/levels.js';
import { exportEvents } from '../../domain/backtest/exported-events.js';
import { openExtended } from '../../domain/backtest/extend/extended.js';
import { CONSTITUENT } from '../../domain/backtest/event-case.js';
import { type ActionSketch, buildMarket } from '../../domain/backtest/market-builder.js';
import { runOn } from '../../domain/backtest/random-run.js';
import { createOverlayIndex } from '../../domain/overlays/overlay-case.js';
import { calendars, createDocument, DATES, showWholeIndexUntil } from './index-case.js';

/**
 * Returns the only action of a run that ends before or after its ex-date. A is at 50 before the action and moves only
 * because of it. B is constant.
 */
function showActionUntil(
  rows: number,
  action: Omit<ActionSketch, 'name' | 'ex'>,
  { after, treatment = {} }: { readonly after: number; readonly treatment?: object },
) {
  const dates = DATES.slice(0, rows);
  const close = { A: [50, 50, after, after].slice(0, rows), B: [100, 100, 100, 100].slice(0, rows) };
  const actions = [{ name: 'A', ex: DATES[2]!, ...action }];
  const market = buildMarket({ dates, close, actions });
  const document = createDocument(DATES[0]!, treatment);
  const columns = openExtended(createRunColumns(runOn(calendars, market, document), { contentHash: 's' }));
  const sm = openMarketOn({ market, calendars, code: 'MAIN' });
  const { actions: shown } = createActionsView(columns, {
    sm,
    rates: createExchangeRates(sm, 'USD'),
    from: null,
    to: null,
  });
  expect(shown).toHaveLength(1);
  return shown[0]!;
}

test.each([
  ['rights, one for four at 30', { type: 'RIGHTS_ISSUE', value: 0.25, subscription: 30 }, 46, {}],
  ['a special dividend of 5', { type: 'SPECIAL_DIVIDEND', value: 5 }, 45, {}],
  ['the same bought back', { type: 'SPECIAL_DIVIDEND', value: 5 }, 45, { special_dividends: 'constituent' }],
  ['the same, all bought back', { type: 'SPECIAL_DIVIDEND', value: 5 }, 45, CONSTITUENT],
  ['rights taken up', { type: 'RIGHTS_ISSUE', value: 0.25, subscription: 30 }, 46, { rights: 'subscribe' }],
  [
    'rights of the constituent with dividends of the index',
    { type: 'RIGHTS_ISSUE', value: 0.25, subscription: 30 },
    46,
    { rights: 'constituent' },
  ],
  ['rights of the constituent', { type: 'RIGHTS_ISSUE', value: 0.25, subscription: 30 }, 46, CONSTITUENT],
  ['a dividend bought back', { type: 'DIVIDEND', value: 2 }, 48, { ...CONSTITUENT, dividends: 'total' }],
  ['a split, four for one', { type: 'SPLIT', value: 4 }, 12.5, {}],
  ['an ordinary dividend of 2', { type: 'DIVIDEND', value: 2 }, 48, {}],
  ['the same reinvested net', { type: 'DIVIDEND', value: 2 }, 48, { dividends: 'net', withholding_tax: 0.3 }],
  ['the same reinvested', { type: 'DIVIDEND', value: 2 }, 48, { dividends: 'total' }],
  ['a scrip dividend, taken in cash', { type: 'DIVIDEND', value: 2, scrip: 0.05, byDefault: 'shares' }, 48, {}],
] as const)('%s: the forecast before it equals the result of the run after it', (_, action, after, treatment) => {
  const forecast = showActionUntil(2, action, { after, treatment });
  const settledAction = showActionUntil(4, action, { after, treatment });
  expect([forecast.state, settledAction.state]).toEqual(['coming', 'effective']);
  for (const figure of ['weight_before', 'shares_before', 'weight_after', 'shares_after'] as const)
    expect([figure, forecast[figure]! / settledAction[figure]!]).toEqual([figure, expect.closeTo(1, 10)]);
  expect(forecast.divisor_after! / forecast.divisor_before!).toBeCloseTo(
    settledAction.divisor_after! / settledAction.divisor_before!,
    10,
  );
  expect(settledAction.choices).toEqual([]);
});

test('a dividend states the part of the level that the total and the net return reinvest, before and after it', () => {
  const terms = { after: 48, treatment: { dividends: 'price', withholding_tax: 0.3 } };
  for (const shown of [2, 4].map((rows) => showActionUntil(rows, { type: 'DIVIDEND', value: 2 }, terms))) {
    expect(shown.dividend_return).toBeCloseTo(0.5 * (2 / 50), 12); // A has half of the index and a price of 50.
    expect(shown.net_dividend_return).toBeCloseTo(0.5 * (2 / 50) * 0.7, 12);
  }
  expect(showActionUntil(4, { type: 'SPECIAL_DIVIDEND', value: 2 }, terms).dividend_return).toBeNull();
});

test.each([
  ['an acquisition for 60', [{ name: 'A', ex: DATES[2]!, type: 'ACQUISITION' as const, value: 60 }], [50, 50, 50]],
  [
    'a delisting without a value',
    [{ name: 'A', ex: DATES[2]!, type: 'DELISTING' as const, value: 0, isUnpriced: true as const }],
    [50, 50, 50],
  ],
  [
    'a merger, two shares of C for one',
    [{ name: 'A', ex: DATES[2]!, type: 'MERGER' as const, value: 2, related: 'C' }],
    [50, 50, 50],
  ],
  [
    'a merger, one share of C and 20 in cash for one',
    [{ name: 'A', ex: DATES[2]!, type: 'MERGER' as const, value: 1, cash: 20, related: 'C' }],
    [50, 50, 50],
  ],
  [
    'a dividend of 0.5 on shares that are split four for one on the same day',
    [
      { name: 'A', ex: DATES[2]!, type: 'SPLIT' as const, value: 4 },
      { name: 'A', ex: DATES[2]!, type: 'DIVIDEND' as const, value: 0.5 },
    ],
    [50, 50, 12],
  ],
])('the forecast of the whole index after %s equals that of the run', (_, actions, price) => {
  const close = { A: price, B: [100, 100, 100], C: [20, 20, 20] };
  const forecast = showWholeIndexUntil(2, close, actions);
  const settledIndex = showWholeIndexUntil(3, close, actions);
  const action = forecast.shown.at(-1)!;
  const rows = createProFormaRows([forecast.shown.find(({ type }) => type !== 'SPLIT')!], forecast.index);
  for (const { constituent, weight_after, shares_after } of rows) {
    const position = settledIndex.held.find(({ identifier }) => identifier === constituent) ?? { weight: 0, shares: 0 };
    expect([constituent, weight_after]).toEqual([constituent, expect.closeTo(position.weight, 12)]);
    // If a security also splits on the day of the dividend, the forecast for the dividend does not include the split.
    const split = actions.length === 2 && constituent === 'A' ? 4 : 1;
    expect([constituent, shares_after! * split]).toEqual([constituent, expect.closeTo(position.shares, 9)]);
  }
  expect(action.value).toBe(actions[0]!.value === 0 ? null : action.value);
  if (actions.length === 1) expect(action.divisor_after).toBeCloseTo(settledIndex.shown.at(-1)!.divisor_after!, 9);
});

test.each([
  ['an acquisition for 60', { type: 'ACQUISITION', value: 60 }, {}, 60],
  ['an acquisition without a price', { type: 'ACQUISITION', value: 0, isUnpriced: true }, {}, 48],
  ['a delisting written off', { type: 'DELISTING', value: 0 }, {}, 0],
  [
    'a delisting for 3 that is taken at the last price',
    { type: 'DELISTING', value: 3 },
    { delisting: 'last_price' },
    48,
  ],
] as const)('%s that is past has the proceeds that the run took', (_, action, treatment, proceeds) => {
  const shownAction = showActionUntil(3, action, { after: 48, treatment });
  expect([shownAction.state, shownAction.proceeds, shownAction.received]).toEqual(['effective', proceeds, null]);
  // The holding of A becomes B. Both levels follow from the shares: 1 share of A for the base of 100, and B.
  const a = (100 * 0.5) / 50;
  expect(shownAction.shares_before).toBeCloseTo(a, 12);
});

test('a past merger has the shares of the run, their weight, and the split and dividend of the day', () => {
  const close = { A: [50, 50, 12], B: [100, 100, 100], C: [20, 20, 25] };
  const ex = DATES[2]!;
  const { shown, held } = showWholeIndexUntil(3, close, [
    { name: 'A', ex, type: 'SPLIT', value: 4 },
    { name: 'A', ex, type: 'MERGER', value: 0.5, related: 'C' },
  ]);
  const merger = shown.find(({ type }) => type === 'MERGER')!;
  // Each security has a third of 100. That is 2/3 shares of A, four times as many after the split, then half as many of
  // C, at 25.
  const value = (100 / 3 / 50) * 4 * 0.5 * 25;
  const otherValue = 100 / 3 + ((100 / 3) * 25) / 20;
  expect(merger.proceeds).toBe(null);
  expect(merger.received).toMatchObject({ identifier: 'C', ratio: 2 });
  expect(merger.received!.weight).toBeCloseTo(value / (value + otherValue), 12);
  const c = held.find(({ identifier }) => identifier === 'C')!;
  expect(c.weight).toBeCloseTo((value + ((100 / 3) * 25) / 20) / (value + otherValue), 12);
});

test('a past merger into shares and cash has both as in the run', () => {
  const close = { A: [50, 50, 50], B: [100, 100, 100], C: [20, 20, 25] };
  const { shown } = showWholeIndexUntil(3, close, [
    { name: 'A', ex: DATES[2]!, type: 'MERGER', value: 2, cash: 5, related: 'C' },
  ]);
  const merger = shown.find(({ type }) => type === 'MERGER')!;
  // 2/3 shares of A become 4/3 of C at 25, and 10/3 in cash. The cash is not part of the market value but changes the
  // divisor.
  const value = (100 / 3) * (50 / 50 + 1 + 25 / 20);
  expect(merger).toMatchObject({ cash: 5, proceeds: 5, received: { identifier: 'C', ratio: 2 } });
  expect(merger.received!.weight).toBeCloseTo(((4 / 3) * 25) / value, 12);
});

test('of a past offer of cash or shares only the side in the run states its amount', () => {
  const close = { A: [50, 50, 50], B: [100, 100, 100], C: [20, 20, 20] };
  const ex = DATES[2]!;
  const { shown } = showWholeIndexUntil(3, close, [
    { name: 'A', ex, type: 'ACQUISITION', value: 55 },
    { name: 'A', ex, type: 'MERGER', value: 2.5, related: 'C' },
  ]);
  const by = Object.fromEntries(shown.map((row) => [row.type, row]));
  expect([by['ACQUISITION']!.proceeds, by['ACQUISITION']!.received]).toEqual([null, null]);
  expect(by['MERGER']!.received).toMatchObject({ identifier: 'C', ratio: 2.5 });
});

test('of rights that await a decision the self-financing choice applies to levels, and exercising them costs the subscription', () => {
  const { awaits_decision, choices, shares_before, shares_after, weight_after } = showActionUntil(
    2,
    { type: 'RIGHTS_ISSUE', value: 0.25, subscription: 30 },
    { after: 46, treatment: CONSTITUENT },
  );
  expect(awaits_decision).toBe(true);
  const by = Object.fromEntries(choices.map((one) => [one.choice, one]));
  expect(by['sell_to_fund']!.shares_after).toBeCloseTo(shares_after!, 10);
  expect(by['sell_to_fund']!.weight_after).toBeCloseTo(weight_after!, 12);
  expect(by['take_up']!.shares_after).toBeCloseTo(1.25 * shares_before, 12);
  expect(by['take_up']!.cash).toBe(-7.5);
});

test('a scrip dividend awaits a decision up to its election date, also after its ex-date', () => {
  const scrip = { type: 'DIVIDEND', value: 2, scrip: 0.05, byDefault: 'cash' } as const;
  const showUntil = (rows: number, election?: string) =>
    showActionUntil(rows, { ...scrip, ...(election ? { election } : {}) }, { after: 48 });
  expect([showUntil(2), showUntil(3)].map(({ awaits_decision: awaits }) => awaits)).toEqual([true, false]);
  const [aheadView, openView, closedView] = [showUntil(2, DATES[2]), showUntil(3, DATES[2]), showUntil(4, DATES[2])];
  expect([aheadView, openView, closedView].map(({ awaits_decision: awaits }) => awaits)).toEqual([true, true, false]);
  expect(closedView.choices).toEqual([]);
  expect(openView).toMatchObject({ state: 'effective', election_date: DATES[2], election_default: 'cash' });
  // If it is paid in shares, the dividend is a stock dividend of one for twenty. The price includes the cash.
  const stock = showActionUntil(4, { type: 'STOCK_DIVIDEND', value: 1.05 }, { after: 48 });
  for (const { choices, shares_before: held } of [aheadView, openView]) {
    const shares = choices.find(({ choice }) => choice === 'accept_shares')!;
    expect(shares.weight_after).toBeCloseTo(stock.weight_after!, 12);
    expect(shares.shares_after / held).toBeCloseTo(1.05, 12);
    expect(choices.find(({ choice }) => choice === 'accept_cash')).toMatchObject({ cash: 2, received: null });
  }
});

test('the whole index after an offer of cash or shares, by election: by hand, of three securities at a third each', () => {
  const dates = DATES.slice(0, 2);
  const close = { A: [50, 50], B: [100, 100], C: [20, 20] };
  const actions = [
    { name: 'A', ex: DATES[2]!, type: 'ACQUISITION' as const, value: 60 },
    { name: 'A', ex: DATES[2]!, type: 'MERGER' as const, value: 2, related: 'C' },
  ];
  const market = buildMarket({ dates, close, actions });
  const columns = openExtended(
    createRunColumns(runOn(calendars, market, createDocument(DATES[0]!)), { contentHash: 's' }),
  );
  const sm = openMarketOn({ market, calendars, code: 'MAIN' });
  const terms = { sm, rates: createExchangeRates(sm, 'USD') };
  const view = createActionsView(columns, { ...terms, from: null, to: null });
  expect(view.actions.map(({ awaits_decision, choices }) => [awaits_decision, choices.length])).toEqual([
    [true, 2],
    [true, 2],
  ]);
  // Both actions of the offer have both choices. Each choice of the three securities appears once.
  const rows = createProFormaRows(view.actions, readHoldingsAtEnd(columns, terms));
  expect(rows).toHaveLength(6);
  const listChoice = (choice: string) =>
    Object.fromEntries(rows.filter((row) => row.choice === choice).map((row) => [row.constituent, row]));
  const [cash, shares] = [listChoice('accept_cash'), listChoice('accept_shares')];
  expect([cash['A']!.weight_after, shares['A']!.weight_after]).toEqual([0, 0]);
  for (const name of ['B', 'C']) expect(cash[name]!.weight_after).toBeCloseTo(0.5, 12);
  // Two C at 20 replace one A at 50. So A becomes 0.8 of its third, and the index is worth 2.8 thirds.
  expect(shares['B']!.weight_after).toBeCloseTo(1 / 2.8, 12);
  expect(shares['C']!.weight_after).toBeCloseTo(1.8 / 2.8, 12);
  expect(shares['C']!.shares_after).toBeCloseTo(shares['C']!.shares_before + 2 * shares['A']!.shares_before, 12);
  expect(shares['B']!.shares_after).toBe(shares['B']!.shares_before);
});

test('a security that leaves without an action is reported with its last price when it leaves', () => {
  const dates = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09', '2024-01-10'];
  const repeatClose = (close: number) => dates.map(() => close);
  const market = buildMarket({
    dates,
    close: { A: [50, 52, ...dates.slice(2).map(() => null)], B: repeatClose(100), C: repeatClose(20) },
  });
  const document = createDocument(dates[0]!);
  const treatment = { ...document.pipeline!.treatment, max_stale_sessions: 3 };
  const staleDocument = { ...document, pipeline: { ...document.pipeline!, treatment } };
  const columns = openExtended(createRunColumns(runOn(calendars, market, staleDocument), { contentHash: 's' }));
  const sm = openMarketOn({ market, calendars, code: 'MAIN' });
  const { actions } = createActionsView(columns, { sm, rates: createExchangeRates(sm, 'USD'), from: null, to: null });
  expect(actions).toHaveLength(1);
  // The 8th is the third session without a price.
  expect(actions[0]).toMatchObject({ ex_date: '2024-01-08', identifier: 'A', type: 'SILENT_DELISTING', value: 52 });
  expect(actions[0]!.weight_before).toBeCloseTo(52 / 50 / (52 / 50 + 2), 12);
  expect([actions[0]!.weight_after, actions[0]!.shares_after, actions[0]!.state]).toEqual([0, 0, 'effective']);
});

test('the divisor of an overlay is 1 before and after every action, past and coming, and no event changes it', () => {
  const close = { A: [50, 49, 48], B: [100, 101, 100] };
  const dividend = { name: 'A', type: 'SPECIAL_DIVIDEND' as const, value: 2 };
  const rights = { name: 'B', type: 'RIGHTS_ISSUE' as const, value: 0.25, subscription: 30 };
  const actions = [
    { ...dividend, ex: DATES[1]! },
    { ...rights, ex: DATES[2]! },
    { ...dividend, ex: DATES[3]! },
    { ...rights, ex: DATES[3]! },
  ];
  const market = buildMarket({ dates: DATES.slice(0, 3), close, actions });
  const document = createOverlayIndex({ type: 'leverage', factor: 2 }, { base_date: DATES[0] });
  const columns = openExtended(
    createRunColumns(runOn(calendars, market, document, { documents: { X: createDocument(DATES[0]!) } }), {
      contentHash: 's',
    }),
  );
  const sm = openMarketOn({ market, calendars, code: 'MAIN' });
  const { actions: shown } = createActionsView(columns, {
    sm,
    rates: createExchangeRates(sm, 'USD'),
    from: null,
    to: null,
  });
  expect(shown.map(({ state }) => state)).toEqual(['effective', 'effective', 'coming', 'coming']);
  const { divisor } = createIndexLevels(columns, { variant: 'price', start: null, end: null });
  expect([...divisor]).toEqual([1, 1, 1]);
  for (const { divisor_before, divisor_after } of shown) expect([divisor_before, divisor_after]).toEqual([1, 1]);
  const events = exportEvents(columns);
  expect(events.map(({ type }) => type)).toEqual(['special_dividend', 'rights']);
  for (const event of events) expect(event).toMatchObject({ effect: 0, divisor_before: 1, divisor_after: 1 });
});

test('a spin-off has the shares of the spun-off security, before and after, and a separate row in the whole index', () => {
  const close = { A: [50, 50, 46, 46], B: [100, 100, 100, 100], S: [null, null, null, 16] };
  const actions = [{ name: 'A', ex: DATES[2]!, type: 'SPIN_OFF' as const, value: 0.25, related: 'S' }];
  const forecast = showWholeIndexUntil(2, close, actions);
  // At a base of 100, one share of A is held. It yields 0.25 shares of S.
  expect(forecast.shown[0]).toMatchObject({ state: 'coming', received: { identifier: 'S', ratio: 0.25, weight: 0 } });
  const rows = createProFormaRows(forecast.shown, forecast.index);
  expect(rows.map(({ constituent }) => constituent)).toEqual(['A', 'B', 'S']);
  expect(rows[2]).toMatchObject({ weight_before: 0, weight_after: 0, shares_before: 0, shares_after: 0.25 });
  expect(rows.slice(0, 2).map(({ weight_after, shares_after }) => [weight_after, shares_after])).toEqual(
    forecast.held.map(({ weight, shares }) => [weight, shares]),
  );
  const settledIndex = showWholeIndexUntil(4, close, actions);
  expect(settledIndex.shown[0]).toMatchObject({
    state: 'effective',
    received: { identifier: 'S', ratio: 0.25, weight: 0 },
  });
  expect(settledIndex.held.find(({ identifier }) => identifier === 'S')!.shares).toBeCloseTo(0.25, 12);
  // If a security has a price by the close of the day, this price determines its weight: 4 of a level of 46 + 50 + 4.
  const tradedIndex = showWholeIndexUntil(3, { ...close, S: [null, null, 16, 16] }, actions);
  expect(tradedIndex.shown[0]!.received!.weight).toBeCloseTo(0.04, 12);
});
