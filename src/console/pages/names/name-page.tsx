import './names.css';
import { useMemo } from 'preact/hooks';
import type { CorporateActionsResponse, PricesResponse, ReferenceResponse } from '#clients/typescript/divisor.js';
import { Chart, isLogarithmic, ScaleChoice } from '../../components/chart/chart.js';
import type { DayRemark } from '../../components/chart/plot.js';
import { limitToRange, type Line, type Mark, type NumberFormat } from '../../components/chart/series.js';
import { Choice, Select } from '../../components/controls/choice.js';
import { chooseRange, findChosenRange, RangeBar } from '../../components/controls/range.js';
import { Answered, Badge, EmptyState, FiguresSkeleton } from '../../components/feedback.js';
import { Facts, Metrics } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { StoreSelect } from '../../components/stores.js';
import { type Column, readCell } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { addQuery, formatAddress, getParameter, type PageProps, setParameters } from '../../state/location.js';
import { service, useAnswer, useResource } from '../../state/service.js';
import { getChosenStore } from '../../state/stores.js';
import { formatActionValue, formatStatus, SHARE_TYPES } from '../../words/actions.js';
import { formatSecurityAddress, storeAddress } from '../../words/addresses.js';
import { formatReference, PRICE_BASIS } from '../../words/datapoints.js';
import { subtractMonths } from '../../words/dates.js';
import { formatFactor, formatLabel } from '../../words/labels.js';
import { formatChange, formatDecimal, formatMoney, formatPercent, getSignClass } from '../../words/numbers.js';
import { formatCompact } from '../../words/quantities.js';
import {
  computeDayReturn,
  computeReturnOver,
  computeVolatility,
  computeYearToDate,
  findExtremes,
  findStarts,
  readYear,
  storeQuery,
} from './last-year.js';
import { NameTable } from './name-table.js';
import { averagePeriods } from './periods.js';

interface MissingSecurityProps {
  readonly identifier: string;
  /** Store that does not contain the security. Default: the served store. */
  readonly store: string | undefined;
  /** Reason of the service. */
  readonly message: string;
}

