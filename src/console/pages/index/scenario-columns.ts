import type { ScenarioResult } from '#clients/typescript/divisor.js';
import { addSign } from '../../components/signed.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { change, decimal, percent } from '../../words/numbers.js';
import { isObject, type JsonObject } from '../../words/paths.js';

/** Describes a scenario, for example `2020-02-19 to 2020-03-23` or `SECTOR:Energy −20.00%`. */
export function wordsOf({ window, shocks }: JsonObject): string {
  if (isObject(window)) return `${String(window['start'])} to ${String(window['end'])}`;
  return Object.entries(isObject(shocks) ? shocks : {})
    .map(([what, by]) => `${what} ${typeof by === 'number' ? change(by) : String(by)}`)
    .join(', ');
}

/**
 * Returns the columns of the results. A column that is empty for windows or for shocks is omitted if there are no other
 * scenarios.
 */
export function columnsOf(
  asked: readonly JsonObject[],
  results: readonly ScenarioResult[],
): readonly Column<ScenarioResult>[] {
  const terms = new Map(asked.map((scenario) => [String(scenario['name'] ?? ''), wordsOf(scenario)]));
  const isUsed = (column: Column<ScenarioResult>) => results.some((row) => column.value(row) !== null);
  return [
    { id: 'name', title: 'Scenario', width: 170, grow: 1, value: ({ name }) => name },
    ...COLUMNS.filter(isUsed),
    {
      id: 'terms',
      title: 'Terms',
      width: 190,
      grow: 2,
      priority: 3,
      value: ({ name }) => terms.get(name) ?? null,
    },
  ];
}

const COLUMNS: readonly Column<ScenarioResult>[] = [
  numeric({ id: 'return', title: 'Return', width: 90, of: (row) => row.return, write: addSign }),
  numeric({
    id: 'covered',
    title: 'Covered',
    help: 'Weight of securities with their own returns',
    width: 90,
    priority: 3,
    of: (row) => row.covered_weight,
    write: percent,
  }),
  {
    id: 'worst',
    title: 'Worst session',
    width: 170,
    priority: 2,
    below: 'titled',
    value: (row) => row.worst_session?.return ?? null,
    show: ({ worst_session: worst }) => worst && `${change(worst.return)} on ${worst.date}`,
  },
  numeric({
    id: 'fit',
    title: 'R²',
    help: 'Of the regression on what is shocked',
    width: 72,
    priority: 4,
    of: (row) => row.r_squared,
    write: decimal,
  }),
];
