import { expect, test } from 'vitest';
import { parseExpression } from '#domain/datapoints/expression-text.js';
import { expectNear, listWeekdays, runIndexCase } from './index-case.js';

const SESSIONS = 14;
const DAYS = listWeekdays(SESSIONS);
/** First session of the roll from the nearby contract to the next one. */
const ROLL = 4;
/** Production weights: 3 units of corn and 2 of wheat. */
const UNITS = { C1: 3, C2: 3, W1: 2, W2: 2 } as const;
type Contract = keyof typeof UNITS;
const CONTRACTS = Object.keys(UNITS) as Contract[];
const STARTS = { C1: 100, C2: 104, W1: 60, W2: 57 } as const;
const SPEEDS = { C1: 3, C2: 2, W1: 5, W2: 4 } as const;

const close = Object.fromEntries(
  CONTRACTS.map((name) => [
    name,
    Array.from({ length: SESSIONS }, (_, t) => STARTS[name] * (1 + 0.02 * Math.sin(t * SPEEDS[name]) + t / 100)),
  ]),
) as Record<Contract, number[]>;
const isNext = (name: Contract): boolean => name.endsWith('2');

/** Returns the roll weight of a contract after a close: 20 % of the units move at each close of the roll. */
const findRollWeight = (name: Contract, t: number): number => {
  const moved = Math.min(1, Math.max(0, (t - ROLL + 1) / 5));
  return isNext(name) ? moved : 1 - moved;
};
const fillField = (value: (name: Contract, t: number) => number) =>
  Object.fromEntries(CONTRACTS.map((name) => [name, Array.from({ length: SESSIONS }, (_, t) => value(name, t))]));

/**
 * Computes levels by the formula of S&P GSCI: the value of the units at the roll weights of the previous close, over
 * their value at that close.
 */
function computeLevels(): number[] {
  const levels = [100];
  const value = (t: number, held: number): number =>
    CONTRACTS.reduce((sum, name) => sum + UNITS[name] * findRollWeight(name, held) * close[name][t]!, 0);
  for (let t = 1; t < SESSIONS; t++) levels.push((levels[t - 1]! * value(t, t - 1)) / value(t - 1, t - 1));
  return levels;
}

const FIELDS = {
  UNITS: fillField((name) => UNITS[name]),
  // The contracts that are designated from the roll on.
  DESIGNATED: fillField((name, t) => (isNext(name) === t >= ROLL ? 1 : 0)),
  ROLL_WEIGHT: fillField(findRollWeight),
};
const DESIGNATED = [
  { id: 'designated', type: 'FieldFilter', params: { field: 'DESIGNATED', comparison: 'ge', value: 1 } },
];

test('a roll over five closes moves equal units of each contract, at every session as by the published formula', () => {
  const { index } = runIndexCase({
    close,
    fields: FIELDS,
    rebalance: { frequency: 'custom', dates: [DAYS[ROLL]], phase: { sessions: 5 } },
    selection: DESIGNATED,
    weighting: { type: 'PriceWeight', params: { factor_field: 'UNITS' } },
  });
  index.book.value.forEach((level, t) => expectNear(level, computeLevels()[t]!));
});

test('equal value instead of equal units gives another level: both weightings are available', () => {
  const { index } = runIndexCase({
    close,
    fields: FIELDS,
    rebalance: { frequency: 'custom', dates: [DAYS[ROLL]], phase: { sessions: 5 } },
    selection: DESIGNATED,
    weighting: { type: 'FieldWeight', params: { field: parseExpression('CLOSE * UNITS').tree } },
  });
  const expected = computeLevels();
  index.book.value.slice(0, ROLL + 1).forEach((level, t) => expectNear(level, expected[t]!));
  expect(Math.abs(index.book.value.at(-1)! / expected.at(-1)! - 1)).toBeGreaterThan(1e-7);
});

test('roll weights of two contracts as a column give the same levels, reset at every close', () => {
  const { index } = runIndexCase({
    close,
    fields: FIELDS,
    rebalance: { frequency: 'daily' },
    selection: [{ id: 'held', type: 'FieldFilter', params: { field: 'ROLL_WEIGHT', comparison: 'gt', value: 0 } }],
    weighting: { type: 'PriceWeight', params: { factor_field: parseExpression('UNITS * ROLL_WEIGHT').tree } },
  });
  index.book.value.forEach((level, t) => expectNear(level, computeLevels()[t]!));
});

test('a change of the quoted unit is a split: with keep_weight the units follow, and the level does not move', () => {
  // From gallons to barrels of 42 gallons: the price is multiplied by 42, and each unit becomes 1/42.
  const t = 6;
  const quoted = { A: Array.from({ length: SESSIONS }, (_, k) => (2 + k / 50) * (k < t ? 1 : 42)), B: close.W1 };
  const runWith = (splits: string) =>
    runIndexCase({
      close: quoted,
      fields: { UNITS: { A: close.W1.map(() => 420), B: close.W1.map(() => 5) } },
      actions: [{ name: 'A', type: 'SPLIT', value: 1 / 42, ex: DAYS[t]! }],
      weighting: { type: 'PriceWeight', params: { factor_field: 'UNITS', splits } },
    }).index.book.value;
  const value = (k: number): number => 420 * (2 + k / 50) + 5 * close.W1[k]!;
  runWith('keep_weight').forEach((level, k) => expectNear(level, (100 * value(k)) / value(0)));
  // With the default, the units stay and the divisor changes: the level is continuous, and A then has 42 times the weight.
  const kept = runWith('divisor');
  const later = (k: number): number => 420 * 42 * (2 + k / 50) + 5 * close.W1[k]!;
  kept.forEach((level, k) => expectNear(level, k < t ? (100 * value(k)) / value(0) : (kept[t]! * later(k)) / later(t)));
});
