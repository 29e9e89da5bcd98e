import { marketOn } from '#domain/backtest/simulate/market-on.js';
import { dayFrom } from '#domain/days.js';
import { exchangeRates } from '#domain/market/exchange-rates.js';
import type { ActionsViewInput } from '#jobs/tasks/views.js';
import { actionsView } from '#views/actions/actions-view.js';
import { openedCalendars } from './opened-calendars.js';
import { openedMarket } from './open-markets.js';
import { withRunFile } from './run-file.js';

/** Corporate actions on what a stored run holds. */
export function showActions({
  columns,
  start,
  end,
  market: handle,
}: Omit<ActionsViewInput, 'format'>): ReturnType<typeof actionsView> {
  const market = openedMarket(handle);
  return withRunFile(columns, (run) => {
    const { calendar, currency } = run.header;
    const sm = marketOn({ market, calendars: openedCalendars(), code: calendar });
    const dayOrNone = (date: string | null) => (date === null ? null : dayFrom(date));
    return actionsView(run, { sm, rates: exchangeRates(sm, currency), from: dayOrNone(start), to: dayOrNone(end) });
  });
}
