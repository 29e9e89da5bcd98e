import type { JobStatus } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { GuideLink } from '../../components/guide-link.js';
import { JobTable } from '../../components/job-table.js';
import { EmptyState } from '../../components/empty-state.js';
import { Metrics } from '../../components/metrics.js';
import { Page, Section } from '../../components/page.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { jobOf, liveJobs } from '../../state/live.js';
import { parameter } from '../../state/place.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { momentFigure } from '../../words/dates.js';
import { count, NONE } from '../../words/numbers.js';
import { BatchOutcome } from './batch-outcome.js';
import { NewBatch } from './new-batch.js';
import '../designer/designer.css';

/** Page of batches: accounts with tax lots that follow an index. */
export function BatchesPage() {
  const jobs = useResource('jobs batch', (signal) =>
    service.value.call('listJobs', { query: { kind: ['batch'], limit: 100 }, signal }),
  );
  return (
    <Page title="Personal indices" subtitle="Trades of many accounts with tax lots, as one job">
      <p>
        A batch finds the trades that bring each account close to its index and save the most tax, with its lots, gains
        and limits. <GuideLink page="personal">Personal indices</GuideLink>
      </p>
      <Answered resource={jobs} what="the batches">
        {({ jobs: listed }) => {
          const all = withLive(listed);
          return (
            <>
              {may('run') && <Folded isOpen={all.length === 0} />}
              {all.length === 0 ? <NoBatch /> : <Batches jobs={all} />}
            </>
          );
        }}
      </Answered>
    </Page>
  );
}

/** Adds batches that started after the list was requested. */
function withLive(listed: readonly JobStatus[]): readonly JobStatus[] {
  const ids = new Set(listed.map(({ job_id: id }) => id));
  return [...liveJobs.value.filter(({ job_id: id, kind }) => kind === 'batch' && !ids.has(id)), ...listed];
}

/** Renders the form of a new batch. The form is folded if there are batches, and stays open during editing. */
function Folded({ isOpen: isFirst }: { readonly isOpen: boolean }) {
  const [isOpen, setOpen] = useState(isFirst || parameter('batch') !== null);
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
      Choose a file of accounts, or submit it with <code>divisor batch accounts.csv --terms terms.json</code>. Each
      batch is listed here with its figures, its conflicts and its trades by lot.
    </EmptyState>
  );
}

/** Returns the parent index and the number of accounts in the request of a batch. */
const requestOf = ({ request }: JobStatus) => request as { readonly parent: string; readonly accounts: number };

const COLUMNS: readonly Column<JobStatus>[] = [
  { id: 'parent', title: 'Index', width: 110, grow: 1, value: (job) => requestOf(job).parent },
  numeric({
    id: 'accounts',
    title: 'Accounts',
    width: 84,
    priority: 3,
    of: (job: JobStatus) => requestOf(job).accounts,
    write: count,
  }),
  {
    id: 'outcome',
    title: 'Median tracking error',
    help: 'Annual, over the solved accounts',
    width: 156,
    priority: 2,
    value: () => null,
    show: (job) => <BatchOutcome job={job} />,
  },
];

function Batches({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  const now = jobs.map((job) => jobOf(job.job_id) ?? job);
  const countOf = (...states: JobStatus['status'][]) =>
    count(now.filter(({ status }) => states.includes(status)).length);
  const ended = now.flatMap(({ finished_at: at }) => at ?? []).toSorted();
  return (
    <>
      <Metrics
        label="All batches"
        metrics={[
          { term: 'Batches', value: count(jobs.length), note: `${countOf('succeeded')} done` },
          { term: 'Running', value: countOf('pending', 'running') },
          { term: 'Failed', value: countOf('failed', 'cancelled') },
          { term: 'Last ended', ...(ended.length === 0 ? { value: NONE } : momentFigure(ended.at(-1)!)) },
        ]}
      />
      <Section title="Batches">
        <JobTable jobs={jobs} label="batches" isOneKind more={COLUMNS} />
      </Section>
    </>
  );
}
