import type { JobStatus, SweepView } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { formatAddress, navigate } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatMoment } from '../../words/dates.js';
import { formatJobAddress } from '../../words/jobs.js';
import { Fan } from './fan.js';
import { Figures, isOverfit, Unreliable, useParameterLabels } from './sweep-figures.js';
import { SweepMap } from './sweep-map.js';

/** Renders the figures and the map of the latest sweep. */
export function LatestSweep({ job }: { readonly job: JobStatus }) {
  const full = useResource(`job ${job.job_id}`, (signal) =>
    service.value.call('getJob', { params: { job_id: job.job_id }, signal }),
  );
  return (
    <Answered resource={full} what="the last sweep">
      {({ result }) => result !== null && <Result view={result as SweepView} job={job} />}
    </Answered>
  );
}

function Result({ view, job }: { readonly view: SweepView; readonly job: JobStatus }) {
  const labels = useParameterLabels(view.index_id);
  const pointers = [...new Set(view.rows.flatMap(({ patch }) => Object.keys(patch)))];
  const address = formatJobAddress(job);
  return (
    <Section
      title={`Last sweep, of ${view.index_id}`}
      aside={
        <>
          {formatMoment(job.finished_at)} <a href={address}>Open</a>
        </>
      }
    >
      {isOverfit(view) && <Unreliable view={view} />}
      <Figures view={view} />
      <div class="sweep-first">
        {pointers.length > 0 && labels !== undefined && (
          <SweepMap
            rows={view.rows}
            pointers={pointers}
            rankBy={view.rank_by}
            told={labels}
            identical={view.identical_variants ?? []}
            onOpen={(variant) => navigate(formatAddress(address, { variant: String(variant) }))}
          />
        )}
        {view.fan && <Fan fan={view.fan} />}
      </div>
    </Section>
  );
}
