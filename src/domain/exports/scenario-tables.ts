import { count, date, fraction, number, text, type ExportTable } from './export-table.js';

const scenario = text('Name of the scenario.');

/** Scenarios of a composition as tables. What is missing is null. */
export const SCENARIO_TABLES = {
  scenarios: {
    help: 'Each scenario as a whole.',
    row: 'a scenario',
    columns: {
      scenario,
      return: fraction('Sum of the contributions; null of a window that the store does not cover.'),
      standard_error: fraction('What the estimate of the slopes leaves open; null without factors.'),
      covered_weight: fraction('Magnitude of the weights with a return of their own, over that of all.'),
      start: date('Close from which a window earns; null of shocks.'),
      end: date('Close up to which it does.'),
      r_squared: number('Of the regression of the composition on the factors; null without factors.'),
      observations: count('Returns in it.'),
      finding: text(
        'What there is to say about it, as dates that the store does not hold; null where there is nothing.',
      ),
    },
  },
  names: {
    help: 'Contributions by name, the worst first.',
    row: 'a name in a scenario',
    columns: {
      scenario,
      identifier: text('The name.'),
      weight: fraction('Held on the date.'),
      return: fraction('Of the name.'),
      contribution: fraction('Weight times return.'),
      standard_error: fraction('Of a response by regression.'),
      proxy: text('Group whose return it takes, or all names; null of its own.'),
    },
  },
  groups: {
    help: 'Contributions by group, the worst first.',
    row: 'a group in a scenario',
    columns: {
      scenario,
      group: text('The group.'),
      weight: fraction('Held on the date.'),
      contribution: fraction('Sum over its names.'),
    },
  },
  sessions: {
    help: 'The worst sessions of windows, the worst first.',
    row: 'a session of a scenario',
    columns: { scenario, date: date('Session.'), return: fraction('Of the composition.') },
  },
} as const satisfies Readonly<Record<string, ExportTable>>;

export type ScenarioTable = keyof typeof SCENARIO_TABLES;
export const SCENARIO_TABLE_NAMES = Object.keys(SCENARIO_TABLES) as [ScenarioTable, ...ScenarioTable[]]; // Object.keys returns plain strings.
