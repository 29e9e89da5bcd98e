import type { JobStatus } from '#clients/typescript/divisor.js';
import { GuideLink } from '../../components/guide-link.js';
import { JobTable } from '../../components/job-table.js';
import { EmptyState } from '../../components/empty-state.js';
import { Metrics } from '../../components/metrics.js';
import { Page, Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { moment } from '../../words/dates.js';
import { count, NONE } from '../../words/numbers.js';

/** Batches of accounts with tax lots that follow an index. */
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
        {({ jobs: all }) => (all.length === 0 ? <NoBatch /> : <Batches jobs={all} />)}
      </Answered>
    </Page>
  );
}

function NoBatch() {
  return (
    <EmptyState title="No batch yet">
      Submit accounts with <code>divisor batch lots.csv --terms terms.json</code> or <code>POST /optimise/batches</code>
      . Each batch is listed here with its figures, its conflicts and its trades by lot.
    </EmptyState>
  );
}

function Batches({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  const countOf = (...states: JobStatus['status'][]) =>
    count(jobs.filter(({ status }) => states.includes(status)).length);
  const ended = jobs.flatMap(({ finished_at: at }) => at ?? []).toSorted();
  return (
    <>
      <Metrics
        label="All batches"
        metrics={[
          { term: 'Batches', value: count(jobs.length), note: `${countOf('succeeded')} done` },
          { term: 'Running', value: countOf('pending', 'running') },
          { term: 'Failed', value: countOf('failed', 'cancelled') },
          { term: 'Last ended', value: ended.length === 0 ? NONE : moment(ended.at(-1)!) },
        ]}
      />
      <Section title="Batches">
        <JobTable jobs={jobs} label="batches" isOneKind />
      </Section>
    </>
  );
}
