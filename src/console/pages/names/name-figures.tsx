import { Metrics } from '../../components/metrics.js';
import { FiguresSkeleton } from '../../components/skeleton.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatCompact } from '../../words/amounts.js';
import { formatChange, formatDecimal, formatMoney, formatPercent, getSignClass } from '../../words/numbers.js';
import {
  findExtremes,
  storeQuery,
  computeDayReturn,
  computeReturnOver,
  computeYearToDate,
  findStarts,
  computeVolatility,
  readYear,
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
    const foundSecurity = identifiers.find((one) => one.identifier === identifier);
    if (foundSecurity === undefined || foundSecurity.end === null) return null;
    const { end } = foundSecurity;
    const [year, prices] = await Promise.all([
      readYear(identifier, end, signal, store),
      readYear(identifier, end, signal, store, 'splits'),
    ]);
    return { ...foundSecurity, end, year, extremes: findExtremes(prices) };
  });
  if (!facts.data) return facts.data === undefined && facts.trouble === null ? <FiguresSkeleton /> : null;
  const { close, end, year, extremes, market_cap: cap } = facts.data;
  const formatAmount = (value: number | null) =>
    formatMoney(formatDecimal(value, value !== null && value < 1 ? 4 : 2), currency);
  const [day, month, ytd, whole] = [
    computeDayReturn(year),
    computeReturnOver(year, 1),
    computeYearToDate(year),
    computeReturnOver(year, 12),
  ];
  const from = findStarts(year);
  const createReturn = (term: string, value: number | null, date: string | null) => {
    const note = date === null ? {} : { note: `since ${date}` };
    return { term, value: formatChange(value), kind: getSignClass(value), help: RETURN_HELP, ...note };
  };
  return (
    <Metrics
      label={`Figures of ${identifier}`}
      metrics={[
        { term: 'Last close', value: formatAmount(close), note: end },
        createReturn('1 day', day, from.day),
        createReturn('1 month', month, from.month),
        createReturn('Year to date', ytd, from.ytd),
        createReturn('1 year', whole, from.year),
        {
          term: 'Volatility, 1 year',
          value: formatPercent(computeVolatility(year)),
          help: 'Standard deviation of daily returns with dividends, annualised',
          note: 'of daily returns',
        },
        {
          term: 'Range, 1 year',
          value: extremes === null ? '–' : `${formatDecimal(extremes.low)} – ${formatDecimal(extremes.high)}`,
          help: 'Lowest and highest close, adjusted for splits like the chart',
          isLong: true,
          ...(extremes === null ? {} : { note: `low ${extremes.lowDate}, high ${extremes.highDate}` }),
        },
        ...(cap === null ? [] : [{ term: 'Market cap', value: formatMoney(formatCompact(cap), currency), note: end }]),
      ]}
    />
  );
}

const RETURN_HELP = 'With dividends, in the currency of the security, to its last close';
