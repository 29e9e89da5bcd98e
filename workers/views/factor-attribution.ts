import type { InputOfView } from '#jobs/tasks/views.js';
import { createFactorAttributionView } from '#views/factor-attribution-view.js';
import { openCachedMarket } from '../input/open-markets.js';
import { useRunFile } from '../run-files/run-file.js';
import { createHoldingDatapoints, readHoldings, readRiskWindow } from './holding-risk.js';
import { createWindow } from './run-view.js';

/** Attributes the return of a run to factors. */
export function showFactorAttribution({ columns, market, model, ...query }: InputOfView<'factor-attribution'>): object {
  return useRunFile(columns, (run) => {
    const window = readRiskWindow(readHoldings(run, null), openCachedMarket(market));
    return createFactorAttributionView(
      run,
      { ...window, datapoints: createHoldingDatapoints(window, run.header) },
      { ...createWindow(query), model },
    );
  });
}
