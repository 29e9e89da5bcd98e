import {
  countColumn,
  createDateColumn,
  createFractionColumn,
  createNumberColumn,
  createTextColumn,
  type ExportTable,
} from './export-table.js';

const scenario = createTextColumn('Name of the scenario.');

/** Tables of the scenarios of a composition. Missing values are null. */
export const SCENARIO_TABLES = {
  scenarios: {
    help: 'One row per scenario.',
    row: 'a scenario',
    columns: {
      scenario,
      return: createFractionColumn('Sum of the contributions; null for a window that the data does not cover.'),
      standard_error: createFractionColumn('Standard error from the estimate of the slopes; null without factors.'),
      covered_weight: createFractionColumn(
        'Absolute weight of the securities with a return in the window, divided by the total absolute weight.',
      ),
      start: createDateColumn('Close at which the window starts; null for shocks.'),
      end: createDateColumn('Close at which the window ends.'),
      r_squared: createNumberColumn(
        'R-squared of the regression of the composition on the factors; null without factors.',
      ),
      observations: countColumn('Number of returns in the regression.'),
      finding: createTextColumn('Remarks, such as dates that the data does not contain; null if there are none.'),
    },
  },
  names: {
    help: 'Contributions by security, beginning with the lowest.',
    row: 'a security in a scenario',
    columns: {
      scenario,
      identifier: createTextColumn('Identifier of the security.'),
      weight: createFractionColumn('Weight on the date.'),
      return: createFractionColumn('Return of the security.'),
      contribution: createFractionColumn('Weight times return.'),
      standard_error: createFractionColumn('Standard error of a response by regression.'),
      proxy: createTextColumn(
        'Group whose return is used, or all securities; null if the return of the security is used.',
      ),
    },
  },
  groups: {
    help: 'Contributions by group, beginning with the lowest.',
    row: 'a group in a scenario',
    columns: {
      scenario,
      group: createTextColumn('The group.'),
      weight: createFractionColumn('Weight on the date.'),
      contribution: createFractionColumn('Sum of the contributions of the securities.'),
    },
  },
  sessions: {
    help: 'The worst sessions of the windows, beginning with the worst.',
    row: 'a session of a scenario',
    columns: {
      scenario,
      date: createDateColumn('Session.'),
      return: createFractionColumn('Return of the composition.'),
    },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type ScenarioTable = keyof typeof SCENARIO_TABLES;
export const SCENARIO_TABLE_NAMES = Object.keys(SCENARIO_TABLES) as [ScenarioTable, ...ScenarioTable[]]; // Object.keys returns plain strings.
