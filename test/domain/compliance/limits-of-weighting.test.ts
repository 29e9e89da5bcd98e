import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { validateIndex } from '#domain/definition/index-validation.js';
import { buildMarket } from '../backtest/market-builder.js';
import { runOn } from '../backtest/random-run.js';
import { CALENDARS, WEEK } from '../backtest/signed-case.js';

function createBody(pipeline: object, universe: object = { kind: 'all' }) {
  const commonFields = { id: 'X', name: 'X', calendar: 'MAIN', base_date: WEEK[0], universe };
  return { ...commonFields, rebalance: { frequency: 'weekly' }, pipeline };
}

function listWarnings(pipeline: object, universe?: object) {
  const context = { calendars: CALENDARS.list(), indexOf: () => undefined };
  return validateIndex(createBody(pipeline, universe), context).findings.filter(
    ({ code }) => code === 'LIMIT_NOT_KEPT',
  );
}

const createBreachRule = (rule: string) => ({ treatment: { on_breach: 'rebalance', breach_rule: rule } });
const weightCapped = (cap: number | null) => ({ weighting: { type: 'FieldWeight', params: { field: 'CLOSE' }, cap } });
const weightInStages = (above: number, each: number, groupTotal: number) => ({
  weighting: {
    type: 'FieldWeight',
    params: { field: 'CLOSE' },
    cap_by: 'ISSUER',
    ladder_caps: {
      single: { above, to: above },
      group: { each_above: each, together_above: groupTotal, to: groupTotal },
    },
  },
});
const createCappedIndexTerms = (cap: string) => ({
  weighting: { type: 'FieldWeight', params: { field: 'CLOSE' }, cap },
});
const fixWeights = (weights: readonly number[]) => ({
  weighting: {
    type: 'FixedWeight',
    params: { weights: Object.fromEntries(weights.map((each, i) => [`N${i}`, each])) },
  },
});
const selectLargest = (count: number) => ({
  selection: [{ id: 'top', type: 'TopN', params: { field: 'CLOSE', count } }],
  weighting: { type: 'EqualWeight' },
});

describe('a rule of concentration that breaches call rebalances for', () => {
  // Six weights of at most 18 % cover 100 %, so that a cap of 18 % keeps a limit of 18 %.
  test('limits of the index are kept by a cap at their own limit, which a check says', () => {
    const limit = { treatment: { on_breach: 'rebalance', breach_limits: { single: { above: 0.18 } } } };
    expect(listWarnings({ ...weightCapped(0.2), ...limit })[0]!.message).toContain(
      'a cap of at most 18% keeps the rule',
    );
    expect(listWarnings({ ...weightCapped(0.18), ...limit })).toEqual([]);
  });

  // Computed by hand. Eleven weights of 9 % sum to 99 %, and all are above 5 %. Of two weights of 25 %, one too many is
  // above 20 %. The other cases are similar.
  test.each([
    ['UCITS_5_10_40', weightCapped(0.09), ['9%', '99%', '40%', 'at most 5%']],
    ['UCITS_5_10_40', weightCapped(0.12), ['12%', '10%', 'at most 5%']],
    ['UCITS_5_10_40', weightCapped(null), ['without a cap', '100%', 'at most 5%']],
    ['UCITS_20_35', weightCapped(0.25), ['25%', '20%', 'at most 20%']],
    ['RIC_25_5_50', weightCapped(0.1), ['100%', '50%', 'at most 5%']],
    ['SEC_75_5_10', weightCapped(0.06), ['75%', 'at most 5%']],
    ['UCITS_5_10_40', selectLargest(12), ['12 securities', '100%', '40%']],
    // Four weights of 12% each exceed 10%. Five weights of 9% together exceed 40%.
    ['UCITS_5_10_40', weightInStages(0.12, 0.045, 0.36), ['in stages', '12%', '10%']],
    ['UCITS_5_10_40', weightInStages(0.09, 0.045, 0.48), ['in stages', '45%', '40%']],
    ['UCITS_5_10_40', weightInStages(0.09, 0.06, 0.36), ['in stages', '40%']],
    ['UCITS_5_10_40', createCappedIndexTerms('min(0.09, 3 * SHARE)'), ['capped at 9%', '99%']],
    ['UCITS_5_10_40', createCappedIndexTerms('3 * SHARE'), ['without a cap', '100%']],
    ['UCITS_5_10_40', fixWeights([0.3, ...Array<number>(14).fill(0.05)]), ['stated weights', '30%', '10%']],
  ])('%s is not kept by %j, which a check says', (rule, pipeline, words) => {
    const [warning, ...otherWarnings] = listWarnings({ ...pipeline, ...createBreachRule(rule) });
    expect(otherWarnings).toEqual([]);
    expect(warning).toMatchObject({ severity: 'warning' });
    for (const word of words) expect(warning!.message.toLowerCase()).toContain(word.toLowerCase());
  });

  test.each([
    ['UCITS_5_10_40', weightCapped(0.05)],
    ['UCITS_20_35', weightCapped(0.2)],
    ['RIC_25_5_50', weightCapped(0.05)],
    ['SEC_75_5_10', weightCapped(0.05)],
    ['UCITS_5_10_40', selectLargest(20)],
    ['UCITS_5_10_40', weightInStages(0.09, 0.045, 0.36)],
    ['UCITS_5_10_40', createCappedIndexTerms('min(0.05, 3 * SHARE)')],
    // Four stated weights of 10 % and twelve of 5 %: the large ones reach 40 %.
    ['UCITS_5_10_40', fixWeights([...Array<number>(4).fill(0.2), ...Array<number>(12).fill(0.1)])],
  ])('%s is kept by %j', (rule, pipeline) => {
    expect(listWarnings({ ...pipeline, ...createBreachRule(rule) })).toEqual([]);
  });

  test('is not spoken of where no breach calls for anything', () => {
    expect(listWarnings(weightCapped(0.09))).toEqual([]);
  });

  test('is reported by a run whose own weights are beyond it, with how often', () => {
    const names = Array.from({ length: 24 }, (_, i) => `N${String(i).padStart(2, '0')}`);
    // Half of the securities have a hundredth of the weight of the other half. A cap of 9 % binds no small security. A
    // cap of 5 % binds every large one.
    const close = Object.fromEntries(names.map((name, i) => [name, WEEK.map(() => (i < 12 ? 100 : 1))]));
    const market = buildMarket({ dates: WEEK, close });
    const run = (cap: number) =>
      runOn(
        CALENDARS,
        market,
        IndexDocument.parse(createBody({ ...weightCapped(cap), ...createBreachRule('UCITS_5_10_40') })),
        {
          createDecider: indexDecider,
        },
      );
    const matches = run(0.09).findings.filter(({ code }) => code === 'LIMIT_NOT_KEPT');
    expect(matches).toHaveLength(1);
    expect(matches[0]!.count).toBe(run(0.09).index.compositions.list.length);
    // Twelve weights of 100/1212 sum to 99.01 %, which is 59.01 points above 40 %.
    expect(matches[0]!.message).toContain('59.0099 percentage points');
    expect(run(0.05).findings.filter(({ code }) => code === 'LIMIT_NOT_KEPT')).toEqual([]);
  });
});
