import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { JobTable } from '../../components/job-table.js';

/** Renders the list of earlier optimisations. */
export function EarlierRuns() {
  const jobs = useResource('jobs optimise', (signal) =>
    service.value.call('listJobs', { query: { kind: ['optimise'], limit: 50 }, signal }),
  );
  return (
    <Answered resource={jobs} what="earlier runs">
      {({ jobs: all }) =>
        all.length > 0 && (
          <Section title="Earlier runs">
            <JobTable jobs={all} label="optimisations" isOneKind height={260} />
          </Section>
        )
      }
    </Answered>
  );
}
