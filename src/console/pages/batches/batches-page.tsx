import type { BatchView, JobStatus } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { GuideLink } from '../../components/guide-link.js';
import { Badge, type BadgeKind } from '../../components/badge.js';
import { EmptyState } from '../../components/empty-state.js';
import { isOver, JobAct } from '../../components/job-table.js';
import { Metrics } from '../../components/metrics.js';
import { Page, Section } from '../../components/page.js';
import { Progress } from '../../components/progress.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { getJob, liveJobs } from '../../state/live.js';
import { getParameter } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatDuration, formatMoment, createMomentFigure, computeSecondsBetween } from '../../words/dates.js';
import { formatJobAddress, formatJobId, STATUS_KINDS } from '../../words/jobs.js';
import { formatCount, formatDecimal, formatMoney, MISSING_TEXT, formatPercent } from '../../words/numbers.js';
import { Conflicts, Outcomes, countSolved, TrackingErrors } from './batch-figures.js';
import { NewBatch } from './new-batch.js';
import '../designer/designer.css';

/** Maximum number of listed batches, newest first. */
const LISTED_MAX = 100;

/** Page of batches: accounts with tax lots that follow an index. */
export function BatchesPage() {
  const batches = useResource('jobs batch', async (signal) => {
    const [{ jobs }, { batches: results }] = await Promise.all([
      service.value.call('listJobs', { query: { kind: ['batch'], limit: LISTED_MAX }, signal }),
      service.value.call('listBatches', { query: { limit: LISTED_MAX }, signal }),
    ]);
    return { jobs, results };
  });
  return (
    <Page title="Personal indices" subtitle="Trades of many accounts with tax lots, as one job">
      <p>
        A batch finds the trades that bring each account close to its index and save the most tax, given its lots, gains
        and limits. <GuideLink page="personal">How a batch chooses lots</GuideLink>
      </p>
      <Answered resource={batches} what="the batches">
        {({ jobs: listed, results }) => {
          const all = addLiveJobs(listed);
          return (
            <>
              {may('run') && <FoldedForm isOpen={all.length === 0} />}
              {all.length === 0 ? <NoBatch /> : <Batches jobs={all} results={results} />}
            </>
          );
        }}
      </Answered>
    </Page>
  );
}

/** Adds batches that started after the list was read. */
function addLiveJobs(listed: readonly JobStatus[]): readonly JobStatus[] {
  const ids = new Set(listed.map(({ job_id: id }) => id));
  return [...liveJobs.value.filter(({ job_id: id, kind }) => kind === 'batch' && !ids.has(id)), ...listed];
}

/**
 * Renders the form of a new batch. If there are batches, the form is folded at first. It stays open while it is edited.
 */
function FoldedForm({ isOpen: isFirst }: { readonly isOpen: boolean }) {
  const [isOpen, setOpen] = useState(isFirst || getParameter('batch') !== null);
  return (
    <details class="designer-part" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>New batch</h2>
      </summary>
      {isOpen && <NewBatch />}
    </details>
  );
}

function NoBatch() {
  return (
    <EmptyState title="No batch yet">
      Choose an accounts file, or submit it with <code>divisor batch accounts.csv --terms terms.json</code>. Each batch
      is listed here with its figures, its conflicts and its trades by lot.
    </EmptyState>
  );
}

/** Returns the parent index and the number of accounts in the request of a batch. */
const getRequest = ({ request }: JobStatus) => request as { readonly parent: string; readonly accounts: number };

/** A job, with its result if the job has succeeded. */
interface BatchRow {
  readonly job: JobStatus;
  readonly view: BatchView | undefined;
  readonly currency: string | null;
}

/** Returns the state of a job. For a finished job, it says whether all accounts are solved. */
function createOutcome({ job, view }: BatchRow): { readonly text: string; readonly kind: BadgeKind } {
  if (view === undefined) return { text: job.status, kind: STATUS_KINDS[job.status] };
  const solvedCount = countSolved(view);
  return solvedCount === view.accounts
    ? { text: `${formatCount(solvedCount)} solved`, kind: 'good' }
    : {
        text: `${formatCount(view.accounts - solvedCount)} of ${formatCount(view.accounts)} unsolved`,
        kind: 'warning',
      };
}

