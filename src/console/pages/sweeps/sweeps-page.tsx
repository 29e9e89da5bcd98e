import type { JobStatus, SweepOverfitting, SweepView } from '#clients/typescript/divisor.js';
import { LinkButton } from '../../components/controls/button.js';
import { Badge } from '../../components/feedback.js';
import { isOver, isQuiet, JobAct } from '../../components/jobs.js';
import { keepWordsWhole } from '../../components/layout/facts.js';
import { createRegisterPage } from '../../components/register.js';
import { type Column, createNumericColumn } from '../../components/table/columns.js';
import { getJob } from '../../state/live.js';
import { mapResource, may, type Resource, service, useResource } from '../../state/service.js';
import { formatMoment } from '../../words/dates.js';
import { describeSubject, formatJobAddress, formatJobId, formatShortId, STATUS_KINDS } from '../../words/jobs.js';
import { formatDecimal, formatPercent, MISSING_TEXT } from '../../words/numbers.js';
import { computeMedian } from '../../words/statistics.js';
import { useParameterLabels } from './parameters.js';
import { countVariants, findBest, findDates, formatCosts, getCosts, listSettings } from './variants.js';
import { formatChance, RATINGS } from './verdict.js';

/** Maximum number of sweeps whose results are read, newest first. Each needs one request. */
const READ_MAX = 30;

interface Row {
  readonly job: JobStatus;
  /** Result of a sweep that has succeeded; null until it is read. */
  readonly view: SweepView | null;
  /** Values of the best variant; null until they are known. */
  readonly best: string | null;
}

/** Reads all sweeps, each with its verdict, its best variant, and how far that is above the median. */
function useSweeps(): Resource<readonly Row[]> {
  const sweeps = useResource('jobs sweep', (signal) =>
    service.value.call('listJobs', { query: { kind: ['sweep'], limit: 100 }, signal }),
  );
  const jobs = sweeps.data?.jobs ?? [];
  const ids = jobs
    .filter(({ status }) => status === 'succeeded')
    .slice(0, READ_MAX)
    .map(({ job_id: id }) => id);
  const results = useResource(ids.length === 0 ? null : `sweep results ${ids.join()}`, (signal) =>
    Promise.all(ids.map((id) => service.value.call('getJob', { params: { job_id: id }, signal }))),
  );
  const views = new Map(results.data?.map(({ job_id: id, result }) => [id, result as SweepView])); // the kind of the job determines the type of its result
  const labels = useParameterLabels([...new Set([...views.values()].map(({ index_id: id }) => id))].toSorted());
  return mapResource(sweeps, () =>
    jobs.map((listed): Row => {
      const job = getJob(listed.job_id) ?? listed;
      const view = views.get(job.job_id) ?? null;
      const best = view === null ? undefined : findBest(view);
      return {
        job,
        view,
        best:
          view === null || best === undefined || labels === undefined
            ? null
            : listSettings(best.patch, labels(view.index_id)),
      };
    }),
  );
}

const findBestRatio = ({ view }: Row): number | null => (view && findBest(view))?.metrics?.sharpe_ratio ?? null;

function findMedianRatio({ view }: Row): number | null {
  const ratios = view?.rows.flatMap(({ metrics }) => metrics?.sharpe_ratio ?? []) ?? [];
  return ratios.length === 0 ? null : computeMedian(ratios);
}

/** Renders the state of a sweep without a result, and its progress while it runs. */
const State = ({ job: { status, progress } }: Pick<Row, 'job'>) => (
  <Badge kind={STATUS_KINDS[status]}>{status === 'running' ? `running ${formatPercent(progress, 0)}` : status}</Badge>
);

/** Renders the rating of a ranking. Sweeps of earlier versions have none. */
const Rating = ({ rating }: SweepOverfitting) =>
  rating === undefined ? null : <Badge kind={RATINGS[rating].kind}>{RATINGS[rating].badge}</Badge>;

/** Renders the comparison of a ranking with chance. */
function Reliability({ view }: Row) {
  const { overfitting } = view ?? {};
  if (overfitting == null) return MISSING_TEXT;
  return (
    <span>
      {formatPercent(overfitting.probability, 1)} <Rating {...overfitting} />
      <br />
      <span class="quiet">{formatChance(overfitting)}</span>
    </span>
  );
}

/** Renders the comparison of a ranking with chance in one line, with its label. */
const ReliabilityLine = (overfitting: SweepOverfitting) => (
  <>
    <Rating {...overfitting} />{' '}
    {[`Overfitting ${formatPercent(overfitting.probability, 1)}`, formatChance(overfitting)].filter(Boolean).join(', ')}
  </>
);

