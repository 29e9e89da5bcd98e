import type { InputOfView } from '#jobs/tasks/views.js';
import { factorAttributionView } from '#views/factor-attribution-view.js';
import { openedMarket } from '../input/open-markets.js';
import { withRunFile } from '../run-files/run-file.js';
import { heldDatapoints, readHeld, riskWindow } from './held-risk.js';
import { windowOf } from './run-view.js';

/** Attributes the return of a run to factors. */
export function showFactorAttribution({ columns, market, model, ...asked }: InputOfView<'factor-attribution'>): object {
  return withRunFile(columns, (run) => {
    const window = riskWindow(readHeld(run, null), openedMarket(market));
    return factorAttributionView(
      run,
      { ...window, datapoints: heldDatapoints(window, run.header) },
      { ...windowOf(asked), model },
    );
  });
}
