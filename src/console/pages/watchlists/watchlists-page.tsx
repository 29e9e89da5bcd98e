import '../data/data.css';
import '../designer/designer.css';
import './watchlists.css';
import { useId, useMemo, useRef, useState } from 'preact/hooks';
import type { IdentifierSearch, Watchlist } from '#clients/typescript/divisor.js';
import { Button, Icon, LinkButton, Popover } from '../../components/controls/button.js';
import { DocumentEditor, type EditedDocument, type EditedKind, IdField } from '../../components/editor.js';
import { Answered, Badge, Banner, FiguresSkeleton, ValueSkeleton } from '../../components/feedback.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { addSign, type LabelledFigure, Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { createRegisterPage, type Register } from '../../components/register.js';
import { StoreSelect } from '../../components/stores.js';
import { type Column, renderContent } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { getParameter, type PageProps } from '../../state/location.js';
import { mapResource, may, useList, useResource, type Resource } from '../../state/service.js';
import { getChosenStore } from '../../state/stores.js';
import { formatSecurityAddress, formatWatchlistAddress } from '../../words/addresses.js';
import { formatMoment, subtractMonths } from '../../words/dates.js';
import {
  countValues,
  formatChange,
  formatCount,
  formatDecimal,
  formatMoney,
  getSignClass,
  MISSING_TEXT,
} from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { formatCompact } from '../../words/quantities.js';
import { findLastPriceDate, formatSecuritiesKey, readAllSecurities, YearLine } from '../names/name-table.js';
import { computeMedian } from '../../words/statistics.js';
import {
  computeDayReturn,
  computeReturnOver,
  computeYearToDate,
  readYears,
  type YearPrices,
} from '../names/last-year.js';

/** Maximum number of suggestions. */
const SUGGESTED_MAX = 20;

interface AddSecurityProps {
  /** Securities of the store. */
  readonly known: readonly Security[];
  /** Identifiers of the list. */
  readonly listed: readonly string[];
  /** True for an input that takes the width of the page. */
  readonly isWide: boolean;
  onAdd(identifiers: readonly string[]): void;
}

/** Renders an input for one or several identifiers with a button. It suggests identifiers and companies. */
function AddSecurity({ known, listed, isWide, onAdd }: AddSecurityProps) {
  const [typed, setTyped] = useState('');
  const listId = useId();
  const addedIdentifiers = parseTyped(typed, known).filter((identifier) => !listed.includes(identifier));
  return (
    <form
      class={isWide ? 'flow gap-3 form-actions is-wide' : 'flow gap-3 form-actions'}
      onSubmit={(event) => {
        event.preventDefault();
        if (addedIdentifiers.length > 0) onAdd([...new Set(addedIdentifiers)]);
        setTyped('');
      }}
    >
      <input
        class="control"
        aria-label="Security to add"
        placeholder="Add a security or company"
        list={listId}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <datalist id={listId}>
        {suggestionsFor(typed, known, listed).map(({ identifier, name }) => (
          <option key={identifier} value={identifier}>
            {name}
          </option>
        ))}
      </datalist>
      <Button type="submit" disabled={addedIdentifiers.length === 0}>
        <Icon name="plus" /> Add
      </Button>
    </form>
  );
}

/**
 * Returns the identifiers that were typed, separated by commas. Upper and lower case are those of the store. The name
 * of a company stands for its security.
 */
function parseTyped(typed: string, securities: readonly Security[]): readonly string[] {
  return typed
    .split(/[,;\n]/)
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => {
      const wantedText = text.toLowerCase();
      const foundSecurities = securities.find(
        ({ identifier, name }) => identifier.toLowerCase() === wantedText || name?.toLowerCase() === wantedText,
      );
      return foundSecurities?.identifier ?? text;
    });
}

function suggestionsFor(
  typed: string,
  securities: readonly Security[],
  listed: readonly string[],
): readonly Security[] {
  const text = typed.trim().toLowerCase();
  if (text === '') return [];
  return securities
    .filter(
      ({ identifier, name }) =>
        !listed.includes(identifier) && `${identifier} ${name ?? ''}`.toLowerCase().includes(text),
    )
    .slice(0, SUGGESTED_MAX);
}

