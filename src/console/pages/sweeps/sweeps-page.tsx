import { LinkButton } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { Page } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { StoredSweeps } from './stored-sweeps.js';

/** Page of all sweeps, each with its verdict and its best variant. */
export function SweepsPage() {
  const jobs = useResource('jobs sweep', (signal) =>
    service.value.call('listJobs', { query: { kind: ['sweep'], limit: 100 }, signal }),
  );
  return (
    <Page
      title="Sweeps"
      subtitle="Many variants of an index, run and ranked as one job"
      actions={jobs.data !== undefined && jobs.data.jobs.length > 0 && <NewSweepButton />}
    >
      <Answered resource={jobs} what="the sweeps">
        {({ jobs: all }) => (all.length === 0 ? <NoSweep /> : <StoredSweeps jobs={all} />)}
      </Answered>
    </Page>
  );
}

const NewSweepButton = () =>
  may('run') ? (
    <LinkButton kind="main" href="/console/sweeps/new">
      New sweep
    </LinkButton>
  ) : null;

function NoSweep() {
  return (
    <EmptyState title="No sweep yet" action={<NewSweepButton />}>
      A sweep runs an index with many values of its parameters, ranks the variants, and tests whether the best one is
      better than chance.
    </EmptyState>
  );
}
