import { expect, test } from 'vitest';
import {
  computeOfferChoices,
  computeProForma,
  computeRightsChoices,
  computeScripChoices,
  listOffers,
} from '#domain/books/pro-forma.js';
import { applyToLots } from '#domain/personal/account-backtest.js';
import { createSecurityTerms } from '#domain/market/action-effects.js';
import { parseValidDay } from '#domain/base/time.js';
import type { ActionType, CorporateAction, ReturnVariant } from '#domain/market/market-data.js';

const createAction = (type: ActionType, value: number): CorporateAction => ({
  identifier: 'A',
  type,
  value,
  exDay: parseValidDay('2024-03-01'),
  payDay: null,
  status: 'announced',
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
});
const createPositionBefore = (variant: ReturnVariant = 'price') =>
  ({
    weight: 0.2,
    price: 50,
    variant,
    withheld: 0.25,
    growth: createSecurityTerms(variant, 'USD'),
    treatment: {
      reinvestment: 'constituent',
      special_dividends: 'reinvest',
      splits: 'apply',
      spin_offs: 'zero_price',
      delisting: 'action_value',
    },
  }) as const;

const returnUnknown = () => null;
const UNCHANGED_POSITION = { proceeds: null, received: null };

/** Market value of an index of 4 shares of A at 50 and 8 shares of B at 100. The value is 1000 and the divisor is 1. */
const computeValue = (sharesA: number, priceA: number): number => sharesA * priceA + 800;

test('a special dividend is bought back into the security, and the divisor keeps the level', () => {
  const { weight, shares, divisor } = computeProForma(
    createAction('SPECIAL_DIVIDEND', 5),
    createPositionBefore(),
    returnUnknown,
  );
  // The cash of 20 buys 20 / 45 shares at the price after the dividend. Before the open, the market value of the index
  // falls by 20.
  expect(4 * shares!).toBeCloseTo(4 + 20 / 45, 12);
  expect(computeValue(4, 45) / divisor!).toBeCloseTo(1000, 10);
  expect(weight).toBe(0.2);
});

test('a net dividend that buys the security at the previous close minus the dividend buys more shares than at the close', () => {
  const before = createPositionBefore('net');
  const early = { ...before, growth: { ...before.growth, reinvestedAt: 'previous_close' as const } };
  const dividend = createAction('DIVIDEND', 5);
  // 75 % of 20 buys shares at 45 after the payment, or at 50 - 3.75 before it.
  expect(4 * computeProForma(dividend, before, returnUnknown).shares!).toBeCloseTo(4 + 15 / 45, 12);
  const { weight, shares, divisor } = computeProForma(dividend, early, returnUnknown);
  expect(4 * shares!).toBeCloseTo(4 * (50 / 46.25), 12);
  expect(weight).toBeCloseTo((4 * shares! * 45) / computeValue(4 * shares!, 45), 12);
  // Without the bought shares, the market value is 4 x 45 + 800 = 980.
  expect(divisor! * computeValue(4 * shares!, 45)).toBeCloseTo(980, 10);
});

/**
 * Returns the state of an index before an action. The index adjusts previous closes and reinvests dividends in the
 * whole index.
 */
const createAdjustedBefore = (rights: 'subscribe' | 'price_only', splitShares: 'multiply' | 'keep' = 'multiply') => {
  const { growth, ...rest } = createPositionBefore();
  const terms = { ...growth, reinvestment: 'index', specialDividends: 'adjust', rights, splitShares } as const;
  return { ...rest, growth: terms };
};

test('a special dividend that adjusts the close leaves the shares, and the divisor falls by the paid value', () => {
  // A is worth 4 x 45. The index is worth 980.
  const after = computeProForma(createAction('SPECIAL_DIVIDEND', 5), createAdjustedBefore('price_only'), returnUnknown);
  expect([after.shares, after.divisor]).toEqual([1, expect.closeTo(0.98, 12)]);
  expect(after.weight).toBeCloseTo(180 / 980, 12);
});

test('an ordinary dividend that the whole index reinvests changes neither shares nor divisor', () => {
  const after = computeProForma(createAction('DIVIDEND', 5), createAdjustedBefore('price_only'), returnUnknown);
  expect([after.shares, after.divisor]).toEqual([1, 1]);
  expect(after.weight).toBeCloseTo(180 / 980, 12);
});

