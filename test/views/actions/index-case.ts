import { createRunColumns } from '#domain/backtest/run-file/columns.js';
import { openMarketOn } from '#domain/market/session-market.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createExchangeRates } from '#domain/market/rates.js';
import { createActionsView, readHoldingsAtEnd } from '#views/actions.js';
import { openExtended } from '../../domain/backtest/extend/extended.js';
import { buildMarket, createWeekdayCalendars } from '../../domain/backtest/market-builder.js';
import { runOn } from '../../domain/backtest/random-run.js';

export const DATES = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'];
export const calendars = createWeekdayCalendars({ MAIN: { from: DATES[0]!, to: '2024-01-31' } });

export const createDocument = (base_date: string, treatment: object = {}): IndexDocument =>
  IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: 'MAIN',
    base_date,
    rebalance: { frequency: 'none' },
    pipeline: { treatment, weighting: { type: 'EqualWeight' } },
  });

/** Returns the actions of a run over the first dates, and the index with its holdings at the end of the run. */
export function showWholeIndexUntil(
  rows: number,
  close: Readonly<Record<string, readonly (number | null)[]>>,
  actions: Parameters<typeof buildMarket>[0]['actions'],
  treatment: object = {},
) {
  const dates = DATES.slice(0, rows);
  const until = Object.fromEntries(Object.entries(close).map(([name, prices]) => [name, prices.slice(0, rows)]));
  const market = buildMarket({ dates, close: until, actions: actions! });
  const columns = openExtended(
    createRunColumns(runOn(calendars, market, createDocument(DATES[0]!, treatment)), { contentHash: 's' }),
  );
  const sm = openMarketOn({ market, calendars, code: 'MAIN' });
  const terms = { sm, rates: createExchangeRates(sm, 'USD') };
  const { actions: shown } = createActionsView(columns, { ...terms, from: null, to: null });
  const index = readHoldingsAtEnd(columns, terms);
  return { shown, index, columns, held: index.holdings };
}
