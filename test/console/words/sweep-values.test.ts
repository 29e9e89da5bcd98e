import { expect, test } from 'vitest';
import { createCostFigure } from '#console/pages/sweeps/values.js';

test('the costs of a variant are an amount, with their share of the initial capital', () => {
  expect(createCostFigure(4820.615, { initial_capital: 100_000 })).toMatchObject({
    value: '4,820.62',
    note: '4.82% of the initial capital',
  });
  expect(createCostFigure(4820.615, {})).toMatchObject({ note: '0.48% of the initial capital' });
  expect(createCostFigure(null, {})).not.toHaveProperty('note');
});