const WATCHLISTS: EditedKind = {
  kind: 'watchlist',
  derived: ['updated_at', 'unknown'],
  list: '/console/watchlists',
  formatAddress: (id) => formatWatchlistAddress(id, getChosenStore()),
};

/** Page of one watchlist: its name, and its securities with their last closes. */
export function WatchlistPage({ params }: PageProps) {
  const id = params['id'] ?? null;
  return (
    <DocumentEditor of={WATCHLISTS} id={id} create={() => ({ watchlist_id: '', name: '', identifiers: [] })}>
      {({ document: { name }, etag }) => ({
        ...(id !== null && { title: String(name) }),
        subtitle: <StoreSelect />,
        above: [
          { address: '/console/data', text: 'Data' },
          { address: '/console/watchlists', text: 'Watchlists' },
        ],
        children: (edited) => (
          <>
            {id === null && <Form edited={edited} isStored={false} />}
            <Securities edited={edited} isStored={etag !== null} />
          </>
        ),
      })}
    </DocumentEditor>
  );
}

function Form({ edited, isStored }: { readonly edited: EditedDocument; readonly isStored: boolean }) {
  const { document, findings, set } = edited;
  const form = {
    schema: 'WatchlistUpsert',
    value: document,
    findings,
    onChange: set,
  };
  return (
    <div class="form-card">
      <div class="pile field-grid is-joined">
        <SchemaForm {...form} names={['name']} />
        <IdField edited={edited} member="watchlist_id" isFixed={isStored} />
        <SchemaForm {...form} except={isStored ? ['name'] : ['name', 'identifiers']} />
      </div>
    </div>
  );
}

interface SecuritiesProps {
  readonly edited: EditedDocument;
  readonly isStored: boolean;
}

/**
 * Renders the securities of a list and, if the list is stored, its form. Securities are added and removed in the table.
 */
function Securities({ edited, isStored }: SecuritiesProps) {
  const { document, set, isChanged } = edited;
  const store = getChosenStore();
  const names = useResource(formatSecuritiesKey(store), (signal) => readAllSecurities(signal, store));
  const identifiers = getIdentifiers(document);
  const change = (next: readonly string[]) => set({ ...document, identifiers: [...next] });
  const mayEdit = may('write');
  const addition = (
    <AddSecurity
      known={names.data ?? []}
      listed={identifiers}
      isWide={!isStored}
      onAdd={(added) => change([...identifiers, ...added])}
    />
  );
  return (
    <>
      <Section
        title="Securities"
        aside={
          mayEdit && (
            <>
              {isStored && isChanged && <span>not saved yet</span>}
              {isStored && addition}
              {isStored && (
                <Popover label="Edit the list: name, description and order" title="Edit the list">
                  {() => <Form edited={edited} isStored />}
                </Popover>
              )}
            </>
          )
        }
      >
        {identifiers.length === 0 && (
          <p class="quiet">Add securities by identifier or company; several are separated by commas.</p>
        )}
        {mayEdit && !isStored && addition}
        {identifiers.length > 0 && (
          <EditedTable
            identifiers={identifiers}
            onRemove={mayEdit ? (removed) => change(identifiers.filter((own) => !removed.includes(own))) : undefined}
          />
        )}
      </Section>
    </>
  );
}

const getIdentifiers = ({ identifiers }: JsonObject): readonly string[] =>
  Array.isArray(identifiers) ? identifiers.filter((identifier) => typeof identifier === 'string') : [];

interface PricedList extends Watchlist, ListSummary {
  readonly rows: readonly Row[];
  /** Last date of the data store. */
  readonly lastDate: string;
  /** True while the prices of a security are loading. */
  readonly isAwaited: boolean;
}

