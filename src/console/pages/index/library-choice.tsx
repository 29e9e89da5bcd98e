import { AddSelect } from '../../components/add-select.js';
import { useNames } from '../../state/names.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { runKey, shownRun } from '../../state/shown-run.js';
import type { JsonObject } from '../../words/paths.js';
import { ownScenarios, shocksOf, windowsWithin } from './scenario-library.js';

interface LibraryProps {
  readonly id: string;
  readonly asked: readonly JsonObject[];
  onChange(asked: readonly JsonObject[]): void;
}

/** Named windows within the dates of the store, shocks of its sectors, and scenarios that were saved. */
export function Library({ id, asked, onChange }: LibraryProps) {
  const stores = useResource('stores', (signal) => service.value.call('listStores', { signal }));
  const served = stores.data?.stores.find(({ active }) => active);
  const held = useResource(`weights ${runKey(id)}`, (signal) =>
    service.value.call('getWeights', { params: { index_id: id }, query: shownRun(), signal }),
  );
  const facts = useNames(held.data?.weights.map(({ identifier }) => identifier) ?? [], held.data?.as_of);
  const sectors = [...new Set([...facts.values()].flatMap(({ sector }) => sector ?? []))].toSorted();
  if (served?.start == null || served.end === null) return null;
  const library: readonly (readonly [string, readonly JsonObject[]])[] = [
    ['saved', ownScenarios.value],
    ['window', windowsWithin(served.start, served.end)],
    ['shock', shocksOf('SECTOR', sectors)],
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
      onAdd={(text) => onChange([...asked, JSON.parse(text) as JsonObject])} // Written above.
    />
  );
}
