import type { JobStatus, SweepView } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { Chart } from '../../components/chart/chart.js';
import { isLogarithmic, ScaleChoice } from '../../components/chart/scale-choice.js';
import type { Line } from '../../components/chart/series.js';
import { isOver, JobAct } from '../../components/job-table.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { getJob } from '../../state/live.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { rebaseAtCommonStart, type DatedLevels } from '../../words/common-start.js';
import { formatMoment } from '../../words/dates.js';
import { describeSubject, formatJobAddress, formatJobId, formatShortId, STATUS_KINDS } from '../../words/jobs.js';
import { computeMedian } from '../../words/median.js';
import { formatDecimal, formatPercent, MISSING_TEXT } from '../../words/numbers.js';
import type { Json } from '../../words/paths.js';
import { isNearChance, isOverfit } from './chance.js';
import { useParameterLabels } from './sweep-figures.js';
import { findBest, formatWithUnit } from './values.js';

/** Maximum number of sweeps whose results are read, newest first. Each needs one request. */
const READ_MAX = 30;
/** Maximum number of sweeps in the chart. */
const DRAWN_MAX = 8;

interface Row {
  readonly job: JobStatus;
  /** Result of a sweep that has succeeded; null until it is read. */
  readonly view: SweepView | null;
}