function useWatchlists(): Resource<readonly PricedList[]> {
  const store = getChosenStore();
  const lists = useList('watchlists');
  const names = useResource(formatSecuritiesKey(store), (signal) => readAllSecurities(signal, store));
  const watchlists = lists.data?.watchlists ?? [];
  const all = names.data ?? [];
  const lastDate = findLastPriceDate(all);
  const shown = findShownList(watchlists);
  // The prices of the selected list are read first.
  const identifiers = [
    ...new Set([...(shown === undefined ? [] : [shown]), ...watchlists].flatMap((list) => list.identifiers)),
  ];
  const rowById = new Map(usePricedRows(listSecurities(all, identifiers)).map((row) => [row.identifier, row]));
  return mapResource<unknown, readonly PricedList[]>(watchlists.length === 0 ? lists : names, () =>
    watchlists.map((list): PricedList => {
      const rows = list.identifiers.map((identifier) => rowById.get(identifier)!); // every identifier has a row
      return {
        ...list,
        ...summariseList(rows, lastDate),
        rows,
        lastDate,
        isAwaited: rows.some((row) => row.isAwaited),
      };
    }),
  );
}

/** Returns the watchlist in the address. Default: the list that was saved last. */
const findShownList = <L extends Watchlist>(lists: readonly L[]): L | undefined =>
  lists.find(({ watchlist_id: id }) => id === getParameter('list')) ??
  lists.toSorted((a, b) => (a.updated_at < b.updated_at ? 1 : -1))[0];

/** Renders the securities of the selected watchlist. */
function ShownList({ list }: { readonly list: PricedList | undefined }) {
  if (list === undefined) return null;
  const { watchlist_id: id, name, rows, lastDate } = list;
  return (
    <Section title={name} aside={<LinkButton href={formatWatchlistAddress(id, getChosenStore())}>Edit</LinkButton>}>
      <WatchedTable key={id} rows={rows} lastDate={lastDate} />
    </Section>
  );
}

/** Returns a column of a median, which is unknown while the prices of a security are loading or not read. */
const createMedianColumn = (
  column: Pick<Column<PricedList>, 'id' | 'title' | 'priority'>,
  of: (list: PricedList) => number | null,
): Column<PricedList> => ({
  ...column,
  help: 'Median of the securities with a price on the last date of the data store',
  width: 110,
  value: (list) => (list.isAwaited || list.traded.some(({ year }) => year === undefined) ? null : of(list)),
  write: addSign,
});

const COLUMNS: readonly Column<PricedList>[] = [
  {
    id: 'name',
    title: 'Watchlist',
    width: 110,
    grow: 2,
    show: ({ name, watchlist_id: id }) => <strong title={id}>{name}</strong>,
  },
  {
    id: 'names',
    title: 'Securities',
    width: 206,
    grow: 1,
    value: (list) => list.rows.length,
    show: ({ rows, ended, missing }) => (
      <>
        {formatCount(rows.length)} <Note rows={ended} state="ended" /> <Note rows={missing} state="not in the store" />
      </>
    ),
  },
  createMedianColumn({ id: 'day', title: 'Median 1 day', priority: 4 }, ({ medianDay }) => medianDay),
  createMedianColumn({ id: 'ytd', title: 'Median YTD', priority: 2 }, ({ medianYear }) => medianYear),
  {
    id: 'cap',
    title: 'Market cap',
    help: 'Sum of the securities with a price on the last date of the data store',
    width: 110,
    priority: 5,
    align: 'right',
    value: ({ capital }) => capital?.sum ?? null,
    show: ({ capital }) => formatMoney(formatCompact(capital?.sum ?? null), capital?.currency ?? null),
  },
  {
    id: 'at',
    title: 'Saved',
    width: 172,
    priority: 6,
    value: (row) => row.updated_at,
    show: (row) => formatMoment(row.updated_at),
  },
];

/** Renders the number of securities in a state. */
const Note = ({ rows, state }: { readonly rows: readonly Row[]; readonly state: string }) =>
  rows.length === 0 ? null : (
    <Badge kind="warning" title={rows.map(({ identifier }) => identifier).join(', ')}>
      {formatCount(rows.length)} {state}
    </Badge>
  );

type Security = IdentifierSearch['identifiers'][number];

/** A security of a watchlist with its closes of the last year. */
interface Row extends Security {
  /** True if the data store does not contain the security. All its values are then unknown. */
  readonly isMissing: boolean;
  readonly year: YearPrices | undefined;
  /** True while the last year is loading. */
  readonly isAwaited: boolean;
}

