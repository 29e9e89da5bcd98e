import { useContext } from 'preact/hooks';
import { AddSelect } from '../../components/add-select.js';
import { NamesStore, useNames } from '../../state/names.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { findStore, useStores } from '../../state/stores.js';
import type { JsonObject } from '../../words/paths.js';
import { savedScenarios, listShocks } from './scenario-library.js';
import { listDrawdowns, listWindows } from './scenario-windows.js';

/**
 * Scenarios for an index. The windows are historical periods within the dates of its data store; on a generated market they
 * are the drawdowns of the index. The shocks are to the sectors of the index, the largest sector first.
 */
export interface KnownScenarios {
  readonly windows: readonly JsonObject[];
  readonly shocks: readonly JsonObject[];
}

/**
 * Returns the scenarios that apply to the displayed run of an index. Returns null until they are known, and if
 * `useScenarioStore` has no dates.
 */
export function useKnownScenarios(id: string): KnownScenarios | null {
  const { store } = useScenarioStore();
  const runWeights = useResource(`weights ${formatRunKey(id)}`, (signal) =>
    service.value.call('getWeights', { params: { index_id: id }, query: readShownRun(), signal }),
  );
  // A generated market has no historical crises.
  const isGenerated = store?.kind === 'synthetic';
  const performance = useResource(isGenerated ? `drawdowns ${formatRunKey(id)}` : null, (signal) =>
    service.value.call('getPerformance', { params: { index_id: id }, query: readShownRun(), signal }),
  );
  const facts = useNames(runWeights.data?.weights.map(({ identifier }) => identifier) ?? [], runWeights.data?.as_of);
  if (store?.start == null || store.end === null) return null;
  // The reference data of the holdings is read after the holdings.
  if (runWeights.data === undefined || (facts.size === 0 && runWeights.data.weights.length > 0)) return null;
  if (isGenerated && performance.data === undefined) return null;
  const weights = new Map<string, number>();
  for (const { identifier, weight } of runWeights.data.weights) {
    const sector = facts.get(identifier)?.sector;
    if (sector != null) weights.set(sector, (weights.get(sector) ?? 0) + weight);
  }
  const sectors = [...weights].toSorted(([, a], [, b]) => b - a).map(([sector]) => sector);
  const windows =
    performance.data === undefined
      ? listWindows(store.start, store.end)
      : listDrawdowns(performance.data.drawdowns.slice(0, WINDOWS_USUAL));
  return { windows, shocks: listShocks('SECTOR', sectors) };
}

/** Returns the data store of the displayed run. It has no dates if it is missing or cannot be read. */
export function useScenarioStore() {
  const stores = useStores();
  const id = useContext(NamesStore);
  const store = findStore(stores.data?.stores, id);
  return { id, store, hasNoDates: stores.data !== undefined && (store?.start == null || store.end === null) };
}

/** Returns the scenarios that a page shows at first: the latest windows, and shocks to the largest sectors. */
export const selectDefaultScenarios = ({ windows, shocks }: KnownScenarios): readonly JsonObject[] => [
  ...windows.slice(-WINDOWS_USUAL),
  ...shocks.slice(0, SHOCKS_USUAL),
];

const WINDOWS_USUAL = 4;
const SHOCKS_USUAL = 3;

interface LibraryProps {
  readonly known: KnownScenarios | null;
  readonly asked: readonly JsonObject[];
  onAdd(scenario: JsonObject): void;
}

/** Renders a selector that adds a scenario. It offers scenarios of the library and saved scenarios. */
export function Library({ known, asked, onAdd }: LibraryProps) {
  const library: readonly (readonly [string, readonly JsonObject[]])[] = [
    ['saved', savedScenarios.value],
    ['window', known?.windows ?? []],
    ['shock', known?.shocks ?? []],
  ];
  const all = library.flatMap(([kind, scenarios]) =>
    scenarios
      .filter(({ name }) => asked.every((own) => own['name'] !== name))
      .map((scenario) => ({ value: JSON.stringify(scenario), text: `${kind}: ${String(scenario['name'])}` })),
  );
  if (all.length === 0) return null;
  return (
    <AddSelect
      label="Add from the library"
      prompt="+ From the library"
      options={all}
      onAdd={(text) => onAdd(JSON.parse(text) as JsonObject)} // each option value is a scenario as JSON
    />
  );
}