/** Renders all sweeps. Each shows its best variant, how far that is above the median, and how reliable its rank is. */
export function StoredSweeps({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  const ids = jobs
    .filter(({ status }) => status === 'succeeded')
    .slice(0, READ_MAX)
    .map(({ job_id: id }) => id);
  const results = useResource(ids.length === 0 ? null : `sweep results ${ids.join()}`, (signal) =>
    Promise.all(ids.map((id) => service.value.call('getJob', { params: { job_id: id }, signal }))),
  );
  const views = new Map(results.data?.map(({ job_id: id, result }) => [id, result as SweepView])); // the kind of the job determines the type of its result
  const rows = jobs.map((listed): Row => {
    const job = getJob(listed.job_id) ?? listed;
    return { job, view: views.get(job.job_id) ?? null };
  });
  const isEnded = rows.every(({ job }) => job.status === 'succeeded' || job.status === 'cancelled');
  return (
    <>
      <Table
        label="sweeps"
        name="sweeps"
        columns={isEnded ? COLUMNS.filter(({ id }) => id !== 'act') : COLUMNS}
        rows={rows}
        getKey={({ job }) => job.job_id}
        formatAddress={({ job }) => formatJobAddress(job)}
        sort={{ column: 'created', direction: 'desc' }}
        height={420}
      />
      <BestVariants rows={rows} />
    </>
  );
}

/** Draws the level of the best variant of each sweep from the first date that all sweeps have. */
function BestVariants({ rows }: { readonly rows: readonly Row[] }) {
  const drawn = rows
    .flatMap(({ job, view }) => (view?.fan?.first == null ? [] : [{ job, fan: view.fan, indexId: view.index_id }]))
    .slice(0, DRAWN_MAX);
  const key = drawn.map(({ job }) => job.job_id).join();
  const indexIds = [...new Set(drawn.map(({ indexId }) => indexId))];
  const references = useResource(
    indexIds.length === 0 ? null : `levels of ${indexIds.join()}`,
    (signal) => readReferences(indexIds, signal),
    { isLater: true },
  );
  const { dates, lines } = useMemo(() => {
    const shownDates = new Set(drawn.flatMap(({ fan }) => fan.index));
    const series = [
      ...drawn.map(({ job, fan }) => ({
        id: job.job_id,
        label: `${describeSubject(job)} ${formatShortId(job)}`,
        isDashed: false,
        dates: fan.index,
        levels: fan.first ?? [],
      })),
      ...(references.data ?? []).map((reference) => ({ ...reference, isDashed: true })),
    ];
    const rebased = rebaseAtCommonStart(series.map((one) => selectDates(one, shownDates)));
    return {
      dates: rebased.dates,
      lines: series.map(({ id, label, isDashed }, k): Line => ({
        id,
        label,
        values: rebased.levels[k] ?? [],
        colour: k + 1,
        isDashed,
      })),
    };
  }, [key, references.data]);
  // A line without a reference compares nothing; the page of its sweep draws it with the other variants.
  if (lines.length < 2) return null;
  const isLog = isLogarithmic(lines, 0, dates.length - 1);
  return (
    <Section
      title="Best variant of each sweep"
      aside={
        <>
          {dates.length} dates, 100 at {dates[0]}, the first common date <ScaleChoice isLog={isLog} />
        </>
      }
    >
      <Chart label="Best variant of each sweep" dates={dates} lines={lines} isLog={isLog} height={380} />
    </Section>
  );
}

interface Reference extends DatedLevels {
  readonly id: string;
  readonly label: string;
}

/** Reads the levels of the newest runs of indices. An index whose levels cannot be read is left out. */
async function readReferences(ids: readonly string[], signal: AbortSignal): Promise<readonly Reference[]> {
  const views = await Promise.allSettled(
    ids.map((id) => service.value.call('getLevels', { params: { index_id: id }, signal })),
  );
  return views.flatMap((view) => {
    if (view.status === 'rejected') return [];
    const { index_id: id, levels } = view.value;
    return [{ id, label: `${id}, newest run`, dates: levels.index, levels: levels.data }];
  });
}

/** Keeps the levels of some dates. */
function selectDates({ dates, levels }: DatedLevels, selected: ReadonlySet<string>): DatedLevels {
  const positions = dates.flatMap((date, at) => (selected.has(date) ? [at] : []));
  return {
    dates: positions.map((at) => dates[at] ?? ''),
    levels: positions.map((at) => levels[at] ?? null),
  };
}

/** Renders the values that the best variant sets. */
function BestValues({ view }: { readonly view: SweepView }) {
  const labels = useParameterLabels(view.index_id);
  const best = findBest(view);
  if (best === undefined || labels === undefined) return MISSING_TEXT;
  const text = Object.entries(best.patch)
    .map(([pointer, value]) => `${labels(pointer).label} ${formatWithUnit(value as Json, labels(pointer).unit)}`) // patch values are plain JSON
    .join(', ');
  return (
    <span title={text}>
      {text} {isOverfit(view) && <Badge kind="warning">unreliable</Badge>}
    </span>
  );
}

const findBestRatio = ({ view }: Row): number | null => (view && findBest(view))?.metrics?.sharpe_ratio ?? null;

function findMedianRatio({ view }: Row): number | null {
  const ratios = view?.rows.flatMap(({ metrics }) => metrics?.sharpe_ratio ?? []) ?? [];
  return ratios.length === 0 ? null : computeMedian(ratios);
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'sweep',
    title: 'Sweep',
    width: 272,
    ideal: 280,
    grow: 3,
    value: ({ job }) => `${describeSubject(job)} ${formatJobId(job)}`,
    show: ({ job }) => (
      <>
        <strong>{describeSubject(job)}</strong>{' '}
        <span class="quiet" title={formatJobId(job)}>
          {formatShortId(job)}
        </span>
      </>
    ),
  },
  {
    id: 'variants',
    title: 'Variants',
    width: 76,
    priority: 4,
    below: 'nothing',
    align: 'right',
    value: ({ view }) => view?.variants ?? null,
  },
  {
    id: 'first',
    title: 'Best variant',
    help: 'First by the criterion of the sweep',
    width: 140,
    ideal: 300,
    grow: 5,
    priority: 3,
    lines: 2,
    value: ({ view }) => JSON.stringify((view && findBest(view))?.patch ?? null),
    show: ({ job, view }) =>
      view === null ? (
        job.status !== 'succeeded' && <Badge kind={STATUS_KINDS[job.status]}>{job.status}</Badge>
      ) : (
        <BestValues view={view} />
      ),
    showBelow: ({ job, view }) => (view === null ? job.status : <BestValues view={view} />),
  },
  createNumericColumn({
    id: 'sharpe',
    title: 'Sharpe',
    help: 'Sharpe ratio of the best variant, annualised',
    width: 72,
    of: findBestRatio,
    write: (value) => formatDecimal(value, 3),
  }),
  createNumericColumn({
    id: 'median',
    title: 'Median Sharpe',
    help: 'Median Sharpe ratio of all variants, annualised',
    width: 112,
    priority: 4,
    of: findMedianRatio,
    write: (value) => formatDecimal(value, 3),
  }),
  {
    id: 'overfitting',
    title: 'Probability of overfitting',
    help: 'Share of the splits of the history in which the best variant of one half ranks no better than the median in the other. Red: no better than a random choice.',
    width: 172,
    priority: 2,
    align: 'right',
    value: ({ view }) => view?.overfitting?.probability ?? null,
    show: ({ view }) => (
      <span class={`number ${view === null ? '' : isOverfit(view) ? 'down' : isNearChance(view) ? 'excess' : ''}`}>
        {formatPercent(view?.overfitting?.probability, 1)}
      </span>
    ),
  },
  {
    id: 'created',
    title: 'Submitted',
    width: 166,
    priority: 5,
    below: 'nothing',
    value: ({ job }) => job.created_at,
    show: ({ job }) => formatMoment(job.created_at),
  },
  {
    id: 'act',
    title: '',
    width: 76,
    value: () => null,
    show: ({ job }) => may('run') && (!isOver(job) || job.status === 'failed') && <JobAct job={job} />,
  },
];
