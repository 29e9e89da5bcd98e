import type { IdentifierSearch } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Select } from '../../components/choice.js';
import { addSign } from '../../components/signed.js';
import { Problem } from '../../components/problem.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { formatCompact } from '../../words/amounts.js';
import { countValues, formatCount, formatDecimal, formatMoney } from '../../words/numbers.js';
import { storeQuery, runInTurn, computeReturnOver, readYear, readYears, type YearPrices } from './last-year.js';
import { findLastDate, SecurityFigures, sumSectors } from './security-figures.js';
import { YearLine } from './year-line.js';
import './names.css';

type Row = IdentifierSearch['identifiers'][number];

/**
 * Number of securities per request, and maximum number of requests. Together they are enough for the largest market.
 */
const PAGE_SECURITIES = 1000;
const PAGES_MAX = 10;

interface NameTableProps {
  /** Data store. Default: the served store. */
  readonly store?: string | undefined;
}

/** Renders the securities of a store. */
export function NameTable({ store }: NameTableProps) {
  const names = useResource(formatSecuritiesKey(store), (signal) => readAllSecurities(signal, store));
  return (
    <Answered resource={names} what="the names">
      {(rows) => <Rows rows={rows} store={store} />}
    </Answered>
  );
}

function Rows({ rows: all, store }: { readonly rows: readonly Row[]; readonly store: string | undefined }) {
  const sectors = useMemo(() => sumSectors(all), [all]);
  const sector = sectors.find(({ name }) => name === getParameter('sector'))?.name ?? null;
  const rows = useMemo(() => (sector === null ? all : all.filter((row) => row.sector === sector)), [all, sector]);
  // To sort or filter by return, the prices of all securities are needed. Otherwise those of the visible rows are
  // enough.
  const isByYear =
    getParameter('names.sort')?.startsWith('year:') === true ||
    getParameter('names.where')?.includes('"year":') === true;
  const years = useResource(
    isByYear ? `years of the store ${store} ${sector} ${rows.length}` : null,
    (signal) => readYears(rows, signal, store),
    { follows: false },
  );
  const axisEnd = useMemo(() => findLastDate(all), [all]);
  const columns = useMemo(() => createColumns(store, axisEnd, years.data), [store, axisEnd, years.data]);
  // Because the array is new, the table reads its cached values again when the returns are known.
  const listedRows = useMemo(() => [...rows], [rows, years.data]);
  return (
    <>
      <SecurityFigures rows={rows} />
      {years.isLoading && (
        <p class="quiet" role="status">
          Reading the last year of {countValues(rows.length, 'security', 'securities')} …
        </p>
      )}
      {years.trouble !== null && <Problem trouble={years.trouble} onRetry={years.reload} />}
      <Table
        label="names"
        name="names"
        columns={columns}
        rows={listedRows}
        getKey={({ identifier }) => identifier}
        formatAddress={({ identifier }) => formatSecurityAddress(identifier, store)}
        searchIn={({ identifier, name, sector }) => `${identifier} ${name ?? ''} ${sector ?? ''}`}
        tools={
          sectors.length > 1 && (
            <Select
              label="Sector"
              options={[
                { value: '', text: 'All sectors' },
                ...sectors.map(({ name, count }) => ({ value: name, text: `${name} (${formatCount(count)})` })),
              ]}
              value={sector ?? ''}
              onChoose={(chosen) => setParameters({ sector: chosen === '' ? null : chosen })}
            />
          )
        }
        sort={getOrder(rows)}
        height={640}
      />
    </>
  );
}

const getOrder = (rows: readonly Row[]) =>
  rows.some(({ market_cap: cap }) => cap !== null) ? LARGEST_FIRST : INITIAL_SORT;

/** Returns the key under which the securities of a store are cached. */
export const formatSecuritiesKey = (store: string | undefined): string =>
  store === undefined ? 'names of the store' : `names of the store ${store}`;

/** Reads the securities of a store. Default: the served store. */
export async function readAllSecurities(signal: AbortSignal, store?: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let after: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const { identifiers, next } = await service.value.call('searchIdentifiers', {
      query: { limit: PAGE_SECURITIES, after, ...storeQuery(store) },
      signal,
    });
    rows.push(...identifiers);
    if (next === null) break;
    after = next;
  }
  return rows;
}

interface LastYearProps {
  readonly row: Row;
  readonly store: string | undefined;
  /** Last date of the time axis of all rows. */
  readonly axisEnd: string;
}

/** Renders the closes of the last year and their return. Prices are read only for visible rows. */
function LastYear({ row: { identifier, end }, store, axisEnd }: LastYearProps) {
  const { data: year } = useResource(
    end === null ? null : `year ${store} ${identifier} ${end}`,
    (signal) => runInTurn(() => readYear(identifier, end!, signal, store), signal), // requested only if `end` is known
    { follows: false },
  );
  return year === undefined ? null : renderYearLine(identifier, year, axisEnd);
}

const renderYearLine = (identifier: string, year: YearPrices, axisEnd: string) => (
  <span class="name-year">
    <YearLine year={year} end={axisEnd} label={`Last year of ${identifier}`} />
    {addSign(computeReturnOver(year, 12))}
  </span>
);

const LARGEST_FIRST = { column: 'cap', direction: 'desc' } as const;
const INITIAL_SORT = { column: 'identifier', direction: 'asc' } as const;

const createColumns = (
  store: string | undefined,
  axisEnd: string,
  years: ReadonlyMap<string, YearPrices> | undefined,
): readonly Column<Row>[] => [
  {
    id: 'identifier',
    title: 'Security',
    width: 120,
    grow: 1,
    value: ({ identifier }) => identifier,
    show: ({ identifier }) => <strong>{identifier}</strong>,
  },
  { id: 'company', title: 'Company', width: 120, grow: 3, priority: 2, value: ({ name }) => name },
  { id: 'sector', title: 'Sector', width: 120, grow: 2, priority: 3, value: ({ sector }) => sector },
  {
    id: 'close',
    title: 'Last close',
    help: 'As traded, in the currency of the security',
    width: 120,
    align: 'right',
    value: ({ close }) => close,
    show: ({ close, currency }) => formatMoney(formatDecimal(close, close !== null && close < 1 ? 4 : 2), currency),
  },
  {
    id: 'cap',
    title: 'Market cap',
    help: 'On the date of the last price, in the currency of the security',
    width: 108,
    align: 'right',
    value: (row) => row.market_cap,
    show: (row) => formatMoney(formatCompact(row.market_cap), row.currency),
  },
  {
    id: 'year',
    title: '1-year chart',
    help: `Return with dividends, in the currency of the security, to its last price; the line is the year to ${axisEnd}`,
    width: 190,
    priority: 2,
    below: 'titled',
    value: ({ identifier }) => computeReturnOver(years?.get(identifier), 12),
    align: 'right',
    show: (row) => {
      const year = years?.get(row.identifier);
      return year === undefined ? (
        <LastYear row={row} store={store} axisEnd={axisEnd} />
      ) : (
        renderYearLine(row.identifier, year, axisEnd)
      );
    },
  },
  { id: 'start', title: 'First session', width: 100, priority: 5, value: ({ start }) => start },
  { id: 'end', title: 'Last session', width: 100, priority: 4, value: ({ end }) => end },
];
