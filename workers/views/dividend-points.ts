import { openMarketOn } from '#domain/books/open-market-on.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { InputOfView } from '#jobs/tasks/views.js';
import { createDividendPointsView } from '#views/dividends/dividend-points-view.js';
import { computeRunFractions } from '#views/report/market-figures.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openCachedMarket } from '../input/open-markets.js';
import { useRunFile } from '../run-files/run-file.js';
import { createWindow } from './run-view.js';

/** Computes the dividend points of a stored run. @throws Refusal NO_DATA_IN_RANGE, VARIANT_NOT_AVAILABLE */
export function showDividendPoints({ columns, market: handle, ...query }: InputOfView<'dividend-points'>): object {
  const market = openCachedMarket(handle);
  if (market.adjustment === 'total')
    throw new Refusal(
      'VARIANT_NOT_AVAILABLE',
      'The prices of the store include dividends, so paid dividends cannot be derived from them.',
    );
  return useRunFile(columns, (run) => {
    const sm = openMarketOn({ market, calendars: openCachedCalendars(run.header.closures), code: run.header.calendar });
    return createDividendPointsView(run, { window: createWindow(query), ...computeRunFractions(run, sm) });
  });
}