test('rights are subscribed for, or change the price alone', () => {
  // Holders may buy one new share for each four at 30. So the price without the right is (50 + 0.25 x 30) / 1.25 = 46.
  const rights = { ...createAction('RIGHTS_ISSUE', 0.25), subscriptionPrice: 30 };
  const proForma = computeProForma(rights, createAdjustedBefore('subscribe'), returnUnknown);
  expect([proForma.shares, proForma.divisor]).toEqual([1.25, expect.closeTo((5 * 46 + 800) / 1000, 12)]);
  expect(proForma.weight).toBeCloseTo(230 / 1030, 12);
  const pricedResult = computeProForma(rights, createAdjustedBefore('price_only'), returnUnknown);
  expect([pricedResult.shares, pricedResult.divisor]).toEqual([1, expect.closeTo((4 * 46 + 800) / 1000, 12)]);
});

test('a split of a price-weighted index leaves its shares', () => {
  const after = computeProForma(createAction('SPLIT', 2), createAdjustedBefore('price_only', 'keep'), returnUnknown);
  expect([after.shares, after.divisor]).toEqual([1, expect.closeTo(0.9, 12)]);
  expect(after.weight).toBeCloseTo(100 / 900, 12);
});

test('an ordinary dividend leaves a price index, and its weight falls by the paid value', () => {
  const { weight, shares, divisor } = computeProForma(
    createAction('DIVIDEND', 5),
    createPositionBefore(),
    returnUnknown,
  );
  expect([shares, divisor]).toEqual([1, 1]);
  expect(weight).toBeCloseTo((4 * 45) / computeValue(4, 45), 12);
  expect(computeProForma(createAction('DIVIDEND', 5), createPositionBefore('total'), returnUnknown).weight).toBe(0.2);
});

test('a net return buys back what a withholding tax of a quarter leaves of a dividend, and its level loses the tax', () => {
  const { weight, shares, divisor } = computeProForma(
    createAction('DIVIDEND', 5),
    createPositionBefore('net'),
    returnUnknown,
  );
  // Of the cash of 20, 15 buy a third of a share at 45. Then A is worth 195 in an index of 995. The level of the index
  // falls by 5.
  expect(4 * shares!).toBeCloseTo(4 + 1 / 3, 12);
  expect(weight).toBeCloseTo(195 / 995, 12);
  expect(computeValue(4, 45) / divisor!).toBeCloseTo(995, 10);
  // A short position pays the whole dividend. In a total return, it does the same.
  const shortPosition = { ...createPositionBefore('net'), weight: -0.2 };
  expect(computeProForma(createAction('DIVIDEND', 5), shortPosition, returnUnknown)).toEqual(
    computeProForma(createAction('DIVIDEND', 5), { ...shortPosition, variant: 'total' }, returnUnknown),
  );
});

test('a spin-off keeps the name as it is and brings shares that weigh nothing yet, unless it is ignored', () => {
  const spinOff = { ...createAction('SPIN_OFF', 0.25), related: 'S' };
  const stays = { weight: 0.2, shares: 1, divisor: 1, proceeds: null };
  const receivedRow = { identifier: 'S', ratio: 0.25, weight: 0 };
  expect(computeProForma(spinOff, createPositionBefore(), returnUnknown)).toEqual({ ...stays, received: receivedRow });
  const { treatment } = createPositionBefore();
  const ignoredPosition = { ...createPositionBefore(), treatment: { ...treatment, spin_offs: 'ignore' as const } };
  expect(computeProForma(spinOff, ignoredPosition, returnUnknown)).toEqual({ ...stays, received: null });
  expect(computeProForma(spinOff, { ...createPositionBefore(), isTotal: true }, returnUnknown)).toEqual({
    ...stays,
    received: null,
  });
});

test('a scrip dividend by hand: 5 in cash or one new share for eight, ex dividend at 45', () => {
  const scrip = { ...createAction('DIVIDEND', 5), scripRatio: 1 / 8 };
  const [cash, shares] = computeScripChoices(scrip, createPositionBefore());
  // The holding is four shares at 45, or four and a half. The other securities are worth 800. Cash is not counted.
  expect(cash).toMatchObject({ choice: 'accept_cash', shares: 1, cash: 5 });
  expect(cash!.weight).toBeCloseTo(180 / 980, 12);
  expect(shares).toMatchObject({ choice: 'accept_shares', shares: 1.125, cash: 0 });
  expect(shares!.weight).toBeCloseTo(202.5 / 1002.5, 12);
  expect(shares!.others).toBeCloseTo(1000 / 1002.5, 12);
  expect(computeScripChoices(createAction('DIVIDEND', 5), createPositionBefore())).toEqual([]);
});