/** Formats the numbers of unsolved accounts, for example `1 without a solution, 1 refused`. */
const formatUnsolved = ({ by_status: { infeasible = 0, refused = 0 } }: BatchView): string =>
  [infeasible > 0 && `${formatCount(infeasible)} without a solution`, refused > 0 && `${formatCount(refused)} refused`]
    .filter(Boolean)
    .join(', ');

const formatBatchMoney = ({ view, currency }: BatchRow, readAmount: (view: BatchView) => number): string =>
  view === undefined ? MISSING_TEXT : formatMoney(formatDecimal(readAmount(view)), currency);

const formatAnnual = (value: number | undefined): string =>
  value === undefined ? MISSING_TEXT : `${formatPercent(value)} a year`;

const COLUMNS: readonly Column<BatchRow>[] = [
  {
    id: 'id',
    title: 'Batch',
    width: 108,
    ideal: 124,
    grow: 2,
    value: ({ job }) => formatJobId(job),
    show: ({ job }) => <strong>{formatJobId(job)}</strong>,
  },
  { id: 'parent', title: 'Index', width: 96, grow: 1, priority: 2, value: ({ job }) => getRequest(job).parent },
  {
    id: 'outcome',
    title: 'Accounts',
    width: 132,
    value: (row) => createOutcome(row).text,
    show: (row) => (
      <Badge kind={createOutcome(row).kind} title={row.view && formatUnsolved(row.view)}>
        {createOutcome(row).text}
      </Badge>
    ),
  },
  {
    id: 'error',
    title: 'Median forecast TE',
    help: 'Annual; median over the solved accounts',
    width: 146,
    align: 'right',
    value: ({ view }) => view?.tracking_error?.['p50'] ?? null,
    show: ({ job, view }) =>
      isOver(job) ? (
        formatAnnual(view?.tracking_error?.['p50'])
      ) : (
        <Progress value={job.progress} label={formatJobId(job)} />
      ),
  },
  {
    id: 'tax',
    title: 'Tax',
    width: 110,
    priority: 5,
    align: 'right',
    value: ({ view }) => view?.tax ?? null,
    show: (row) => formatBatchMoney(row, ({ tax }) => tax),
  },
  {
    id: 'saved',
    title: 'Tax saved',
    help: 'Compared with selling the oldest lots first',
    width: 110,
    priority: 2,
    showBelow: (row) => row.view && `Tax saved ${formatBatchMoney(row, ({ tax_saved: saved }) => saved)}`,
    align: 'right',
    value: ({ view }) => view?.tax_saved ?? null,
    show: (row) => formatBatchMoney(row, ({ tax_saved: saved }) => saved),
  },
  {
    id: 'created',
    title: 'Submitted',
    width: 166,
    priority: 3,
    value: ({ job }) => job.created_at,
    show: ({ job }) => formatMoment(job.created_at),
  },
  {
    id: 'took',
    title: 'Duration',
    width: 80,
    priority: 6,
    align: 'right',
    value: ({ job }) => (job.started_at === null ? null : computeSecondsBetween(job.started_at, job.finished_at)),
    show: ({ job }) =>
      job.started_at === null ? MISSING_TEXT : formatDuration(computeSecondsBetween(job.started_at, job.finished_at)),
  },
  {
    id: 'act',
    title: '',
    width: 76,
    priority: 7,
    value: () => null,
    show: ({ job }) => may('run') && <JobAct job={job} />,
  },
];

interface BatchesProps {
  readonly jobs: readonly JobStatus[];
  readonly results: readonly BatchView[];
}

