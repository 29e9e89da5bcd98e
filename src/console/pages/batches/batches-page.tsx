import { JobTable } from '../../components/job-table.js';
import { EmptyState } from '../../components/empty-state.js';
import { Page, Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';

/** Batches of accounts with tax lots that follow an index. */
export function BatchesPage() {
  const jobs = useResource('jobs batch', (signal) =>
    service.value.call('listJobs', { query: { kind: ['batch'], limit: 100 }, signal }),
  );
  return (
    <Page title="Personal indices" subtitle="Trades of many accounts with tax lots, as one job">
      <Answered resource={jobs} what="the batches">
        {({ jobs: all }) =>
          all.length === 0 ? (
            <EmptyState title="No batch yet">
              Submit accounts with <code>divisor batch lots.csv --terms terms.json</code> or{' '}
              <code>POST /optimise/batches</code>.
            </EmptyState>
          ) : (
            <Section title="Batches">
              <JobTable jobs={all} label="batches" />
            </Section>
          )
        }
      </Answered>
    </Page>
  );
}
