import type { IdentifierSearch } from '#clients/typescript/divisor.js';
import { Sparkline } from '../../components/sparkline.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { addSign } from '../../components/signed.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { nameAddress } from '../../words/addresses.js';
import { compact } from '../../words/amounts.js';
import { monthsBefore } from '../../words/dates.js';
import { count, decimal, formatMoney } from '../../words/numbers.js';
import { allNames } from '../names/name-table.js';

type Security = IdentifierSearch['identifiers'][number];

/** Securities whose prices are read, each with a request. */
const PRICED_MAX = 100;
/** Concurrent requests. */
const REQUESTS = 4;

/** Closes of the last year including dividends, with their dates. */
interface Year {
  readonly dates: readonly string[];
  readonly closes: readonly number[];
}

interface Row extends Security {
  readonly year: Year | undefined;
}

interface WatchedTableProps {
  readonly identifiers: readonly string[];
}

/** Renders securities in the order of their list, with their returns and a line of the last year. */
export function WatchedTable({ identifiers }: WatchedTableProps) {
  const names = useResource('names of the store', allNames);
  return (
    <Answered resource={names} what="the securities">
      {(all) => <Priced securities={chosen(all, identifiers)} />}
    </Answered>
  );
}

const chosen = (all: readonly Security[], identifiers: readonly string[]): readonly Security[] => {
  const known = new Map(all.map((row) => [row.identifier, row]));
  return identifiers.flatMap((identifier) => known.get(identifier) ?? []);
};

function Priced({ securities }: { readonly securities: readonly Security[] }) {
  const priced = securities.slice(0, PRICED_MAX);
  const key = priced.map(({ identifier, end }) => `${identifier} ${end}`).join(' ');
  const years = useResource(`years ${key}`, (signal) => readYears(priced, signal), { follows: false });
  const rows = securities.map((security): Row => ({ ...security, year: years.data?.get(security.identifier) }));
  return (
    <>
      <Table
        label="names"
        name="watched"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ identifier }) => identifier}
        addressOf={({ identifier }) => nameAddress(identifier)}
        searchIn={({ identifier, name, sector }) => `${identifier} ${name ?? ''} ${sector ?? ''}`}
        height={560}
      />
      {securities.length > PRICED_MAX && (
        <p class="quiet">Returns are read for the first {count(PRICED_MAX)} securities.</p>
      )}
    </>
  );
}

async function readYears(securities: readonly Security[], signal: AbortSignal): Promise<ReadonlyMap<string, Year>> {
  const years = new Map<string, Year>();
  const pending = securities.values();
  const read = async () => {
    for (const { identifier, end } of pending)
      if (end !== null) years.set(identifier, await yearOf(identifier, end, signal));
  };
  await Promise.all(Array.from({ length: REQUESTS }, read));
  return years;
}

/** Reads the closes of the year before a date, adjusted for splits and dividends. */
async function yearOf(identifier: string, end: string, signal: AbortSignal): Promise<Year> {
  const { prices } = await service.value.call('getPrices', {
    params: { identifier },
    query: { start: monthsBefore(end, 12), end, columns: ['CLOSE'], adjust: 'total' },
    signal,
  });
  const known = prices.data.flatMap(([close], at) =>
    typeof close === 'number' ? [{ date: String(prices.index[at]), close }] : [],
  );
  return { dates: known.map(({ date }) => date), closes: known.map(({ close }) => close) };
}

/** Returns the return since the last close on or before a date; null if the security had none. */
function returnSince(year: Year | undefined, date: string): number | null {
  const at = year?.dates.findLastIndex((own) => own <= date) ?? -1;
  return at < 0 ? null : year!.closes.at(-1)! / year!.closes[at]! - 1;
}

/** Return over a number of months before the last close. */
const overMonths = ({ year }: Row, months: number): number | null =>
  year === undefined || year.dates.length === 0 ? null : returnSince(year, monthsBefore(year.dates.at(-1)!, months));

function overDay({ year }: Row): number | null {
  const [before, last] = year?.closes.slice(-2) ?? [];
  return before === undefined || last === undefined ? null : last / before - 1;
}

/** Return since the last close of the year before. */
const overYearToDate = ({ year }: Row): number | null =>
  year === undefined || year.dates.length === 0
    ? null
    : returnSince(year, `${Number(year.dates.at(-1)!.slice(0, 4)) - 1}-12-31`);

const HELP = 'With dividends, in the currency of the security';

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'identifier',
    title: 'Security',
    width: 96,
    grow: 1,
    value: ({ identifier }) => identifier,
    show: ({ identifier }) => <strong>{identifier}</strong>,
  },
  { id: 'company', title: 'Company', width: 120, grow: 3, priority: 4, value: ({ name }) => name },
  { id: 'sector', title: 'Sector', width: 120, grow: 2, priority: 6, value: ({ sector }) => sector },
  {
    id: 'close',
    title: 'Last close',
    help: 'As stored, in the currency of the security',
    width: 112,
    align: 'right',
    value: ({ close }) => close,
    show: ({ close, currency }) => formatMoney(decimal(close, close !== null && close < 1 ? 4 : 2), currency),
  },
  numeric({ id: 'day', title: '1 day', help: HELP, width: 76, of: overDay, write: addSign }),
  numeric({
    id: 'month',
    title: '1 month',
    help: HELP,
    width: 80,
    priority: 3,
    of: (row: Row) => overMonths(row, 1),
    write: addSign,
  }),
  numeric({ id: 'ytd', title: 'This year', help: HELP, width: 80, priority: 3, of: overYearToDate, write: addSign }),
  numeric({
    id: 'year',
    title: '1 year',
    help: HELP,
    width: 80,
    of: (row: Row) => overMonths(row, 12),
    write: addSign,
  }),
  {
    id: 'line',
    title: 'Last year',
    width: 112,
    priority: 2,
    value: () => null,
    show: ({ identifier, year }) =>
      year === undefined ? '' : <Sparkline values={year.closes} label={`Last year of ${identifier}`} />,
  },
  numeric({ id: 'cap', title: 'Market cap', width: 96, priority: 5, of: (row: Row) => row.market_cap, write: compact }),
];