/** Renders the reason why a security cannot be shown, with links to the same security in other stores. */
function MissingSecurity({ identifier, store, message }: MissingSecurityProps) {
  const stores = useResource(`stores with ${identifier} ${store}`, (signal) =>
    listStoresWith(identifier, store, signal),
  );
  return (
    <EmptyState title={message}>
      {stores.data !== undefined && stores.data.length === 0 && 'No other registered store contains this security.'}
      {stores.data !== undefined && stores.data.length > 0 && (
        <>
          <p>The security is in other stores:</p>
          <ul class="name-stores">
            {stores.data.map(({ store_id: id, name }) => (
              <li key={id}>
                <a href={formatSecurityAddress(identifier, id)}>{id}</a> <span class="quiet">{name}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </EmptyState>
  );
}

/** Maximum number of securities per search. The security itself is one of them. */
const SEARCHED_MAX = 1000;
/** Maximum length of a search text. */
const TEXT_MAX = 64;

/** Returns the other stores that contain a security. A store that cannot be read is left out. */
async function listStoresWith(identifier: string, missing: string | undefined, signal: AbortSignal) {
  const { stores } = await service.value.call('listStores', { signal });
  const otherStores = stores.filter(({ store_id: id, active }) => (missing === undefined ? !active : id !== missing));
  const hasSecurity = await Promise.all(
    otherStores.map(({ store_id }) =>
      service.value
        .call('searchIdentifiers', {
          query: { q: identifier.slice(0, TEXT_MAX), limit: SEARCHED_MAX, store_id },
          signal,
        })
        .then(
          ({ identifiers }) => identifiers.some((security) => security.identifier === identifier),
          () => false,
        ),
    ),
  );
  return otherStores.filter((_, position) => hasSecurity[position]);
}

interface SecurityProps {
  readonly identifier: string;
  /** Store of the security. Default: the served store. */
  readonly store: string | undefined;
  /** Currency of the prices; null if unknown. */
  readonly currency: string | null;
}

/** Renders the last close with its returns and range over the preceding year. */
function NameFigures({ identifier, store, currency }: SecurityProps) {
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

interface ReferenceProps {
  readonly view: ReferenceResponse;
  /** Currency of the security; null if unknown. */
  readonly currency: string | null;
}

/** Renders the latest reference data of a security, and the universes that contain it. */
function Reference({ view: { fields, universes }, currency }: ReferenceProps) {
  const entries = Object.entries(fields).filter(([, value]) => value !== null);
  if (entries.length === 0 && universes.length === 0) return <p class="quiet">The store contains none.</p>;
  return (
    <Facts
      facts={[
        ...entries.map(([name, value]) => [formatFactor(name), formatReference(name, value, currency), name] as const),
        ...universes.map(
          ({ universe, name, start, end, current }) =>
            [`In ${name ?? universe}`, `${start ?? 'always'} to ${end ?? 'now'}${current ? '' : ', ended'}`] as const,
        ),
      ]}
    />
  );
}

/** Page of one security: its prices, its corporate actions, and its reference data. */
export function NamePage({ params }: PageProps) {
  const identifier = params['name']!; // the route has this parameter
  const store = getChosenStore();
  const reference = useAnswer('getAssetReference', { params: { identifier }, query: storeQuery(store) });
  const actions = useAnswer('getCorporateActions', { params: { identifier }, query: storeQuery(store) });
  const company = reference.data?.fields['NAME'];
  const sector = reference.data?.fields['SECTOR'];
  const priceCurrency = reference.data?.fields['CURRENCY'];
  const currency = typeof priceCurrency === 'string' ? priceCurrency : null;
  const exit = actions.data?.actions.findLast(({ type }) => EXIT_PHRASES.has(type));
  return (
    <Page
      title={identifier}
      above={[
        { address: '/console/data', text: 'Data' },
        store === undefined
          ? { address: '/console/names', text: 'Securities' }
          : { address: formatAddress(storeAddress(store), { tab: 'names' }), text: store },
      ]}
      subtitle={
        <>
          {typeof company === 'string' && <span>{company}</span>}
          {typeof sector === 'string' && <Badge>{sector}</Badge>}
          {currency !== null && <Badge>{currency}</Badge>}
          {exit !== undefined && <Badge kind="warning">{`${EXIT_PHRASES.get(exit.type)} ${exit.ex_date}`}</Badge>}
        </>
      }
    >
      {reference.trouble?.code === 'IDENTIFIER_NOT_FOUND' ? (
        <MissingSecurity identifier={identifier} store={store} message={reference.trouble.message} />
      ) : (
        <>
          <NameFigures identifier={identifier} store={store} currency={currency} />
          <Prices identifier={identifier} store={store} actions={actions.data} currency={currency} />
          <div class="pile gap-5 name-columns">
            <Section title="Corporate actions">
              <Answered resource={actions} what="the corporate actions">
                {(view) => <Actions view={view} currency={currency} />}
              </Answered>
            </Section>
            <Section title="Reference data" aside="latest known values">
              <Answered resource={reference} what="the reference data">
                {(view) => <Reference view={view} currency={currency} />}
              </Answered>
            </Section>
          </div>
        </>
      )}
    </Page>
  );
}

/** Corporate actions after which a security is not traded any more. */
const EXIT_PHRASES: ReadonlyMap<string, string> = new Map([
  ['DELISTING', 'Delisted'],
  ['ACQUISITION', 'Acquired'],
  ['MERGER', 'Merged'],
]);

const BASES = [
  { value: 'splits', text: 'Split-adjusted', help: 'On the share basis of the latest date' },
  { value: 'none', text: 'As traded', help: 'A split appears as a jump' },
  { value: 'total', text: 'With dividends', help: 'Value of a holding with dividends reinvested' },
] as const;
type Basis = (typeof BASES)[number]['value'];

interface PricesProps extends SecurityProps {
  readonly actions: CorporateActionsResponse | undefined;
}

function Prices({ identifier, store, actions, currency }: PricesProps) {
  const adjust = BASES.find(({ value }) => value === getParameter('adjust'))?.value ?? 'splits';
  const prices = useAnswer(
    'getPrices',
    { params: { identifier }, query: { adjust, ...storeQuery(store) } },
    { keeps: true },
  );
  const isLog = usesLogarithms(prices.data);
  return (
    <Section
      title="Prices"
      aside={
        <>
          <Choice
            label="Price basis"
            options={BASES}
            value={adjust}
            onChoose={(chosen) => setParameters({ adjust: chosen === 'splits' ? null : chosen })}
          />
          <ScaleChoice isLog={isLog} />
        </>
      }
    >
      <Answered resource={prices} what={`the prices of ${identifier}`}>
        {(view) => <PriceCharts view={view} basis={adjust} actions={actions} currency={currency} isLog={isLog} />}
      </Answered>
    </Section>
  );
}

/** Returns true if the closes in the selected range are drawn on a logarithmic scale. */
function usesLogarithms(view: PricesResponse | undefined): boolean {
  if (view === undefined) return false;
  const [first, last] = limitToRange(view.prices.index.map(String), findChosenRange());
  return isLogarithmic([createLine(view, 'CLOSE', 1)], first, last);
}

interface PriceChartsProps extends Omit<PricesProps, 'identifier' | 'store'> {
  readonly view: PricesResponse;
  readonly basis: Basis;
  readonly isLog: boolean;
}

const COUNT_UNIT: NumberFormat = { of: 'number', digits: 0 };

/** Renders closes with marks for corporate actions. Another column is drawn below, by default the volume. */
function PriceCharts({ view, basis, actions, currency, isLog }: PriceChartsProps) {
  const { index, columns, data } = view.prices;
  const dates = useMemo(() => index.map(String), [view]);
  const names = columns.filter((column) => column !== 'CLOSE');
  const lowerColumn =
    names.find((name) => name === getParameter('below')) ?? names.find((name) => name === 'VOLUME') ?? names[0];
  const lines = useMemo(
    () => [{ ...createLine(view, 'CLOSE', 1), label: `${formatMoney('Close', currency)}, ${PRICE_BASIS[basis]}` }],
    [view, basis, currency],
  );
  const range = findChosenRange();
  const [first, last] = limitToRange(dates, range);
  const lower = useMemo(() => createLowerChart(view, lowerColumn, last - first + 1), [view, lowerColumn, last - first]);
  const marks = useMemo(() => createMarks(actions, currency), [actions, currency]);
  const jumps = useMemo(() => createJumps(basis, actions, currency), [basis, actions, currency]);
  const [start, end] = [dates[0], dates.at(-1)];
  if (start === undefined || end === undefined || data.length === 0)
    return <EmptyState title="No prices">The store contains no prices of this security.</EmptyState>;
  return (
    <>
      <RangeBar start={start} end={end} />
      <Chart
        label={`CLOSE of ${view.identifier}`}
        dates={dates}
        lines={lines}
        height={300}
        isLog={isLog}
        marks={marks}
        marksAre="corporate actions"
        flags={jumps}
        sync="name"
        range={range}
        onRange={chooseRange}
      />
      {lowerColumn !== undefined && (
        <>
          <Select
            label="Below"
            isLabelShown
            options={names.map((column) => ({ value: column, text: formatLabel(column.toLowerCase()) }))}
            value={lowerColumn}
            onChoose={(column) => setParameters({ below: column })}
          />
          <Chart
            label={`${lowerColumn} of ${view.identifier}`}
            dates={lower.dates}
            lines={lower.lines}
            height={120}
            hasZero
            sync="name"
            range={range}
            onRange={chooseRange}
            unit={lowerColumn === 'VOLUME' ? COUNT_UNIT : { of: 'number', digits: 4 }}
          />
        </>
      )}
    </>
  );
}

function createLine({ prices: { columns, data } }: PricesResponse, column: string, colour: number): Line {
  const position = columns.indexOf(column);
  return {
    id: column,
    label: column,
    colour,
    values: data.map((row) => row[position] as number | null),
  };
}

/**
 * Returns the lower chart. Volumes are bars; over a long period they are averages of weeks or months. Other columns are
 * lines.
 */
function createLowerChart(view: PricesResponse, column: string | undefined, sessions: number) {
  const dates = view.prices.index.map(String);
  if (column === undefined) return { dates, lines: [] };
  const line = { ...createLine(view, column, 8), label: formatLabel(column.toLowerCase()) };
  if (column !== 'VOLUME') return { dates, lines: [{ ...line, isFilled: true }] };
  const { period, values, ...averages } = averagePeriods(dates, line.values, sessions);
  const label = period === '' ? 'Volume, shares' : `Volume, shares per session, average of the ${period}`;
  return { ...averages, lines: [{ ...line, label, values, isBars: true }] };
}

/** Number of months shown before and after an action when its mark is opened. */
const AROUND_MONTHS = 3;

function createMarks(actions: CorporateActionsResponse | undefined, currency: string | null): readonly Mark[] {
  return (actions?.actions ?? []).map(({ ex_date: date, type, value }) => ({
    date,
    label: `${formatType(type)} ${formatActionValue(type, value, currency)}`,
    address: addQuery({ from: subtractMonths(date, AROUND_MONTHS), to: subtractMonths(date, -AROUND_MONTHS) }),
  }));
}

/** Distributions after which a price falls, unless dividends are reinvested. */
const DISTRIBUTION_TYPES: ReadonlySet<string> = new Set([
  'SPECIAL_DIVIDEND',
  'RETURN_OF_CAPITAL',
  'SPIN_OFF',
  'RIGHTS_ISSUE',
]);

/** Returns the actions after which the prices of a basis jump. */
const createJumps = (
  basis: Basis,
  actions: CorporateActionsResponse | undefined,
  currency: string | null,
): readonly DayRemark[] =>
  (actions?.actions ?? [])
    .filter(
      ({ type }) => (basis === 'none' && SHARE_TYPES.has(type)) || (basis !== 'total' && DISTRIBUTION_TYPES.has(type)),
    )
    .map(({ ex_date: date, type, value }) => ({
      date,
      label: `${formatType(type)} ${formatActionValue(type, value, currency)}`,
    }));

const formatType = (type: string): string => type.toLowerCase().replaceAll('_', ' ');

interface ActionsProps {
  readonly view: CorporateActionsResponse;
  readonly currency: string | null;
}

function Actions({ view, currency }: ActionsProps) {
  const { actions, as_of: end, trailing_dividend: dividend, trailing_dividend_yield: dividendYield } = view;
  if (actions.length === 0) return <p class="quiet">The store contains none.</p>;
  return (
    <>
      <Metrics
        label="Totals of corporate actions"
        metrics={[
          {
            term: 'Dividends, 12 months',
            value: formatMoney(formatDecimal(dividend, 4), currency),
            help: 'Ordinary dividends per share in the year to the last close',
            note: `to ${end}`,
          },
          {
            term: 'Dividend yield',
            value: formatPercent(dividendYield),
            help: 'Dividends of 12 months divided by the last close',
            note: `on the close of ${end}`,
          },
          {
            term: 'Cumulative split ratio',
            value: formatDecimal(view.cumulative_split_ratio, 4),
            help: 'Current shares for one share at the start',
            note: 'all splits below',
          },
        ]}
      />
      <Table
        label="corporate actions"
        name="actions"
        columns={createActionColumns(currency).filter((column) =>
          actions.some((row) => readCell(column, row) !== null),
        )}
        rows={actions}
        getKey={({ type, ex_date: date, value }) => `${type} ${date} ${value}`}
        sort={{ column: 'date', direction: 'desc' }}
        height={420}
      />
    </>
  );
}

type Action = CorporateActionsResponse['actions'][number];

const createActionColumns = (currency: string | null): readonly Column<Action>[] => [
  { id: 'date', title: 'Ex date', width: 100, value: (row) => row.ex_date },
  { id: 'type', title: 'Action', width: 92, grow: 1, value: ({ type }) => formatType(type) },
  {
    id: 'value',
    title: 'Value',
    help: 'Cash per share, shares for one held, or a ratio, by the action',
    width: 172,
    align: 'right',
    show: ({ type, value }) => formatActionValue(type, value, currency),
  },
  { id: 'pay', title: 'Pay date', width: 100, priority: 2, value: (row) => row.pay_date },
  { id: 'status', title: 'State', width: 96, priority: 3, value: formatStatus },
  { id: 'cash', title: 'Cash', width: 72, align: 'right', priority: 5 },
  { id: 'related', title: 'Related security', width: 100, priority: 4 },
];

export function NamesPage() {
  return (
    <Page title="Securities" above={[{ address: '/console/data', text: 'Data' }]} subtitle={<StoreSelect />}>
      <NameTable store={getChosenStore()} />
    </Page>
  );
}
