import { expect, test } from 'vitest';
import type { AttributionView, GroupAttributionRow } from '#clients/typescript/divisor.js';
import { createGroupSteps, createSteps } from '#console/pages/index/attribution-steps.js';

test('the steps of an attribution sum to its total, with and without costs', () => {
  const gains = [0.05, 0.04, 0.03, 0.02, 0.01, 0.009, 0.008, 0.002, 0.001, 0.0005];
  const values = [...gains, ...gains.slice(0, 9).map((value) => -value / 2)].toSorted((a, b) => b - a);
  const contributions = values.map((contribution, k) => ({
    asset_id: `A${k}`,
    contribution,
    average_weight: 0.05,
    total_return: contribution / 0.05,
  }));
  const total = values.reduce((sum, value) => sum + value, 0);
  for (const cost_drag of [null, -0.004]) {
    const view = { contributions, total_return: total, cost_drag, overlay_parts: null } as unknown as AttributionView; // no other members are read
    const steps = createSteps(view);
    expect(steps.at(-1)).toMatchObject({ label: 'Total', value: total, isTotal: true });
    expect(steps.slice(0, -1).reduce((sum, { value }) => sum + value, 0)).toBeCloseTo(total, 12);
    // The remaining securities are shown as two steps. In one step their gains and losses would cancel each other out.
    expect(steps.map(({ label }) => label)).toEqual(expect.arrayContaining(['2 other gains', '1 other loss']));
    // The first gain is 0.05 at a weight of 5%; the two other gains have 10% together.
    expect(steps[0]!.cells).toEqual(['5.00%', '+100.00%']);
    expect(steps.find(({ label }) => label === '2 other gains')!.cells).toEqual(['10.00%', '']);
  }
});

test('the steps of the sectors are sorted by contribution and end in the total', () => {
  const groups = [-0.02, 0.05].map(
    (contribution, k) => ({ group: `G${k}`, contribution, average_weight: 0.4 + k / 5 }) as GroupAttributionRow,
  ); // no other members are read
  expect(createGroupSteps(groups, 0.03)).toEqual([
    { label: 'G1', value: 0.05, cells: ['60.00%'] },
    { label: 'G0', value: -0.02, cells: ['40.00%'] },
    { label: 'Total', value: 0.03, isTotal: true, cells: [''] },
  ]);
});
