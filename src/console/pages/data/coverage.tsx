import type { CoverageHistoryResponse, DataStore, FieldList } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { layerCovered, type Line, type Unit } from '../../components/chart/series.js';
import { Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { RangeBar } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { chooseRange, findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { storeAddress } from '../../words/addresses.js';
import { formatDatapoint } from '../../words/datapoints.js';
import { formatCount, countValues, MISSING_TEXT, formatPercent } from '../../words/numbers.js';
import { getMeaning } from './field-words.js';
import { MissingBars, MissingPrices, MissingPricesLink } from './missing-prices.js';

const SECURITIES_UNIT: Unit = { of: 'number', digits: 0 };

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
    <div class="data-part">
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

/** Name of the cursor group of both charts. */
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
  /** Number of missing prices by session. */
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
  const values = useResource(`values ${field} ${store}`, (signal) =>
    service.value.call('evaluateDatapoint', { query: { store_id: store }, body: { expression: field }, signal }),
  );
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
  {
    id: 'name',
    title: 'Field',
    width: 170,
    grow: 1,
    value: ({ name }) => name,
    show: ({ name }) => <code>{name}</code>,
  },
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
  createNumericColumn({
    id: 'securities',
    title: 'Securities',
    help: 'Securities with a value on any date',
    width: 90,
    of: ({ coverage }: FieldRow) => coverage?.securities ?? null,
    write: formatCount,
  }),
  createNumericColumn({
    id: 'latest',
    title: 'At the end',
    help: 'Securities with a close and a value on the last date of the store',
    width: 84,
    priority: 2,
    of: ({ coverage }: FieldRow) => coverage?.securities_at_end ?? null,
    write: formatCount,
  }),
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
