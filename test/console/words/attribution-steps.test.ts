import { expect, test } from 'vitest';
import type { AttributionView } from '#clients/typescript/divisor.js';
import { stepsOf } from '#console/pages/index/attribution-steps.js';

test('the steps of an attribution sum to its total, with and without costs', () => {
  const values = [0.05, 0.04, 0.03, 0.02, 0.01, 0.009, 0.008, 0.002, -0.001, -0.02];
  const contributions = values.map((contribution, k) => ({ asset_id: `A${k}`, contribution }));
  const total = values.reduce((sum, value) => sum + value, 0);
  for (const cost_drag of [null, -0.004]) {
    const view = { contributions, total_return: total, cost_drag, overlay_parts: null } as unknown as AttributionView; // no other members are read
    const steps = stepsOf(view);
    expect(steps.at(-1)).toMatchObject({ label: 'total', value: total, isTotal: true });
    expect(steps.slice(0, -1).reduce((sum, { value }) => sum + value, 0)).toBeCloseTo(total, 12);
    expect(steps.map(({ label }) => label)).toContain('2 others');
  }
});