interface ColumnsTerms {
  /** Last date of the data store; empty if it has no prices. */
  readonly lastDate: string;
  /** Currency of all securities; null if they differ. Each amount then has its currency. */
  readonly currency: string | null;
}

/** Returns true if a security has a close on the last date of the data store. */
const hasTraded = (rows: readonly Row[], lastDate: string): boolean => rows.some(({ end }) => end === lastDate);

/** Returns the currency of all securities; null if they differ or are unknown. */
function findCommonCurrency(rows: readonly Row[]): string | null {
  const [currency = null, ...others] = new Set(rows.filter(({ isMissing }) => !isMissing).map((row) => row.currency));
  return others.length === 0 ? currency : null;
}

/** Columns that depend on the last year. */
const YEAR_COLUMNS: ReadonlySet<string> = new Set(['day', 'month', 'ytd', 'year', 'line']);

/**
 * Returns the columns. A security that ended or is missing has its reason next to the company. Its returns are not
 * shown, because they would be read as current.
 */
const createColumns = (terms: ColumnsTerms): readonly Column<Row>[] => [
  {
    id: 'identifier',
    title: 'Security',
    width: 76,
    ideal: 110,
    show: ({ identifier }) => <strong>{identifier}</strong>,
  },
  createCompanyColumn(terms),
  { id: 'sector', title: 'Sector', width: 186, grow: 1, priority: 7, below: 'nothing' },
  createCloseColumn(terms),
  createReturnColumn(terms, { id: 'day', title: '1 day', width: 72, of: ({ year }) => computeDayReturn(year) }),
  createReturnColumn(terms, {
    id: 'month',
    title: '1 month',
    priority: 6,
    below: 'nothing',
    of: ({ year }) => computeReturnOver(year, 1),
  }),
  createReturnColumn(terms, { id: 'ytd', title: 'YTD', width: 76, of: ({ year }) => computeYearToDate(year) }),
  createReturnColumn(terms, {
    id: 'year',
    title: '1 year',
    priority: 3,
    below: 'nothing',
    of: ({ year }) => computeReturnOver(year, 12),
  }),
  createLineColumn(terms),
  createCapitalColumn(terms),
  {
    id: 'end',
    title: 'Last session',
    width: 100,
    priority: 5,
    below: 'nothing',
    show: (row) => <span class={isPast(row, terms) ? 'quiet' : ''}>{row.end ?? MISSING_TEXT}</span>,
  },
];

const createRemoveColumn = (onRemove: (identifier: string) => void): Column<Row> => ({
  id: 'remove',
  title: '',
  width: 50,
  value: () => null,
  show: ({ identifier }) => (
    <Button kind="bare" aria-label={`Remove ${identifier} from the list`} onClick={() => onRemove(identifier)}>
      <Icon name="close" />
    </Button>
  ),
});

/** Returns true if a security has no current values. */
const isPast = (row: Row, terms: ColumnsTerms): boolean => row.isMissing || isEnded(row, terms);

/** Returns true if the prices of a security end before those of the data store. */
const isEnded = ({ end }: Row, { lastDate }: ColumnsTerms): boolean => end !== null && end < lastDate;

const createCompanyColumn = (terms: ColumnsTerms): Column<Row> => ({
  id: 'company',
  title: 'Company',
  width: 230,
  grow: 1,
  priority: 2,
  value: ({ name, isMissing }) => (isMissing ? 'not in the store' : name),
  show: (row) => <Company row={row} terms={terms} />,
});

function Company({ row, terms }: { readonly row: Row; readonly terms: ColumnsTerms }) {
  if (row.isMissing)
    return (
      <Badge kind="warning" title="Choose the data store that contains it, or correct the identifier">
        not in the store
      </Badge>
    );
  if (row.end !== null && !isEnded(row, terms)) return <>{row.name}</>;
  return (
    <>
      {row.name}{' '}
      <Badge kind="warning" title={`The data store has prices to ${terms.lastDate}`}>
        {row.end === null ? 'no price' : `ended ${row.end}`}
      </Badge>
    </>
  );
}

