import { expect, test } from 'vitest';
import { SCENARIO_TABLE_NAMES } from '#domain/outputs/exports.js';
import { createScenariosFile, type ListedScenarios } from '#views/exports/view-files.js';

const shownScenarios: ListedScenarios = {
  index_id: 'X',
  as_of: '2024-01-05',
  by: 'SECTOR',
  scenarios: [
    {
      name: 'Spring',
      return: -0.05,
      by_name: [
        { identifier: 'B', weight: 0.5, return: -0.2, contribution: -0.1, standard_error: null },
        { identifier: 'A', weight: 0.5, return: 0.1, contribution: 0.05, standard_error: null },
      ],
      by_group: [{ group: 'Y', weight: 1, contribution: -0.05 }],
      covered_weight: 0.5,
      proxied: [{ identifier: 'B', proxy: 'Y' }],
      window: { start: '2020-02-19', end: '2020-03-23' },
      worst_session: { date: '2020-03-16', return: -0.09 },
      worst_sessions: [
        { date: '2020-03-16', return: -0.09 },
        { date: '2020-03-12', return: -0.08 },
      ],
      r_squared: null,
      observations: null,
      standard_error: null,
    },
    {
      name: 'Oil',
      return: 0.01,
      by_name: [{ identifier: 'A', weight: 0.5, return: 0.02, contribution: 0.01, standard_error: 0.004 }],
      by_group: [],
      covered_weight: 1,
      proxied: [],
      window: null,
      worst_session: null,
      worst_sessions: [],
      r_squared: 0.3,
      observations: 504,
      standard_error: 0.002,
    },
    {
      name: 'Long ago',
      return: null,
      by_name: [],
      by_group: [],
      covered_weight: 0,
      proxied: [],
      window: null,
      worst_session: null,
      worst_sessions: [],
      r_squared: null,
      observations: null,
      standard_error: null,
    },
  ],
  findings: [{ severity: 'warning', code: 'NO_DATA_IN_RANGE', message: 'Not held.', path: 'scenarios[2].window' }],
};

test.each([
  [
    'scenarios',
    [
      'scenario,return,standard_error,covered_weight,start,end,r_squared,observations,finding',
      'Spring,-0.05,,0.5,2020-02-19,2020-03-23,,,',
      'Oil,0.01,0.002,1,,,0.3,504,',
      'Long ago,,,0,,,,,Not held.',
    ],
  ],
  [
    'names',
    [
      'scenario,identifier,weight,return,contribution,standard_error,proxy',
      'Spring,B,0.5,-0.2,-0.1,,Y',
      'Spring,A,0.5,0.1,0.05,,',
      'Oil,A,0.5,0.02,0.01,0.004,',
    ],
  ],
  ['groups', ['scenario,group,weight,contribution', 'Spring,Y,1,-0.05']],
  ['sessions', ['scenario,date,return', 'Spring,2020-03-16,-0.09', 'Spring,2020-03-12,-0.08']],
] as const)('scenarios as CSV have the answer row by row: %s', async (table, lines) => {
  const bytes = await createScenariosFile(shownScenarios, table, 'csv');
  expect(new TextDecoder().decode(bytes).trimEnd().split('\r\n')).toEqual(lines);
});

test.each(SCENARIO_TABLE_NAMES)('every table is an Arrow stream and a workbook: %s', async (table) => {
  for (const format of ['arrow', 'xlsx'] as const)
    expect((await createScenariosFile(shownScenarios, table, format)).length).toBeGreaterThan(100);
});
