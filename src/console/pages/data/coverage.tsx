import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { CoverageHistoryResponse, DataStore, FieldList } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import { layerCovered, type Line, type NumberFormat } from '../../components/chart/series.js';
import { chooseRange, findChosenRange, RangeBar } from '../../components/controls/range.js';
import { Answered } from '../../components/feedback.js';
import { Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { listCompanyColumns } from '../../components/securities.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { addQuery, getParameter, setParameters } from '../../state/location.js';
import { type NameFacts, NamesStore, useNames } from '../../state/market.js';
import { service, useAnswer, useResource } from '../../state/service.js';
import { formatSecurityAddress, storeAddress } from '../../words/addresses.js';
import { formatDatapoint } from '../../words/datapoints.js';
import { countValues, formatCount, formatPercent, MISSING_TEXT } from '../../words/numbers.js';
import { getMeaning } from './store-words.js';

type PriceGaps = CoverageHistoryResponse['gaps'][number];

const SECTION_ID = 'missing-prices';
const SEARCH_PARAMETER = 'gaps.q';

interface MissingPricesLinkProps {
  /** Session to whose missing prices the table is limited; null for all sessions. */
  readonly session: string | null;
  readonly children: ComponentChildren;
}

const MissingPricesLink = ({ session, children }: MissingPricesLinkProps) => (
  <a
    href={addQuery({ [SEARCH_PARAMETER]: session })}
    onClick={() => document.getElementById(SECTION_ID)?.scrollIntoView()}
  >
    {children}
  </a>
);

const PRICES_UNIT: NumberFormat = { of: 'number', digits: 0 };

interface MissingBarsProps {
  readonly dates: readonly string[];
  readonly missing: readonly number[];
  /** Name of a cursor group, so that the chart has the cursor of the chart above it. */
  readonly sync: string;
}

function MissingBars({ dates, missing, sync }: MissingBarsProps) {
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
function MissingPrices({ view, store }: MissingPricesProps) {
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
  {
    id: 'missing',
    title: 'Missing',
    help: 'Number of sessions without a price between the first and the last price',
    width: 76,
    write: formatCount,
    adds: true,
  },
  {
    id: 'longest',
    title: 'Consecutive',
    help: 'Largest number of consecutive sessions without a price',
    width: 104,
    priority: 3,
    write: formatCount,
  },
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

const SECURITIES_UNIT: NumberFormat = { of: 'number', digits: 0 };

/** Renders how many securities have a price over time, and the data that rules can use. */
export function Coverage({ store }: { readonly store: DataStore }) {
  const query = { store_id: store.store_id };
  const history = useResource(`coverage ${store.store_id} ${store.content_hash}`, (signal) =>
    service.value.call('getCoverageHistory', { query, signal }),
  );
  const fields = useResource(`fields ${store.store_id} ${store.content_hash}`, (signal) =>
    service.value.call('listFields', { query, signal }),
  );
  return (
    <div class="stack gap-5">
      <Answered resource={history} what="the coverage through time">
        {(view) => (
          <>
            <Through view={view} />
            {view.gaps_total > 0 && <MissingPrices view={view} store={store.active ? undefined : store.store_id} />}
          </>
        )}
      </Answered>
      <Answered resource={fields} what="the fields">
        {({ fields: all, universes }) => (
          <>
            <Fields rows={all.map((field) => addCoverage(field, history.data))} store={store.store_id} />
            {universes.length > 0 && (
              <Section title="Universes" aside="lists of securities by date, for the universe of an index">
                <p>
                  {universes.map((name) => (
                    <code key={name}>{name} </code>
                  ))}
                </p>
              </Section>
            )}
          </>
        )}
      </Answered>
    </div>
  );
}

interface CoverageChartProps {
  readonly store: DataStore;
  /** Height in pixels. */
  readonly height: number;
}

/** Renders how many securities have a price over time, and the average of this coverage. */
export function CoverageChart({ store, height }: CoverageChartProps) {
  const history = useResource(`coverage ${store.store_id} ${store.content_hash}`, (signal) =>
    service.value.call('getCoverageHistory', { query: { store_id: store.store_id }, signal }),
  );
  return (
    <Section
      title="Securities with a price"
      aside={<a href={`${storeAddress(store.store_id)}?tab=coverage`}>Gaps and fields</a>}
    >
      <Answered resource={history} what="the coverage through time">
        {(view) => <CoverageLines view={view} height={height} />}
      </Answered>
    </Section>
  );
}

interface CoverageLinesProps {
  readonly view: CoverageHistoryResponse;
  /** Height in pixels. */
  readonly height: number;
}

function CoverageLines({ view: { dates, priced, expected }, height }: CoverageLinesProps) {
  const lines = useMemo(() => {
    const pricedLine: Line = { id: 'priced', label: 'Securities with a price', values: priced, colour: 1 };
    const isComplete = priced.every((count, t) => count === expected[t]);
    if (isComplete) return [{ ...pricedLine, label: 'Securities with a price, as expected' }];
    return layerCovered([
      pricedLine,
      { id: 'expected', label: 'Securities expected to have a price', values: expected, colour: 2 },
    ]);
  }, [priced, expected]);
  if (dates.length === 0) return <p class="quiet">The store has no prices.</p>;
  return <Chart label="Securities by session" dates={dates} lines={lines} height={height} unit={SECURITIES_UNIT} />;
}

const CURSOR_GROUP = 'coverage';

/**
 * Renders figures, the number of securities expected to have a price, and the missing prices. A security that leaves
 * lowers the number; a gap is a bar.
 */
function Through({ view }: { readonly view: CoverageHistoryResponse }) {
  const { dates, priced, expected } = view;
  const missing = useMemo(() => priced.map((count, t) => (expected[t] ?? count) - count), [priced, expected]);
  const lines = useMemo<readonly Line[]>(
    () => [{ id: 'expected', label: 'Securities', values: expected, colour: 1 }],
    [expected],
  );
  const hasGaps = view.gaps_total > 0;
  const [start, end] = [dates[0], dates.at(-1)];
  if (start === undefined || end === undefined) return null;
  return (
    <>
      <Figures view={view} missing={missing} />
      <Section
        title="Securities through time"
        aside={`counted from the first to the last price of a security${hasGaps ? '; a price missing in between is a bar' : ''}`}
      >
        <RangeBar start={start} end={end} />
        <Chart
          label="Securities"
          dates={dates}
          lines={lines}
          height={200}
          unit={SECURITIES_UNIT}
          sync={CURSOR_GROUP}
          range={findChosenRange()}
          onRange={chooseRange}
        />
        {hasGaps && <MissingBars dates={dates} missing={missing} sync={CURSOR_GROUP} />}
      </Section>
    </>
  );
}

interface FiguresProps {
  readonly view: CoverageHistoryResponse;
  readonly missing: readonly number[];
}

/**
 * Renders figures of the whole history. A gap is a date without a price between the first and the last price of a
 * security.
 */
function Figures({ view: { dates, priced, expected, gaps_total: incomplete }, missing }: FiguresProps) {
  const total = expected.reduce((sum, value) => sum + value, 0);
  const missingTotal = missing.reduce((sum, value) => sum + value, 0);
  const worst = missing.reduce((at, gap, t) => (gap >= missing[at]! ? t : at), 0); // both lists have one value per session
  const otherCount = missing.filter((gap) => gap === missing[worst]).length - 1;
  return (
    <Metrics
      label="Coverage of prices"
      metrics={[
        { term: 'Sessions', value: formatCount(dates.length), note: `${dates[0]} to ${dates.at(-1)}` },
        {
          term: 'Securities at the end',
          value: formatCount(priced.at(-1)),
          note: `of ${formatCount(expected.at(-1))} expected on ${dates.at(-1)}`,
        },
        {
          term: 'Average coverage',
          value: total === 0 ? MISSING_TEXT : formatPercent(1 - missingTotal / total),
          help: 'Prices per expected price',
        },
        {
          term: 'Missing prices',
          value: formatCount(missingTotal),
          kind: missingTotal > 0 ? 'down' : '',
          note:
            incomplete === 0 ? (
              'over all sessions'
            ) : (
              <MissingPricesLink session={null}>
                of {countValues(incomplete, 'security', 'securities')}
              </MissingPricesLink>
            ),
        },
        ...(missingTotal === 0
          ? []
          : [
              {
                term: 'Session with most missing',
                value: dates[worst], // there is at least one session
                note: (
                  <MissingPricesLink session={dates[worst]!}>
                    {countValues(missing[worst]!, 'price')} missing
                    {otherCount > 0 && `, as on ${countValues(otherCount, 'other day')}`}
                  </MissingPricesLink>
                ),
              },
            ]),
      ]}
    />
  );
}

/** Renders the fields that rules can use. A field opens to its values on the latest session. */
function Fields({ rows, store }: { readonly rows: readonly FieldRow[]; readonly store: string }) {
  const openField = getParameter('field');
  return (
    <Section title="Fields" aside="available to rules; select one for its values">
      <Table
        label="fields"
        name="fields"
        columns={FIELD_COLUMNS}
        rows={rows}
        getKey={({ dataset, name }) => `${dataset} ${name}`}
        searchIn={({ name, dataset }) => `${name} ${dataset} ${getMeaning(name)}`}
        onOpen={({ name }) => setParameters({ field: name })}
        openKey={
          rows.filter(({ name }) => name === openField).map(({ dataset, name }) => `${dataset} ${name}`)[0] ?? null
        }
        height={360}
      />
      {openField !== null && <Values key={openField} field={openField} store={store} />}
    </Section>
  );
}

/** Renders a few values of a field, with their unit and session. */
function Values({ field, store }: { readonly field: string; readonly store: string }) {
  const values = useAnswer('evaluateDatapoint', { query: { store_id: store }, body: { expression: field } });
  return (
    <Answered resource={values} what={`the values of ${field}`}>
      {({ values: all, as_of: session, unit, findings }) => (
        <p>
          <code>{field}</code>
          {unit !== null && unit !== 'number' && ` in ${unit}`}
          {session !== null && ` on ${session}`}:{' '}
          {all.map(({ identifier, value }) => `${identifier} ${formatDatapoint(field, value)}`).join(' · ')}
          {all.length === 0 && (findings[0]?.message ?? 'no value')}
        </p>
      )}
    </Answered>
  );
}

type Field = FieldList['fields'][number];

interface FieldRow extends Field {
  /** Coverage of a column; undefined for a computed field, or while it is being read. */
  readonly coverage: CoverageHistoryResponse['fields'][number] | undefined;
}

const addCoverage = (field: Field, history: CoverageHistoryResponse | undefined): FieldRow => ({
  ...field,
  coverage: history?.fields.find(({ name, dataset }) => name === field.name && dataset === field.dataset),
});

const FIELD_COLUMNS: readonly Column<FieldRow>[] = [
  { id: 'name', title: 'Field', width: 170, grow: 1, show: ({ name }) => <code>{name}</code> },
  {
    id: 'meaning',
    title: 'Meaning',
    width: 160,
    grow: 3,
    priority: 2,
    value: ({ name }) => getMeaning(name),
    show: ({ name, dataset }) =>
      getMeaning(name) === '' ? (
        <span class="quiet">column of the {dataset} data</span>
      ) : (
        <span title={getMeaning(name)}>{getMeaning(name)}</span>
      ),
  },
  {
    id: 'securities',
    title: 'Securities',
    help: 'Securities with a value on any date',
    width: 90,
    value: ({ coverage }: FieldRow) => coverage?.securities ?? null,
    write: formatCount,
  },
  {
    id: 'latest',
    title: 'At the end',
    help: 'Securities with a close and a value on the last date of the store',
    width: 84,
    priority: 2,
    value: ({ coverage }: FieldRow) => coverage?.securities_at_end ?? null,
    write: formatCount,
  },
  {
    id: 'start',
    title: 'First value',
    help: 'Date of the first value. Reference data without dates has none.',
    width: 100,
    priority: 3,
    value: ({ coverage }) => coverage?.start ?? null,
  },
  {
    id: 'end',
    title: 'Last value',
    help: 'Date of the last value; for reference data, the day from which the last value is valid',
    width: 100,
    priority: 2,
    value: ({ coverage }) => coverage?.end ?? null,
  },
  {
    id: 'dataset',
    title: 'From',
    help: 'Data set of the column. Computed fields have no stored coverage.',
    width: 110,
    value: ({ dataset }) => (dataset === 'derived' ? 'computed' : dataset),
  },
  { id: 'kind', title: 'Kind', width: 84, priority: 3, value: ({ kind }) => (kind === 'string' ? 'text' : kind) },
];