const createCloseColumn = ({ currency, ...terms }: ColumnsTerms): Column<Row> => ({
  id: 'close',
  title: 'Last close',
  help: currency === null ? 'As traded, in the currency of the security' : `As traded, in ${currency}`,
  width: currency === null ? 112 : 84,
  align: 'right',
  show: (row) => (
    <span class={isPast(row, { currency, ...terms }) ? 'quiet' : ''}>
      {formatMoney(
        formatDecimal(row.close, row.close !== null && row.close < 1 ? 4 : 2),
        currency === null ? row.currency : null,
      )}
    </span>
  ),
});

const createCapitalColumn = ({ currency, lastDate }: ColumnsTerms): Column<Row> => ({
  id: 'cap',
  title: 'Market cap',
  help: `On the date of the last close, in ${currency ?? 'the currency of the security'}`,
  width: 104,
  priority: 4,
  below: 'nothing',
  align: 'right',
  value: (row) => row.market_cap,
  show: (row) => (
    <span class={isPast(row, { currency, lastDate }) ? 'quiet' : ''}>
      {formatMoney(formatCompact(row.market_cap), currency === null ? row.currency : null)}
    </span>
  ),
});

interface ReturnColumn extends Pick<Column<Row>, 'id' | 'title' | 'priority' | 'below'> {
  readonly width?: number;
  of(row: Row): number | null;
}

function createReturnColumn(terms: ColumnsTerms, { of, width = 80, ...column }: ReturnColumn): Column<Row> {
  return {
    ...column,
    help: 'With dividends, in the currency of the security',
    width,
    value: (row) => (isPast(row, terms) ? null : of(row)),
    write: addSign,
    show: (row) =>
      isPast(row, terms) ? (
        <span class="quiet" title={row.isMissing ? undefined : `${formatChange(of(row))} to ${row.end}`}>
          {MISSING_TEXT}
        </span>
      ) : (
        addSign(of(row))
      ),
  };
}

/** Returns the column of lines. Their time axis is the year to the last date of the data store. */
const createLineColumn = ({ lastDate }: ColumnsTerms): Column<Row> => ({
  id: 'line',
  title: '1-year chart',
  help: `Closes with dividends in the year to ${lastDate}`,
  width: 120,
  priority: 2,
  below: 'nothing',
  value: () => null,
  show: ({ identifier, year }) =>
    year === undefined || year.dates.at(-1)! <= subtractMonths(lastDate, 12) ? (
      <></>
    ) : (
      <YearLine year={year} end={lastDate} label={`Last year of ${identifier}`} />
    ),
});

interface SecurityReturn {
  readonly identifier: string;
  readonly value: number;
}

/** Summary of the securities of a list that have a close on the last date of the data store. */
interface ListSummary {
  readonly traded: readonly Row[];
  /** Securities of the data store without a close on its last date. */
  readonly ended: readonly Row[];
  /** Securities that the data store does not contain. */
  readonly missing: readonly Row[];
  /** Known returns in ascending order. */
  readonly days: readonly SecurityReturn[];
  readonly years: readonly SecurityReturn[];
  readonly medianDay: number | null;
  readonly medianYear: number | null;
  /** Sum of the known market capitalisations; null if there is none or if they have different currencies. */
  readonly capital: Capital | null;
}

interface Capital {
  readonly sum: number;
  readonly currency: string | null;
  /** Number of securities in the sum. */
  readonly count: number;
}

/** @param lastDate last date of the data store; empty if it has no prices */
function summariseList(rows: readonly Row[], lastDate: string): ListSummary {
  const stored = rows.filter(({ isMissing }) => !isMissing);
  const traded = stored.filter(({ end }) => end === lastDate);
  const days = listReturns(traded, computeDayReturn);
  const years = listReturns(traded, computeYearToDate);
  return {
    traded,
    ended: stored.filter(({ end }) => end !== lastDate),
    missing: rows.filter(({ isMissing }) => isMissing),
    days,
    years,
    medianDay: findMedian(days),
    medianYear: findMedian(years),
    capital: sumCapital(traded),
  };
}

