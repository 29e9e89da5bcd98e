import { createStoredList } from '../../state/stored-list.js';
import type { JsonObject } from '../../words/paths.js';

/** Return of the group that is shocked, as a fraction. The other groups respond to it. */
const DEFAULT_SHOCK = -0.2;

/** Returns shock scenarios, one for each group of a column. */
export const listShocks = (column: string, groups: readonly string[]): readonly JsonObject[] =>
  groups.map((group) => ({
    name: `${group} ${100 * DEFAULT_SHOCK}%`.replace('-', '\u2212'),
    shocks: { [`${column}:${group}`]: DEFAULT_SHOCK },
  }));

const SAVED_SCENARIOS_MAX = 50;

const { items, set } = createStoredList<JsonObject>('divisor.scenarios', SAVED_SCENARIOS_MAX);

/** Scenarios saved in this browser. */
export const savedScenarios = items;

/** Saves a scenario. If a saved scenario has the same name, it is replaced. */
export const saveScenario = (scenario: JsonObject): void =>
  set([...items.peek().filter(({ name }) => name !== scenario['name']), scenario]);