/** Renders the dates and the costs of the backtests. */
function Backtests({ job, view }: Row) {
  const dates = view && findDates(view);
  const costs = getCosts(job.request);
  const text = [dates && `${dates.start} to ${dates.end}`, costs === null ? 'costs varied' : formatCosts(costs)];
  return <span>{keepWordsWhole(text.filter(Boolean).join(', '))}</span>;
}

const SWEEP_COLUMNS: readonly Column<Row>[] = [
  {
    id: 'sweep',
    title: 'Sweep',
    width: 130,
    grow: 1,
    lines: 2,
    value: ({ job }) => `${describeSubject(job)} ${formatJobId(job)}`,
    show: ({ job }) => (
      <>
        <strong>{describeSubject(job)}</strong>{' '}
        <span class="quiet" title={formatJobId(job)}>
          {formatShortId(job)}
        </span>{' '}
        {job.status !== 'succeeded' && <State job={job} />}
      </>
    ),
  },
  {
    id: 'overfitting',
    title: 'Probability of overfitting',
    help: 'Share of the splits of the history in which the best variant of one half ranks no better than the median in the other, and the share of a random choice',
    width: 176,
    priority: 2,
    lines: 2,
    value: ({ view }) => view?.overfitting?.probability ?? null,
    show: (row) => <Reliability {...row} />,
    showBelow: ({ view }) => view?.overfitting && <ReliabilityLine {...view.overfitting} />,
  },
  {
    id: 'first',
    title: 'Best variant',
    help: 'First by the criterion of the sweep',
    width: 140,
    ideal: 154,
    grow: 3,
    priority: 2,
    lines: 2,
    value: ({ best }) => best,
    show: ({ best }) => <span title={best ?? ''}>{best ?? MISSING_TEXT}</span>,
    showBelow: ({ best }) => best && `Best: ${best.charAt(0).toLowerCase()}${best.slice(1)}`,
  },
];

const FIGURE_COLUMNS: readonly Column<Row>[] = [
  createNumericColumn({
    id: 'sharpe',
    title: 'Sharpe',
    help: 'Sharpe ratio of the best variant, annualised',
    width: 66,
    of: findBestRatio,
    write: (value) => formatDecimal(value, 3),
  }),
  createNumericColumn({
    id: 'median',
    title: 'Median Sharpe',
    help: 'Median Sharpe ratio of all variants, annualised',
    width: 104,
    priority: 4,
    of: findMedianRatio,
    write: (value) => formatDecimal(value, 3),
  }),
  createNumericColumn({
    id: 'variants',
    title: 'Variants',
    width: 74,
    priority: 2,
    of: ({ job }) => countVariants(job.request),
    write: (value) => String(value ?? MISSING_TEXT),
  }),
  {
    id: 'backtests',
    title: 'Backtests',
    help: 'First and last date, and transaction cost',
    width: 146,
    priority: 5,
    lines: 2,
    value: ({ view }) => (view && findDates(view))?.start ?? null,
    show: (row) => <Backtests {...row} />,
  },
  {
    id: 'created',
    title: 'Submitted',
    width: 150,
    priority: 3,
    value: ({ job }) => job.created_at,
    showBelow: ({ job }) => formatMoment(job.created_at),
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

const COLUMNS: readonly Column<Row>[] = [...SWEEP_COLUMNS, ...FIGURE_COLUMNS];

const NewSweepButton = () =>
  may('run') ? (
    <LinkButton kind="main" href="/console/sweeps/new">
      New sweep
    </LinkButton>
  ) : null;

/** Page of all sweeps, each with its verdict and its best variant. */
export const SweepsPage = createRegisterPage<Row>({
  title: 'Sweeps',
  name: 'sweeps',
  label: 'sweeps',
  subtitle: () => 'Many variants of an index, run and ranked as one job',
  actions: (rows = []) => rows.length > 0 && <NewSweepButton />,
  useRows: useSweeps,
  columns: COLUMNS,
  listColumns: (rows) => (rows.every(({ job }) => isQuiet(job)) ? COLUMNS.filter(({ id }) => id !== 'act') : COLUMNS),
  sort: { column: 'created', direction: 'desc' },
  height: 640,
  empty: {
    title: 'No sweep yet',
    text: 'A sweep runs an index with many values of its parameters, ranks the variants, and tests whether the best one is better than chance.',
    action: () => <NewSweepButton />,
  },
  getKey: ({ job }) => job.job_id,
  formatAddress: ({ job }) => formatJobAddress(job),
});
