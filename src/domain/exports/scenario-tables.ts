import { count, date, fraction, number, text, type ExportTable } from './export-table.js';

const scenario = text('Name of the scenario.');

/** Tables of the scenarios of a composition. Missing values are null. */
export const SCENARIO_TABLES = {
  scenarios: {
    help: 'One row per scenario.',
    row: 'a scenario',
    columns: {
      scenario,
      return: fraction('Sum of the contributions; null for a window that the data does not cover.'),
      standard_error: fraction('Standard error from the estimate of the slopes; null without factors.'),
      covered_weight: fraction(
        'Absolute weight of the securities with a return in the window, divided by the total absolute weight.',
      ),
      start: date('Close at which the window starts; null for shocks.'),
      end: date('Close at which the window ends.'),
      r_squared: number('R-squared of the regression of the composition on the factors; null without factors.'),
      observations: count('Number of returns in the regression.'),
      finding: text('Remarks, such as dates that the data does not contain; null if there are none.'),
    },
  },
  names: {
    help: 'Contributions by security, beginning with the lowest.',
    row: 'a security in a scenario',
    columns: {
      scenario,
      identifier: text('Identifier of the security.'),
      weight: fraction('Weight on the date.'),
      return: fraction('Return of the security.'),
      contribution: fraction('Weight times return.'),
      standard_error: fraction('Standard error of a response by regression.'),
      proxy: text('Group whose return is used, or all securities; null if the return of the security is used.'),
    },
  },
  groups: {
    help: 'Contributions by group, beginning with the lowest.',
    row: 'a group in a scenario',
    columns: {
      scenario,
      group: text('The group.'),
      weight: fraction('Weight on the date.'),
      contribution: fraction('Sum of the contributions of the securities.'),
    },
  },
  sessions: {
    help: 'The worst sessions of the windows, beginning with the worst.',
    row: 'a session of a scenario',
    columns: { scenario, date: date('Session.'), return: fraction('Return of the composition.') },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type ScenarioTable = keyof typeof SCENARIO_TABLES;
export const SCENARIO_TABLE_NAMES = Object.keys(SCENARIO_TABLES) as [ScenarioTable, ...ScenarioTable[]]; // Object.keys returns plain strings.
