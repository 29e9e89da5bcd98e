import { readGroup } from '#domain/market/market-groups.js';
import { readReference } from '#domain/market/market-data.js';
import type { InputOfView } from '#jobs/tasks/views.js';
import { createGroupsView } from '#views/groups-view.js';
import { openCachedMarket } from '../input/open-markets.js';
import { runOnEngine } from '../input/numerics.js';
import { useRunFile } from '../run-files/run-file.js';
import { openCompared } from './compared.js';
import { createWindow } from './run-view.js';

/** Computes contributions by group, next to a benchmark if one is requested. */
export function showGroups({
  columns,
  by,
  benchmark,
  market: handle,
  ...query
}: InputOfView<'groups'>): Promise<object> {
  const market = openCachedMarket(handle);
  return runOnEngine((engine) =>
    useRunFile(columns, (run) => {
      const otherComparedBenchmark = benchmark && openCompared(benchmark, market, run.header);
      return createGroupsView(run, {
        window: createWindow(query),
        by,
        findGroup: (name, day) => readGroup(readReference(market.reference, name, by, day)),
        benchmark: otherComparedBenchmark && {
          ...otherComparedBenchmark,
          book: otherComparedBenchmark.bookTo(engine, run.i32('days').at(-1)!),
        },
      });
    }),
  );
}