test('a split multiplies only shares, a security that leaves has none, and rights wait for a decision', () => {
  expect(computeProForma(createAction('SPLIT', 4), createPositionBefore(), returnUnknown)).toEqual({
    ...UNCHANGED_POSITION,
    weight: 0.2,
    shares: 4,
    divisor: 1,
  });
  // The four shares yield 240 and leave an index that is worth 1040. So 800 remain invested.
  expect(computeProForma(createAction('ACQUISITION', 60), createPositionBefore(), returnUnknown)).toEqual({
    weight: 0,
    shares: 0,
    divisor: expect.closeTo(800 / 1040, 12),
    proceeds: 60,
    received: null,
  });
  expect(
    computeProForma(createAction('DELISTING', 0), { ...createPositionBefore(), weight: 1 }, returnUnknown).divisor,
  ).toBeNull();
  expect(computeProForma(createAction('RIGHTS_ISSUE', 0.25), createPositionBefore(), returnUnknown).weight).toBeNull();
});

test('of a merger into shares and cash the shares stay and the cash buys all that is held then', () => {
  const mixedMerger = { ...createAction('MERGER', 2), related: 'B', cash: 10 };
  const after = computeProForma(mixedMerger, createPositionBefore(), () => 20 / 50);
  // Four A at 50 become eight B at 20 and 40 in cash, which is 160 and 40. The other securities are worth 800. So 960
  // remain invested.
  expect(after).toMatchObject({ weight: 0, shares: 0, proceeds: 10 });
  expect(after.divisor).toBeCloseTo(960 / 1000, 12);
  expect(after.received).toEqual({ identifier: 'B', ratio: 2, weight: expect.closeTo(160 / 960, 12) });
  const choices = computeOfferChoices(
    { cash: createAction('ACQUISITION', 50), shares: mixedMerger },
    createPositionBefore(),
    () => 20 / 50,
  );
  expect(choices[1]).toMatchObject({ choice: 'accept_shares', cash: 10 });
});

test('the payment for a security that ends: the value of the action, or the last price; in a merger the shares', () => {
  const computePayment = (
    type: ActionType,
    value: number | null,
    delisting: 'action_value' | 'last_price' | 'zero' = 'action_value',
  ) => {
    const { treatment, ...rest } = createPositionBefore();
    return computeProForma(
      value === null ? { ...createAction(type, 0), isUnpriced: true } : createAction(type, value),
      { ...rest, treatment: { ...treatment, delisting } },
      returnUnknown,
    ).proceeds;
  };
  expect([
    computePayment('DELISTING', 40),
    computePayment('DELISTING', 0),
    computePayment('ACQUISITION', 0),
    computePayment('DELISTING', null),
    computePayment('DELISTING', 40, 'last_price'),
  ]).toEqual([40, 0, 0, 50, 50]);
  expect([
    computePayment('DELISTING', null, 'zero'),
    computePayment('ACQUISITION', null, 'zero'),
    computePayment('MERGER', 2),
  ]).toEqual([0, 50, 50]);
  // Two B at 27 replace one A at 50, which is 54 for each 50. A is 20 % of the index.
  const merger = computeProForma({ ...createAction('MERGER', 2), related: 'B' }, createPositionBefore(), () => 27 / 50);
  expect(merger).toMatchObject({
    weight: 0,
    shares: 0,
    divisor: 1,
    proceeds: null,
    received: { identifier: 'B', ratio: 2 },
  });
  expect(merger.received!.weight).toBeCloseTo(0.216 / 1.016, 12);
});

