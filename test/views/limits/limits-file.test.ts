import { expect, test } from 'vitest';
import { createLimitsFile } from '#views/exports/view-files.js';

const view = {
  index_id: 'X',
  state: {
    dates: ['2024-01-02', '2024-01-03'],
    headroom: [0.02, -0.01],
    nearest: ['A', null],
    move: [0.25, null],
  },
  rows: [
    {
      row: '=cap',
      side: 'upper' as const,
      unit: 'fraction' as const,
      breached_sessions: 1,
      least: { date: '2024-01-03', value: 0.11, limit: 0.1 },
      latest: { date: '2024-01-03', value: 0.11, limit: 0.1 },
    },
  ],
  breaches: [
    {
      row: '=cap',
      begin: '2024-01-03',
      end: null,
      cause: 'price' as const,
      worst: { date: '2024-01-03', value: 0.11, limit: 0.1 },
    },
  ],
};

test.each([
  ['state', ['date,headroom,nearest,move', '2024-01-02,0.02,A,0.25', '2024-01-03,-0.01,,']],
  [
    'rows',
    [
      'row,side,unit,breached_sessions,least_date,least_value,least_limit',
      `"'=cap",upper,fraction,1,2024-01-03,0.11,0.1`,
    ],
  ],
  ['breaches', ['row,begin,end,cause,worst_date,worst_value,limit', `"'=cap",2024-01-03,,price,2024-01-03,0.11,0.1`]],
] as const)('limits as CSV have the answer row by row: %s', async (table, lines) => {
  const bytes = await createLimitsFile(view, table, 'csv');
  expect(new TextDecoder().decode(bytes).trimEnd().split('\r\n')).toEqual(lines);
});

test.each(['xlsx', 'arrow'] as const)('limits without a breach are a file as well: %s', async (format) => {
  expect((await createLimitsFile({ ...view, breaches: [] }, 'breaches', format)).length).toBeGreaterThan(100);
});
