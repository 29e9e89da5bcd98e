import { marketOn } from '#domain/books/market-on.js';
import { dayFrom } from '#domain/time/days.js';
import { exchangeRates } from '#domain/market/exchange-rates.js';
import type { ActionsViewInput } from '#jobs/tasks/views.js';
import { actionsCsv, actionsView, heldAtEnd } from '#views/actions/actions-view.js';
import { proFormaCsv, proFormaRows } from '#views/actions/pro-forma-rows.js';
import { openedCalendars } from '../input/opened-calendars.js';
import { openedMarket } from '../input/open-markets.js';
import { withRunFile } from '../run-files/run-file.js';

/** Corporate actions on what a stored run holds: an ActionsView, or the text of one of its tables as CSV. */
export function showActions(input: ActionsViewInput): object | string {
  const { columns, start, end, market: handle, format, table } = input;
  const market = openedMarket(handle);
  return withRunFile(columns, (run) => {
    const { calendar, currency } = run.header;
    const sm = marketOn({ market, calendars: openedCalendars(), code: calendar });
    const terms = { sm, rates: exchangeRates(sm, currency) };
    const dayOrNone = (date: string | null) => (date === null ? null : dayFrom(date));
    const view = actionsView(run, { ...terms, from: dayOrNone(start), to: dayOrNone(end) });
    if (format === 'json') return view;
    return table === 'actions' ? actionsCsv(view) : proFormaCsv(proFormaRows(view.actions, heldAtEnd(run, terms)));
  });
}
