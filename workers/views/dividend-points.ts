import { marketOn } from '#domain/books/market-on.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { InputOfView } from '#jobs/tasks/views.js';
import { dividendPointsView } from '#views/dividends/dividend-points-view.js';
import { runFractions } from '#views/report/market-figures.js';
import { openedCalendars } from '../input/opened-calendars.js';
import { openedMarket } from '../input/open-markets.js';
import { withRunFile } from '../run-files/run-file.js';
import { windowOf } from './run-view.js';

/** Computes the dividend points of a stored run. @throws Refusal NO_DATA_IN_RANGE, VARIANT_NOT_AVAILABLE */
export function showDividendPoints({ columns, market: handle, ...asked }: InputOfView<'dividend-points'>): object {
  const market = openedMarket(handle);
  if (market.adjustment === 'total')
    throw new Refusal(
      'VARIANT_NOT_AVAILABLE',
      'The prices of the store include dividends, so paid dividends cannot be derived from them.',
    );
  return withRunFile(columns, (run) => {
    const sm = marketOn({ market, calendars: openedCalendars(run.header.closures), code: run.header.calendar });
    return dividendPointsView(run, { window: windowOf(asked), ...runFractions(run, sm) });
  });
}
