import type { CoverageHistoryResponse } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import type { Line, Unit } from '../../components/chart/series.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { listCompanyColumns } from '../../components/name-column.js';
import { addQuery } from '../../state/location.js';
import { NamesStore, useNames, type NameFacts } from '../../state/names.js';
import { chooseRange, findChosenRange } from '../../state/range.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { countValues, formatCount } from '../../words/numbers.js';

type PriceGaps = CoverageHistoryResponse['gaps'][number];

const SECTION_ID = 'missing-prices';
const SEARCH_PARAMETER = 'gaps.q';

interface MissingPricesLinkProps {
  /** Session to whose missing prices the table is limited; null for all sessions. */
  readonly session: string | null;
  readonly children: ComponentChildren;
}

/** Renders a link to the table of missing prices. */
export const MissingPricesLink = ({ session, children }: MissingPricesLinkProps) => (
  <a
    href={addQuery({ [SEARCH_PARAMETER]: session })}
    onClick={() => document.getElementById(SECTION_ID)?.scrollIntoView()}
  >
    {children}
  </a>
);

const PRICES_UNIT: Unit = { of: 'number', digits: 0 };

interface MissingBarsProps {
  readonly dates: readonly string[];
  /** Number of missing prices by session. */
  readonly missing: readonly number[];
  /** Name of a cursor group, so that the chart has the cursor of the chart above it. */
  readonly sync: string;
}

/** Renders the number of missing prices as a bar for each session. */
export function MissingBars({ dates, missing, sync }: MissingBarsProps) {
  const lines = useMemo<readonly Line[]>(
    () => [{ id: 'missing', label: 'Missing prices', values: missing, colour: 2, isBars: true }],
    [missing],
  );
  return (
    <Chart
      label="Missing prices"
      dates={dates}
      lines={lines}
      height={96}
      unit={PRICES_UNIT}
      hasZero
      sync={sync}
      range={findChosenRange()}
      onRange={chooseRange}
    />
  );
}

interface MissingPricesProps {
  readonly view: Pick<CoverageHistoryResponse, 'dates' | 'gaps' | 'gaps_total'>;
  /** Id of the store; undefined for the served store. */
  readonly store: string | undefined;
}

/** Renders the securities with missing prices and the sessions on which they are missing. */
export function MissingPrices({ view, store }: MissingPricesProps) {
  return (
    <div id={SECTION_ID}>
      <Section
        title="Missing prices by security"
        aside="a search for a date finds the securities without a price on it"
      >
        <NamesStore.Provider value={store ?? null}>
          <GapTable view={view} store={store} />
        </NamesStore.Provider>
        {view.gaps_total > view.gaps.length && (
          <p class="quiet">
            The {formatCount(view.gaps.length)} securities with the most missing prices of{' '}
            {formatCount(view.gaps_total)}.
          </p>
        )}
      </Section>
    </div>
  );
}

function GapTable({ view: { dates, gaps }, store }: MissingPricesProps) {
  const identifiers = useMemo(() => gaps.map(({ identifier }) => identifier), [gaps]);
  const names = useNames(identifiers, undefined);
  const end = dates.at(-1);
  const columns = useMemo(() => createColumns({ gaps, names, store, end }), [gaps, names, store, end]);
  return (
    <Table
      label="missing prices"
      name="gaps"
      columns={columns}
      rows={gaps}
      getKey={({ identifier }) => identifier}
      sort={LATEST_FIRST}
      searchIn={(row) => `${row.identifier} ${names.get(row.identifier)?.name ?? ''} ${row.dates.join(' ')}`}
      height={420}
    />
  );
}

/** Securities whose prices were missing in the latest sessions come first. */
const LATEST_FIRST = { column: 'last', direction: 'desc' } as const;

interface ColumnTerms {
  readonly gaps: readonly PriceGaps[];
  readonly names: ReadonlyMap<string, NameFacts>;
  readonly store: string | undefined;
  /** Last session of the store. */
  readonly end: string | undefined;
}

function createColumns({ gaps, names, store, end }: ColumnTerms): readonly Column<PriceGaps>[] {
  const security: Column<PriceGaps> = {
    id: 'security',
    title: 'Security',
    width: 84,
    grow: 0.6,
    value: ({ identifier }) => identifier,
    show: ({ identifier }) => <a href={formatSecurityAddress(identifier, store)}>{identifier}</a>,
  };
  const company: Column<PriceGaps> = {
    id: 'company',
    title: 'Company',
    width: 120,
    grow: 1,
    priority: 5,
    value: ({ identifier }) => names.get(identifier)?.name ?? null,
  };
  return [
    security,
    ...listCompanyColumns(company, names),
    ...GAP_COLUMNS,
    createSessionsColumn(gaps),
    createHistoryColumn(end),
  ];
}

const GAP_COLUMNS: readonly Column<PriceGaps>[] = [
  createNumericColumn({
    id: 'missing',
    title: 'Missing',
    help: 'Number of sessions without a price between the first and the last price',
    width: 76,
    of: ({ missing }) => missing,
    write: formatCount,
    adds: true,
  }),
  createNumericColumn({
    id: 'longest',
    title: 'Consecutive',
    help: 'Largest number of consecutive sessions without a price',
    width: 104,
    priority: 3,
    of: ({ longest }) => longest,
    write: formatCount,
  }),
  { id: 'first', title: 'First missing', width: 112, priority: 4, value: (row) => row.first_missing },
  { id: 'last', title: 'Last missing', width: 112, priority: 4, value: (row) => row.last_missing },
];

/** Number of dates that fit into one line of a phone. */
const LINE_DATES = 4;

/** Creates a column with the dates without a price. It has two lines if a row has many of them. */
const createSessionsColumn = (gaps: readonly PriceGaps[]): Column<PriceGaps> => ({
  id: 'sessions',
  title: 'Sessions',
  width: 200,
  grow: 4,
  priority: 2,
  ...(gaps.some(({ dates }) => dates.length > LINE_DATES) && { lines: 2 }),
  value: formatSessions,
});

function formatSessions({ dates, missing }: PriceGaps): string {
  const text = dates.toReversed().join(', ');
  return missing > dates.length ? `${text} and ${countValues(missing - dates.length, 'earlier session')}` : text;
}

/**
 * Creates a column with the first and the last price of a security. Prices that end before the last session are not
 * missing afterwards.
 */
const createHistoryColumn = (end: string | undefined): Column<PriceGaps> => ({
  id: 'history',
  title: 'Prices until',
  help: 'Date of the last price; later sessions are not missing',
  width: 104,
  priority: 3,
  value: (row) => row.end,
  show: (row) => (row.end === end ? <span class="quiet">last session</span> : row.end),
});
