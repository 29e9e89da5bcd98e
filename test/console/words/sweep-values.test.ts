import { expect, test } from 'vitest';
import { createCostFigure, describeVariant, formatRuleEnding } from '#console/pages/sweeps/variants.js';

test('the costs of a variant are an amount, with their share of the initial capital', () => {
  expect(createCostFigure(4820.615, { initial_capital: 100_000 })).toMatchObject({
    value: '4,820.62',
    note: '4.82% of the initial capital',
  });
  expect(createCostFigure(4820.615, {})).toMatchObject({ note: '0.48% of the initial capital' });
  expect(createCostFigure(null, {})).not.toHaveProperty('note');
});

test('the description of a variant states its settings of the definition with their units', () => {
  const patch = { '/document/pipeline/weighting/cap': 0.04, '/request/transaction_cost_bps': 10 };
  const labels = () => ({ label: 'Cap of weights', unit: 'fraction' });
  expect(describeVariant('CORE', patch, labels)).toBe('Variant of CORE. Cap of weights: 4%.');
});

test('a rule is named by the catalogue, and by its id if two rules have the same name', () => {
  const specs = [
    { type: 'TopN', label: 'Best by a field' },
    { type: 'Draw', label: 'Random choice' },
  ];
  const [one, two, draw] = [
    { type: 'TopN', id: 'first' },
    { type: 'TopN', id: 'second' },
    { type: 'Draw', id: 'draw' },
  ] as const;
  const formatAll = (...rules: readonly { type: string; id: string }[]) =>
    rules.map((_, i) => formatRuleEnding(rules, i, specs));
  expect(formatAll(one, draw)).toEqual([' · Best by a field', ' · Random choice']);
  expect(formatAll(one, two, draw)).toEqual([' of rule first', ' of rule second', ' · Random choice']);
  expect(formatAll({ type: 'Other', id: 'other' })).toEqual([' of rule other']);
});
