import type { CompareView } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import { PERCENT, dashCovered, limitToRange, type Line, type Unit } from '../../components/chart/series.js';
import { Choice, Select } from '../../components/choice.js';
import { Section } from '../../components/page.js';
import { addSign } from '../../components/signed.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { parameter, setParameters } from '../../state/place.js';
import { chooseRange, findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import {
  calendarYears,
  drawdownsOf,
  overlapOf,
  relativeTo,
  computeRolling,
  sessionsOfYear,
  type Relative,
  type RollingMeasure,
} from '../../words/compared.js';
import { decimal, percent } from '../../words/numbers.js';
import { Matrix } from './matrix.js';

type Entry = CompareView['entries'][number];

interface Series {
  readonly id: string;
  readonly levels: readonly (number | null)[];
}

interface LevelsInRange {
  readonly dates: readonly string[];
  readonly series: readonly Series[];
  readonly sessions: number;
}

/** Returns the levels of the runs within the date range in the address. */
function cutLevels({ entries }: CompareView, range: ReturnType<typeof findChosenRange>): LevelsInRange {
  const all = entries[0]?.level.index ?? [];
  const [first, last] = limitToRange(all, range);
  const dates = all.slice(first, last + 1);
  const series = entries.map(({ index_id: id, level }) => ({ id, levels: level.data.slice(first, last + 1) }));
  return { dates, series, sessions: sessionsOfYear(dates) };
}

/**
 * Renders runs side by side: drawdowns, calendar years, rolling measures, figures relative to a reference, and pairs of
 * runs.
 */
export function Together({ view }: { readonly view: CompareView }) {
  const range = findChosenRange();
  const data = useMemo(() => cutLevels(view, range), [view, range?.from, range?.to]);
  const ids = data.series.map(({ id }) => id);
  const reference = ids.includes(parameter('to') ?? '') ? parameter('to')! : (ids.at(-1) ?? ''); // `parameter('to')` is in `ids`
  return (
    <>
      <Drawdowns data={data} />
      <Years data={data} />
      <Rolling data={data} reference={reference} ids={ids} />
      <RelativeFigures data={data} reference={reference} />
      <Pairs data={data} entries={view.entries} />
    </>
  );
}

function Drawdowns({ data: { dates, series } }: { readonly data: LevelsInRange }) {
  const lines = useMemo(
    () =>
      dashCovered(
        series.map(({ id, levels }, k): Line => ({
          id: String(k),
          label: id,
          values: drawdownsOf(levels),
          colour: k + 1,
        })),
      ),
    [series],
  );
  return (
    <Section title="Drawdowns" aside="against the peak within the range">
      <Chart
        label="Drawdowns compared"
        dates={dates}
        lines={lines}
        height={180}
        hasZero
        unit={PERCENT}
        onRange={chooseRange}
      />
    </Section>
  );
}

interface Year {
  readonly year: string;
  readonly returns: readonly (number | null)[];
}

function Years({ data: { dates, series } }: { readonly data: LevelsInRange }) {
  const rows = useMemo(() => {
    const all = series.map(({ levels }) => calendarYears(dates, levels));
    const years = [...new Set(dates.map((date) => date.slice(0, 4)))];
    return years.map((year): Year => ({ year, returns: all.map((own) => own.get(year) ?? null) }));
  }, [dates, series]);
  const columns: readonly Column<Year>[] = [
    { id: 'year', title: 'Year', width: 72, value: ({ year }) => year },
    ...series.map(({ id }, k) =>
      numeric<Year>({
        id: `run-${k}`,
        title: id,
        width: 96,
        grow: 1,
        of: ({ returns }) => returns[k] ?? null,
        write: addSign,
      }),
    ),
  ];
  return (
    <Section title="Calendar years" aside="the first and the last as far as the range reaches">
      <Table
        label="returns by calendar year"
        name="years"
        columns={columns}
        rows={rows}
        keyOf={({ year }) => year}
        sort={{ column: 'year', direction: 'desc' }}
        height={360}
      />
    </Section>
  );
}

const MEASURES = [
  { value: 'volatility', text: 'Volatility' },
  { value: 'correlation', text: 'Correlation' },
  { value: 'beta', text: 'Beta' },
] as const;

const WINDOWS = [
  { value: '63', text: '3 months' },
  { value: '252', text: '1 year' },
] as const;

const PLAIN: Unit = { of: 'number', digits: 2 };

interface RollingProps {
  readonly data: LevelsInRange;
  readonly reference: string;
  readonly ids: readonly string[];
}

function Rolling({ data: { dates, series, sessions }, reference, ids }: RollingProps) {
  const measure: RollingMeasure = MEASURES.find(({ value }) => value === parameter('rolling'))?.value ?? 'volatility';
  const window = WINDOWS.find(({ value }) => value === parameter('window'))?.value ?? '252';
  const lines = useMemo(() => {
    const base = series.find(({ id }) => id === reference)?.levels ?? [];
    const terms = { reference: base, window: Number(window), sessions };
    const drawn = series.flatMap(({ id, levels }, k): Line[] =>
      measure !== 'volatility' && id === reference
        ? []
        : [{ id: String(k), label: id, values: computeRolling(measure, levels, terms), colour: k + 1 }],
    );
    return dashCovered(drawn);
  }, [series, reference, measure, window, sessions]);
  return (
    <Section
      title="Rolling measures"
      aside={
        <>
          <Select
            label="Reference"
            isLabelShown
            options={ids.map((id) => ({ value: id, text: id }))}
            value={reference}
            onChoose={(to) => setParameters({ to })}
          />
          <Choice
            label="Measure"
            options={MEASURES}
            value={measure}
            onChoose={(chosen) => setParameters({ rolling: chosen === 'volatility' ? null : chosen })}
          />
          <Choice
            label="Window"
            options={WINDOWS}
            value={window}
            onChoose={(chosen) => setParameters({ window: chosen === '252' ? null : chosen })}
          />
        </>
      }
    >
      <Chart
        label={`Rolling ${measure}`}
        dates={dates}
        lines={lines}
        height={220}
        unit={measure === 'volatility' ? PERCENT : PLAIN}
        onRange={chooseRange}
      />
    </Section>
  );
}

interface AgainstRow extends Relative {
  readonly id: string;
}

const AGAINST: readonly Column<AgainstRow>[] = [
  { id: 'id', title: 'Run', width: 120, grow: 2, value: ({ id }) => id },
  numeric({ id: 'beta', title: 'Beta', width: 76, of: ({ beta }) => beta, write: decimal }),
  numeric({ id: 'correlation', title: 'Correlation', width: 92, of: (row) => row.correlation, write: decimal }),
  numeric({
    id: 'error',
    title: 'Realised TE',
    help: 'Annualised standard deviation of the return differences to the reference',
    width: 92,
    of: (row) => row.trackingErrorAnnual,
    write: percent,
  }),
  numeric({
    id: 'up',
    title: 'Up capture',
    help: "Geometric mean return over the reference's, on its sessions above 0",
    width: 92,
    of: (row) => row.upCapture,
    write: percent,
  }),
  numeric({
    id: 'down',
    title: 'Down capture',
    help: "Geometric mean return over the reference's, on its sessions below 0",
    width: 108,
    of: (row) => row.downCapture,
    write: percent,
  }),
];

function RelativeFigures({ data: { series, sessions }, reference }: Omit<RollingProps, 'ids'>) {
  const rows = useMemo(() => {
    const base = series.find(({ id }) => id === reference)?.levels ?? [];
    return series
      .filter(({ id }) => id !== reference)
      .map(({ id, levels }): AgainstRow => ({ id, ...relativeTo(levels, base, sessions) }));
  }, [series, reference, sessions]);
  return (
    <Section title={`Against ${reference}`} aside="daily returns of the range">
      <Table
        label={`measures against ${reference}`}
        name="against"
        columns={AGAINST}
        rows={rows}
        keyOf={({ id }) => id}
      />
    </Section>
  );
}

interface PairsProps {
  readonly data: LevelsInRange;
  readonly entries: readonly Entry[];
}

/** Renders the tracking error and the common weight of each pair of runs. Common weights are those of the last date. */
function Pairs({ data: { series, sessions }, entries }: PairsProps) {
  const ids = series.map(({ id }) => id);
  const weights = useResource(
    `compare weights ${ids.join()}`,
    (signal) => Promise.all(entries.map((entry) => weightsOf(entry, signal))),
    {
      isLater: true,
    },
  );
  const errors = useMemo(
    () =>
      series.map(({ levels }) => series.map((other) => relativeTo(levels, other.levels, sessions).trackingErrorAnnual)),
    [series, sessions],
  );
  return (
    <div class="side-by-side">
      <Section title="Pairwise tracking error" aside="realised, annualised">
        <Matrix
          label="Tracking error of each pair"
          ids={ids}
          valueAt={(row, column) => (row === column ? '–' : percent(errors[row]?.[column]))}
        />
      </Section>
      {weights.data !== undefined && (
        <Section title="Overlap of weights" aside="latest weights, the smaller of each security">
          <Matrix
            label="Overlap of each pair"
            ids={ids}
            valueAt={(row, column) => {
              const [own, other] = [weights.data?.[row], weights.data?.[column]];
              return row === column || own == null || other == null ? '–' : percent(overlapOf(own, other), 1);
            }}
          />
        </Section>
      )}
    </div>
  );
}

/** Returns the latest weights of a run; null for a benchmark that is not a run. */
async function weightsOf({ index_id: id }: Entry, signal: AbortSignal): Promise<ReadonlyMap<string, number> | null> {
  const view = await service.value.call('getWeights', { params: { index_id: id }, signal }).catch(() => null);
  return view && new Map(view.weights.map(({ identifier, weight }) => [identifier, weight]));
}
