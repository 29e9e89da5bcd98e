import type { MarketData } from './market-data.js';

/** Positions of a market's actions, those of a name together and in their order. */
export interface ActionsByColumn {
  /** Place in `order` of the first of each column, [N + 1]. */
  readonly starts: Int32Array;
  /** Positions in the actions; those of names that the market does not hold are left out. */
  readonly order: Int32Array;
}

const known = new WeakMap<MarketData['actions'], ActionsByColumn>();

/** @cost O(N + A) and 8 bytes an action, once per market */
export function actionsByColumn({ actions, identifiers }: MarketData): ActionsByColumn {
  const found = known.get(actions) ?? grouped(actions, identifiers);
  known.set(actions, found);
  return found;
}

function grouped(actions: MarketData['actions'], identifiers: MarketData['identifiers']): ActionsByColumn {
  const columns = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const columnOf = Int32Array.from(actions, ({ identifier }) => columns.get(identifier) ?? -1);
  const starts = new Int32Array(identifiers.length + 1);
  for (const column of columnOf) if (column >= 0) starts[column + 1]!++;
  for (let column = 0; column < identifiers.length; column++) starts[column + 1]! += starts[column]!;
  const order = new Int32Array(starts.at(-1)!);
  const next = starts.slice();
  columnOf.forEach((column, action) => {
    if (column >= 0) order[next[column]!++] = action;
  });
  return { starts, order };
}
