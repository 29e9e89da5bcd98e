import { marketOn } from '#domain/books/market-on.js';
import { dayFrom } from '#domain/time/days.js';
import { exchangeRates } from '#domain/market/exchange-rates.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { InputOfView } from '#jobs/tasks/views.js';
import { actionsView, heldAtEnd } from '#views/actions/actions-view.js';
import { proFormaCsv, proFormaRows } from '#views/actions/pro-forma-rows.js';
import { openedCalendars } from '../input/opened-calendars.js';
import { openedMarket } from '../input/open-markets.js';
import { withRunFile } from '../run-files/run-file.js';

type Asked = InputOfView<'actions'>;

/** Lists the corporate actions on the securities of a stored run. */
export const showActions = (asked: Asked): ReturnType<typeof actionsView> =>
  withRunFile(asked.columns, (run) => actionsView(run, { ...termsOf(run, asked), ...datesOf(asked) }));

/** Writes the index after each coming action, as CSV. */
export function showProForma(asked: Asked): string {
  return withRunFile(asked.columns, (run) => {
    const terms = termsOf(run, asked);
    const { actions } = actionsView(run, { ...terms, ...datesOf(asked) });
    return proFormaCsv(proFormaRows(actions, heldAtEnd(run, terms)));
  });
}

function termsOf(run: RunColumns, { market: handle }: Asked) {
  const { calendar, currency } = run.header;
  const sm = marketOn({ market: openedMarket(handle), calendars: openedCalendars(), code: calendar });
  return { sm, rates: exchangeRates(sm, currency) };
}

const datesOf = ({ from, to }: Asked) => ({ from: dayOrNone(from), to: dayOrNone(to) });
const dayOrNone = (date: string | undefined) => (date === undefined ? null : dayFrom(date));