test('rights by hand: one for four at 30 on 50, whose price ex rights is 46', () => {
  const rights = { ...createAction('RIGHTS_ISSUE', 0.25), subscriptionPrice: 30 };
  // The price without the right is (50 + 0.25 * 30) / 1.25 = 46. The right to a quarter of a share is worth 0.25 * (46
  // - 30) = 4, which equals 50 - 46.
  const { weight, shares, divisor } = computeProForma(rights, createPositionBefore(), returnUnknown);
  expect(4 * shares!).toBeCloseTo((4 * 50) / 46, 12);
  // The index pays 30 for a fifth share of A, and its level does not change.
  expect(computeValue(5, 46) / divisor!).toBeCloseTo(1000, 10);
  expect(weight).toBe(0.2);
  const by = Object.fromEntries(computeRightsChoices(rights, createPositionBefore()).map((one) => [one.choice, one]));
  // Each choice changes the four shares: to five after paying 30; to four and 16 in cash; to four plus 16 / 46 of a
  // share; or not at all.
  expect([by['take_up']!.shares, by['take_up']!.cash]).toEqual([1.25, -7.5]);
  expect(by['take_up']!.weight).toBeCloseTo((5 * 46) / computeValue(5, 46), 12);
  expect([by['sell']!.shares, by['sell']!.cash]).toEqual([1, 4]);
  expect(by['sell']!.weight).toBeCloseTo((4 * 46) / computeValue(4, 46), 12);
  expect(4 * by['sell_to_fund']!.shares).toBeCloseTo(4 + 16 / 46, 12);
  expect(by['sell_to_fund']!.weight).toBeCloseTo(0.2, 12);
  expect(by['lapse']).toEqual({ ...by['sell']!, choice: 'lapse', cash: 0 });
  expect(computeRightsChoices(createAction('RIGHTS_ISSUE', 0.25), createPositionBefore())).toEqual([]);
  expect(computeRightsChoices(createAction('SPLIT', 2), createPositionBefore())).toEqual([]);
});

test('an offer by hand: 60 in cash or two of B at 27 for one of A at 50, of 20 % of the index', () => {
  const cash = createAction('ACQUISITION', 60);
  const shares = { ...createAction('MERGER', 2), related: 'B' };
  const offers = listOffers([cash, createAction('SPLIT', 2), shares]);
  expect([offers.get(cash), offers.get(shares)]).toEqual([
    { cash, shares },
    { cash, shares },
  ]);
  expect(listOffers([cash]).size).toBe(0);
  expect(listOffers([cash, { ...shares, exDay: cash.exDay + 1 }]).size).toBe(0);
  const [takenOffer, swappedOffer] = computeOfferChoices(offers.get(cash)!, createPositionBefore(), (name) =>
    name === 'B' ? 27 / 50 : null,
  );
  // The other securities are 80 % of the index. If the holder accepts cash, they are all that is left. Otherwise 4 * 2
  // * 27 / 1000 = 0.216 is in B.
  expect(takenOffer).toEqual({ choice: 'accept_cash', weight: 0, shares: 0, cash: 60, others: 1.25, received: null });
  expect(swappedOffer!.others).toBeCloseTo(1 / 1.016, 12);
  expect(swappedOffer!.received).toEqual({ identifier: 'B', ratio: 2, weight: expect.closeTo(0.216 / 1.016, 12) });
  expect(
    computeOfferChoices(offers.get(cash)!, createPositionBefore(), () => null).map(({ choice }) => choice),
  ).toEqual(['accept_cash']);
});

test('pro forma figures and tax lots receive the same shares of a spin-off, and none that prices contain already', () => {
  const spinOff = { ...createAction('SPIN_OFF', 0.25), related: 'B' };
  const before = createPositionBefore();
  expect(computeProForma(spinOff, before, returnUnknown).received).toEqual({ identifier: 'B', ratio: 0.25, weight: 0 });
  // 8 shares of A at 30 and 2 of B at 40 are worth 240 and 80: a quarter of the cost of 100 belongs to the shares of B.
  const lot = { identifier: 'A', shares: 8, cost: 100, acquired: parseValidDay('2023-01-02') };
  const prices: Readonly<Record<string, number>> = { A: 30, B: 40 };
  const terms = { adjustment: 'none', priceOf: (identifier: string) => prices[identifier]! } as const;
  expect(applyToLots([lot], spinOff, terms).lots).toEqual([
    { ...lot, cost: 75 },
    { ...lot, identifier: 'B', shares: 2, cost: 100 },
  ]);
  for (const received of [
    { ...spinOff, related: null },
    { ...spinOff, value: 0 },
  ]) {
    expect(computeProForma(received, before, returnUnknown).received).toBeNull();
    expect(applyToLots([lot], received, terms).lots).toEqual([lot]);
  }
  expect(computeProForma(spinOff, { ...before, isTotal: true }, returnUnknown).received).toBeNull();
});