/** Maximum number of securities that are named in a text. */
const NAMED_MAX = 2;

/** Names a few securities. If there are more, gives only their number. */
const formatNames = (rows: readonly Row[]): string =>
  rows.length > NAMED_MAX
    ? countValues(rows.length, 'security', 'securities')
    : rows.map(({ identifier }) => identifier).join(' and ');

const listReturns = (
  rows: readonly Row[],
  over: (year: YearPrices | undefined) => number | null,
): readonly SecurityReturn[] =>
  rows
    .flatMap(({ identifier, year }) => {
      const value = over(year);
      return value === null ? [] : [{ identifier, value }];
    })
    .toSorted((a, b) => a.value - b.value);

const findMedian = (returns: readonly SecurityReturn[]): number | null =>
  returns.length === 0 ? null : computeMedian(returns.map(({ value }) => value));

function sumCapital(rows: readonly Row[]): Capital | null {
  const knownRows = rows.filter(({ market_cap: cap }) => cap !== null);
  const [currency = null, ...others] = new Set(knownRows.map((row) => row.currency));
  if (knownRows.length === 0 || others.length > 0) return null;
  return { sum: knownRows.reduce((total, { market_cap: cap }) => total + cap!, 0), currency, count: knownRows.length };
}

interface WatchedFiguresProps {
  readonly rows: readonly Row[];
  /** Last date of the data store; empty if it has no prices. */
  readonly lastDate: string;
}

/** Minimum number of traded securities of which the highest and the lowest return are shown. */
const EXTREMES_MIN = 3;

/**
 * Renders a summary of the securities of a list: how many gained, the median, the extremes and the total size. Only the
 * securities with a price on the last date of the data store count. If there are none, nothing is rendered.
 */
function WatchedFigures({ rows, lastDate }: WatchedFiguresProps) {
  if (rows.some(({ isAwaited }) => isAwaited)) return <FiguresSkeleton />;
  const summary = summariseList(rows, lastDate);
  const { traded, days, years, medianDay, medianYear, capital } = summary;
  if (traded.length === 0) return null;
  const [worst, best] = years.length < EXTREMES_MIN ? [] : [years[0], years.at(-1)];
  const count: LabelledFigure = {
    term: 'With a current price',
    value: `${formatCount(traded.length)} of ${formatCount(rows.length)}`,
    ...createNote(formatOthers(summary)),
  };
  const metrics = [
    count,
    ...createSignedMetric('Median 1-day return', medianDay, formatGains(days)),
    ...createSignedMetric('Median YTD return', medianYear, formatGains(years)),
    ...createSignedMetric('Highest YTD', best?.value ?? null, best?.identifier ?? null),
    ...createSignedMetric('Lowest YTD', worst?.value ?? null, worst?.identifier ?? null),
    ...(capital === null
      ? []
      : [
          {
            term: 'Market cap',
            value: formatMoney(formatCompact(capital.sum), capital.currency),
            note: `sum of ${formatCount(capital.count)}`,
          },
        ]),
  ];
  return <Metrics label="Figures of the list" metrics={metrics} />;
}

/** Formats the number of gains, for example `2 of 12 gained`. */
const formatGains = (returns: ListSummary['days']): string =>
  `${formatCount(returns.filter(({ value }) => value > 0).length)} of ${formatCount(returns.length)} gained`;

/** Names the securities without a current price, for example `BADD ended, 3 not in the store`; null if there is none. */
function formatOthers({ ended, missing }: ListSummary): string | null {
  const parts = [formatPart(ended, 'ended'), formatPart(missing, 'not in the store')].filter((part) => part !== '');
  return parts.length === 0 ? null : parts.join(', ');
}

const formatPart = (rows: readonly Row[], state: string): string =>
  rows.length === 0 ? '' : `${formatNames(rows)} ${state}`;

const createNote = (note: string | null) => (note === null ? {} : { note });

const createSignedMetric = (term: string, value: number | null, note: string | null): readonly LabelledFigure[] =>
  value === null ? [] : [{ term, value: formatChange(value), kind: getSignClass(value), ...createNote(note) }];

