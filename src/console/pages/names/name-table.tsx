import './names.css';
import { useMemo } from 'preact/hooks';
import type { IdentifierSearch } from '#clients/typescript/divisor.js';
import { Select } from '../../components/controls/choice.js';
import { Answered, Problem } from '../../components/feedback.js';
import { addSign, Metrics } from '../../components/layout/facts.js';
import { Sparkline } from '../../components/layout/sparkline.js';
import type { Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { getParameter, setParameters } from '../../state/location.js';
import { service, useResource } from '../../state/service.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { countValues, formatCount, formatDecimal, formatMoney, formatPercent } from '../../words/numbers.js';
import { formatCompact } from '../../words/quantities.js';
import { computeMedian } from '../../words/statistics.js';
import { computeReturnOver, readYear, readYears, runInTurn, storeQuery, type YearPrices } from './last-year.js';
import { placeOnAxis } from './periods.js';

type Row = IdentifierSearch['identifiers'][number];

interface SectorSum {
  readonly name: string;
  readonly count: number;
  /** Sum of the market capitalisations. */
  readonly cap: number;
}

/** Returns the sectors with their securities, in alphabetical order. */
function sumSectors(rows: readonly Row[]): readonly SectorSum[] {
  const sums = new Map<string, SectorSum>();
  for (const { sector, market_cap: cap } of rows) {
    if (sector === null) continue;
    const before = sums.get(sector) ?? { name: sector, count: 0, cap: 0 };
    sums.set(sector, { ...before, count: before.count + 1, cap: before.cap + (cap ?? 0) });
  }
  return [...sums.values()].toSorted((a, b) => a.name.localeCompare(b.name));
}

/** Returns the last date on which a security has a price; empty if none has one. */
export const findLastPriceDate = (rows: readonly Row[]): string =>
  rows.reduce((latest, { end }) => (end !== null && end > latest ? end : latest), '');

/**
 * Renders the number, the size and the concentration of securities. A security counts as traded only if it has a
 * current price.
 */
function SecurityFigures({ rows }: { readonly rows: readonly Row[] }) {
  const lastDate = findLastPriceDate(rows);
  const tradedRows = rows.filter(({ end }) => end === lastDate);
  const sizedRows = tradedRows
    .filter((row): row is Row & { readonly market_cap: number } => row.market_cap !== null)
    .toSorted((a, b) => b.market_cap - a.market_cap);
  const [first] = sizedRows;
  const currencies = new Set(sizedRows.map(({ currency }) => currency));
  if (first === undefined || currencies.size > 1) return null;
  const total = sizedRows.reduce((sum, { market_cap: cap }) => sum + cap, 0);
  const [sector] = sumSectors(sizedRows).toSorted((a, b) => b.cap - a.cap);
  const writeCap = (cap: number) => formatMoney(formatCompact(cap), first.currency);
  const writeShare = (cap: number) => `${formatPercent(cap / total, 1)} of the market cap`;
  return (
    <Metrics
      label="Figures of the securities"
      metrics={[
        {
          term: 'Traded',
          value: formatCount(tradedRows.length),
          note: `on ${lastDate}${tradedRows.length < rows.length ? `; ${formatCount(rows.length - tradedRows.length)} ended earlier` : ''}`,
        },
        { term: 'Market cap', value: writeCap(total), note: 'sum' },
        { term: 'Median market cap', value: writeCap(computeMedian(sizedRows.map(({ market_cap: cap }) => cap))) },
        { term: 'Largest security', value: first.identifier, note: writeShare(first.market_cap) },
        ...(sector === undefined
          ? []
          : [{ term: 'Largest sector', value: sector.name, note: writeShare(sector.cap), isLong: true }]),
      ]}
    />
  );
}

interface YearLineProps {
  readonly year: YearPrices;
  /** Last date of the time axis, the same for all rows of a table. */
  readonly end: string;
  readonly label: string;
}

/**
 * Renders the closes of a security on the time axis of a table, which is one year long. A shorter history begins later,
 * and a security that ended before the axis has no line.
 */
export function YearLine({ year, end, label }: YearLineProps) {
  const { closes, positions } = placeOnAxis(year, end);
  return <Sparkline values={closes} positions={positions} label={label} />;
}

/**
 * Number of securities per request, and maximum number of requests. Together they are enough for the largest market.
 */
const PAGE_SECURITIES = 1000;
const PAGES_MAX = 10;

interface NameTableProps {
  /** Data store. Default: the served store. */
  readonly store?: string | undefined;
}

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
  const axisEnd = useMemo(() => findLastPriceDate(all), [all]);
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
  <span class="line gap-2 name-year">
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
  { id: 'identifier', title: 'Security', width: 120, grow: 1, show: ({ identifier }) => <strong>{identifier}</strong> },
  { id: 'company', title: 'Company', width: 120, grow: 3, priority: 2, value: ({ name }) => name },
  { id: 'sector', title: 'Sector', width: 120, grow: 2, priority: 3 },
  {
    id: 'close',
    title: 'Last close',
    help: 'As traded, in the currency of the security',
    width: 120,
    align: 'right',
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
  { id: 'start', title: 'First session', width: 100, priority: 5 },
  { id: 'end', title: 'Last session', width: 100, priority: 4 },
];
