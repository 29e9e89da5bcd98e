import { Metrics } from '../../components/metrics.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { compact } from '../../words/amounts.js';
import { change, decimal, formatMoney, percent, signClass } from '../../words/numbers.js';
import {
  extremesOf,
  storeQuery,
  computeDayReturn,
  computeReturnOver,
  computeYearToDate,
  startsOf,
  volatilityOf,
  yearOf,
} from './last-year.js';

/** A security of a store. */
export interface SecurityProps {
  readonly identifier: string;
  /** Store of the security. Default: the served store. */
  readonly store: string | undefined;
  /** Currency of the prices; null if unknown. */
  readonly currency: string | null;
}

/** Renders the last close with its returns and range over the preceding year. */
export function NameFigures({ identifier, store, currency }: SecurityProps) {
  const facts = useResource(`security ${identifier} ${store}`, async (signal) => {
    const { identifiers } = await service.value.call('searchIdentifiers', {
      query: { q: identifier.slice(0, 64), limit: 1000, ...storeQuery(store) },
      signal,
    });
    const found = identifiers.find((one) => one.identifier === identifier);
    if (found === undefined || found.end === null) return null;
    const { end } = found;
    const [year, prices] = await Promise.all([
      yearOf(identifier, end, signal, store),
      yearOf(identifier, end, signal, store, 'splits'),
    ]);
    return { ...found, end, year, extremes: extremesOf(prices) };
  });
  if (!facts.data) return facts.data === undefined && facts.trouble === null ? <FiguresSkeleton /> : null;
  const { close, end, year, extremes, market_cap: cap } = facts.data;
  const money = (value: number | null) => formatMoney(decimal(value, value !== null && value < 1 ? 4 : 2), currency);
  const [day, month, ytd, whole] = [
    computeDayReturn(year),
    computeReturnOver(year, 1),
    computeYearToDate(year),
    computeReturnOver(year, 12),
  ];
  const from = startsOf(year);
  const since = (date: string | null) => (date === null ? {} : { note: `since ${date}` });
  return (
    <Metrics
      label={`Figures of ${identifier}`}
      metrics={[
        { term: 'Last close', value: money(close), note: end },
        { term: '1 day', value: change(day), kind: signClass(day), help: RETURN_HELP, ...since(from.day) },
        { term: '1 month', value: change(month), kind: signClass(month), help: RETURN_HELP, ...since(from.month) },
        { term: 'Year to date', value: change(ytd), kind: signClass(ytd), help: RETURN_HELP, ...since(from.ytd) },
        { term: '1 year', value: change(whole), kind: signClass(whole), help: RETURN_HELP, ...since(from.year) },
        {
          term: 'Volatility, 1 year',
          value: percent(volatilityOf(year)),
          help: 'Standard deviation of daily returns with dividends, annualised',
          note: 'of daily returns',
        },
        {
          term: 'Range, 1 year',
          value: extremes === null ? '–' : `${decimal(extremes.low)} – ${decimal(extremes.high)}`,
          help: 'Lowest and highest close, adjusted for splits like the chart',
          ...(extremes === null ? {} : { note: `low ${extremes.lowDate}, high ${extremes.highDate}` }),
        },
        ...(cap === null ? [] : [{ term: 'Market cap', value: formatMoney(compact(cap), currency), note: end }]),
      ]}
    />
  );
}

const RETURN_HELP = 'With dividends, in the currency of the security, to its last close';