/** Maximum number of securities whose prices are read. Each needs a request. */
const PRICED_MAX = 100;

/** A security of a watchlist without its prices. */
type ListedSecurity = Pick<Row, keyof Security | 'isMissing'>;

/** Returns securities in the order of their identifiers. Securities that are not in the data store have no values. */
function listSecurities(all: readonly Security[], identifiers: readonly string[]): readonly ListedSecurity[] {
  const rowById = new Map(all.map((row) => [row.identifier, row]));
  return identifiers.map((identifier) => {
    const row = rowById.get(identifier);
    return { ...(row ?? { ...UNKNOWN, identifier }), isMissing: row === undefined };
  });
}

const UNKNOWN = { name: null, start: null, end: null, sector: null, currency: null, close: null, market_cap: null };

/** Reads the last year of the first securities. Years that were already read are not requested again. */
function usePricedRows(securities: readonly ListedSecurity[]): readonly Row[] {
  const store = getChosenStore();
  const pricedSecurities = securities.filter(({ isMissing }) => !isMissing).slice(0, PRICED_MAX);
  const read = useRef(new Map<string, YearPrices>());
  const formatKey = ({ identifier, end }: Security) => `${store} ${identifier} ${end}`;
  const years = useResource(
    `years ${pricedSecurities.map(formatKey).join(' ')}`,
    async (signal) => {
      const missing = pricedSecurities.filter((security) => !read.current.has(formatKey(security)));
      const missingYears = await readYears(missing, signal, store);
      for (const security of missing) {
        const year = missingYears.get(security.identifier);
        if (year !== undefined) read.current.set(formatKey(security), year);
      }
      return new Map(pricedSecurities.flatMap((one) => listEntries(one.identifier, read.current.get(formatKey(one)))));
    },
    { follows: false },
  );
  const isAwaited = years.data === undefined && years.trouble === null;
  const pricedIds = new Set(pricedSecurities.map(({ identifier }) => identifier));
  return securities.map((security): Row => {
    const year = years.data?.get(security.identifier) ?? read.current.get(formatKey(security));
    return { ...security, year, isAwaited: isAwaited && year === undefined && pricedIds.has(security.identifier) };
  });
}

const listEntries = (identifier: string, year: YearPrices | undefined): readonly (readonly [string, YearPrices])[] =>
  year === undefined ? [] : [[identifier, year]];

/** Number of securities above which the table can be searched. A shorter list is read at a glance. */
const SEARCHED_MIN = 8;

interface EditedTableProps {
  readonly identifiers: readonly string[];
  /** Removes securities from the list. If absent, the list cannot be edited. */
  readonly onRemove?: ((identifiers: readonly string[]) => void) | undefined;
}

function EditedTable({ identifiers, onRemove }: EditedTableProps) {
  const store = getChosenStore();
  const names = useResource(formatSecuritiesKey(store), (signal) => readAllSecurities(signal, store));
  return (
    <Answered resource={names} what="the securities">
      {(all) => <PricedTable all={all} identifiers={identifiers} onRemove={onRemove} />}
    </Answered>
  );
}

function PricedTable({ all, identifiers, onRemove }: EditedTableProps & { readonly all: readonly Security[] }) {
  const rows = usePricedRows(listSecurities(all, identifiers));
  return <WatchedTable rows={rows} lastDate={findLastPriceDate(all)} onRemove={onRemove} />;
}

interface WatchedTableProps extends Pick<EditedTableProps, 'onRemove'> {
  readonly rows: readonly Row[];
  /** Last date of the data store; empty if it has no prices. */
  readonly lastDate: string;
}

