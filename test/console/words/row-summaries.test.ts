import { expect, test } from 'vitest';
import { formatSummary } from '#console/words/form-fields.js';

test('a folded row states its parameters by their labels, and objects without JSON', () => {
  const parameters = [
    { name: 'max_weight', label: 'Maximum weight' },
    { name: 'adv_share', label: 'ADV share' },
    { name: 'bounds', label: 'Bounds' },
  ];
  const params = { max_weight: 0.1, adv_share: 0.2, soft: null, bounds: [{ group: 'Energy', lower_bound: 0.05 }] };
  expect(formatSummary({ params }, parameters)).toBe(
    'maximum weight 0.1, ADV share 0.2, bounds group Energy lower bound 0.05',
  );
  const field = { node: 'field', name: 'MARKET_CAP' };
  expect(formatSummary({ params: { by: field, is_net: true } }, [])).toBe('by MARKET_CAP, is net yes');
});