function Batches({ jobs, results }: BatchesProps) {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  const rows = jobs.map((listed): BatchRow => {
    const job = getJob(listed.job_id) ?? listed;
    const view = results.find(({ batch_id: id }) => id === formatJobId(job));
    const index = indices.data?.indices.find(({ id }) => id === getRequest(job).parent);
    return { job, view: job.status === 'succeeded' ? view : undefined, currency: index?.currency ?? null };
  });
  const latest = rows.find(({ view }) => view !== undefined);
  return (
    <>
      <Sums rows={rows} />
      <Section title="Batches">
        <Table
          label="batches"
          name="batches"
          columns={rows.every(({ job }) => isQuiet(job)) ? COLUMNS.filter(({ id }) => id !== 'act') : COLUMNS}
          rows={rows}
          getKey={({ job }) => job.job_id}
          formatAddress={({ job }) => formatJobAddress(job)}
          sort={{ column: 'created', direction: 'desc' }}
          height={480}
        />
      </Section>
      {latest !== undefined && <Latest row={latest} />}
    </>
  );
}

/** Returns true for jobs that need no attention: they ended without a failure. */
const isQuiet = ({ status }: JobStatus): boolean => status === 'succeeded' || status === 'cancelled';

function Sums({ rows }: { readonly rows: readonly BatchRow[] }) {
  const views = rows.flatMap(({ view }) => view ?? []);
  const accounts = views.reduce((sum, view) => sum + view.accounts, 0);
  const solvedCount = views.reduce((sum, view) => sum + countSolved(view), 0);
  const refusedCount = views.reduce((sum, { by_status: by }) => sum + (by['refused'] ?? 0), 0);
  const countStates = (...states: JobStatus['status'][]) =>
    rows.filter(({ job }) => states.includes(job.status)).length;
  const failedCount = countStates('failed', 'cancelled');
  const unsolvedCount = accounts - solvedCount - refusedCount;
  const problems = unsolvedCount + refusedCount + failedCount;
  const currencies = new Set(rows.flatMap(({ view, currency }) => (view === undefined ? [] : [currency])));
  // Amounts in different currencies have no sum.
  const formatSum = (readAmount: (view: BatchView) => number): string =>
    currencies.size === 1
      ? formatMoney(
          formatDecimal(
            views.reduce((sum, view) => sum + readAmount(view), 0),
            0,
          ),
          [...currencies][0] ?? null,
        )
      : MISSING_TEXT;
  const endTimes = rows.flatMap(({ job }) => job.finished_at ?? []).toSorted();
  return (
    <Metrics
      label="All batches"
      metrics={[
        {
          term: 'Batches',
          value: formatCount(rows.length),
          note: `${formatCount(countStates('pending', 'running'))} running`,
        },
        { term: 'Accounts', value: formatCount(accounts), note: `${formatCount(solvedCount)} solved` },
        {
          term: 'Problems',
          value: formatCount(problems),
          kind: problems > 0 ? 'down' : '',
          note: 'unsolved accounts, failed batches',
          help: `${formatCount(unsolvedCount)} accounts without a solution, ${formatCount(refusedCount)} refused accounts, ${formatCount(failedCount)} failed batches`,
        },
        { term: 'Tax', value: formatSum(({ tax }) => tax), note: 'of the trades' },
        { term: 'Tax saved', value: formatSum(({ tax_saved: saved }) => saved), note: 'against selling oldest lots' },
        {
          term: 'Last ended',
          ...(endTimes.length === 0 ? { value: MISSING_TEXT } : createMomentFigure(endTimes.at(-1)!)),
        },
      ]}
    />
  );
}

/** Renders the result of the newest batch. */
function Latest({ row: { job, view } }: { readonly row: BatchRow }) {
  if (view === undefined) return null;
  return (
    <Section
      title={`Latest result: ${view.batch_id}`}
      aside={
        <>
          valued on {view.as_of} · risk model {view.risk_model} ·{' '}
          <a href={formatJobAddress(job)}>Accounts and trades</a>
        </>
      }
    >
      <div class="side-by-side">
        <TrackingErrors view={view} />
        <Outcomes view={view} />
        <Conflicts view={view} />
      </div>
    </Section>
  );
}