/** Renders securities in the order of their watchlist. Each has its returns and a line chart of the last year. */
function WatchedTable({ rows, lastDate, onRemove }: WatchedTableProps) {
  const store = getChosenStore();
  const currency = findCommonCurrency(rows);
  const isTraded = hasTraded(rows, lastDate);
  const missing = rows.filter(({ isMissing }) => isMissing);
  // Without a current price there are no returns.
  const columns = useMemo(
    () => createColumns({ lastDate, currency }).filter(({ id }) => isTraded || !YEAR_COLUMNS.has(id)),
    [lastDate, currency, isTraded],
  );
  const isAwaited = rows.some((row) => row.isAwaited);
  return (
    <>
      {onRemove !== undefined && missing.length > 0 && <MissingBanner missing={missing} onRemove={onRemove} />}
      <WatchedFigures rows={rows} lastDate={lastDate} />
      <p class="quiet">{formatTerms(rows, lastDate, currency)}</p>
      <Table
        label="names"
        name="watched"
        columns={[
          ...(isAwaited ? columns.map(createAwaitedColumn) : columns),
          ...(onRemove === undefined ? [] : [createRemoveColumn((identifier) => onRemove([identifier]))]),
        ]}
        rows={rows}
        getKey={({ identifier }) => identifier}
        formatAddress={({ identifier }) => formatSecurityAddress(identifier, store)}
        {...(rows.length > SEARCHED_MIN && { searchIn: formatSearchText })}
        height={560}
      />
      {rows.filter(({ isMissing }) => !isMissing).length > PRICED_MAX && (
        <p class="quiet">Returns are read for the first {formatCount(PRICED_MAX)} securities.</p>
      )}
    </>
  );
}

interface MissingProps {
  /** Securities of the list that are not in the data store. */
  readonly missing: readonly Row[];
  onRemove(identifiers: readonly string[]): void;
}

/** Renders what to do about securities that are not in the data store. */
const MissingBanner = ({ missing, onRemove }: MissingProps) => (
  <Banner
    kind="warning"
    title={`${formatNames(missing)} ${missing.length === 1 ? 'is' : 'are'} not in the store`}
    action={
      <Button onClick={() => onRemove(missing.map(({ identifier }) => identifier))}>
        {missing.length === 1 ? 'Remove it' : 'Remove them'}
      </Button>
    }
  >
    Correct the identifier under Edit the list, or remove the security.
  </Banner>
);

const formatSearchText = ({ identifier, name, sector }: Row): string => `${identifier} ${name ?? ''} ${sector ?? ''}`;

/** Describes the currency and the last date of the closes, and the order of the rows. */
function formatTerms(rows: readonly Row[], lastDate: string, currency: string | null): string {
  const isTraded = hasTraded(rows, lastDate);
  const closes = `Closes and market caps${currency === null ? '' : ` in ${currency}`}${isTraded ? ` to ${lastDate}` : ''}`;
  const order = getParameter('watched.sort') === null ? 'in the order of the list' : 'sorted by a column';
  return `${closes}, ${order}.${isTraded || lastDate === '' ? '' : ` No security has a price on ${lastDate}.`}`;
}

/** Returns a column that shows an outline while its values are loading. */
const createAwaitedColumn = (column: Column<Row>): Column<Row> =>
  YEAR_COLUMNS.has(column.id)
    ? { ...column, show: (row) => (row.isAwaited ? <ValueSkeleton /> : renderContent(column, row)) }
    : column;

const watchlistRegister: Register<PricedList> = {
  title: 'Watchlists',
  name: 'lists',
  label: 'watchlists',
  above: [{ address: '/console/data', text: 'Data' }],
  actions: () =>
    may('write') && (
      <LinkButton kind="main" href="/console/watchlists/new">
        <Icon name="plus" /> New watchlist
      </LinkButton>
    ),
  useRows: useWatchlists,
  columns: COLUMNS,
  sort: { column: 'name', direction: 'asc' },
  height: 240,
  empty: {
    title: 'No watchlist yet',
    text: 'A watchlist is an ordered list of securities, with their returns. It may be the universe of an index.',
  },
  parameter: 'list',
  getKey: ({ watchlist_id: id }) => id,
  findOpenKey: (lists) => findShownList(lists)?.watchlist_id ?? null,
  searchIn: ({ watchlist_id: id, name }) => `${id} ${name}`,
  searchMin: 8,
  renderBelow: (lists) => <ShownList list={findShownList(lists)} />,
};

export const WatchlistsPage = createRegisterPage(watchlistRegister);
