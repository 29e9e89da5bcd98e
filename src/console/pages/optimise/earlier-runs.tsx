import type { JobStatus, ObjectiveTypes, OptimisationRunResult } from '#clients/typescript/divisor.js';
import { JobTable } from '../../components/job-table.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatPercent } from '../../words/numbers.js';
import { isObject, type JsonObject } from '../../words/paths.js';
import { useObjectiveTypes } from './terms.js';

/** Maximum number of runs whose results are read, newest first. Each needs one request. */
const READ_MAX = 20;

/** Renders the list of earlier optimisations with their objectives and results. */
export function EarlierRuns() {
  const jobs = useResource('jobs optimise', (signal) =>
    service.value.call('listJobs', { query: { kind: ['optimise'], limit: 50 }, signal }),
  );
  return (
    <Answered resource={jobs} what="earlier runs">
      {({ jobs: all }) => all.length > 0 && <Runs jobs={all} />}
    </Answered>
  );
}

function Runs({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  const types = useObjectiveTypes();
  const ids = jobs
    .filter(({ status }) => status === 'succeeded')
    .slice(0, READ_MAX)
    .map(({ job_id: id }) => id);
  const results = useResource(ids.length === 0 ? null : `optimisation results ${ids.join()}`, (signal) =>
    Promise.all(ids.map((id) => service.value.call('getJob', { params: { job_id: id }, signal }))),
  );
  const runs = new Map(results.data?.map(({ job_id: id, result }) => [id, result as OptimisationRunResult | null])); // the kind of the job determines the type of its result
  return (
    <Section title="Earlier runs">
      <JobTable
        jobs={jobs}
        label="optimisations"
        isOneKind
        height={260}
        moreColumns={createColumns(runs, types.data)}
      />
    </Section>
  );
}

type Figure = 'volatility' | 'tracking_error' | 'turnover';

/** Returns the columns of the objective, the date and the result of a run. */
function createColumns(
  runs: ReadonlyMap<string, OptimisationRunResult | null>,
  types: ObjectiveTypes | undefined,
): readonly Column<JobStatus>[] {
  const createFigure = (
    id: Figure,
    { title, width, priority }: Pick<Column<JobStatus>, 'title' | 'width' | 'priority'>,
  ) =>
    createNumericColumn<JobStatus>({
      id,
      title,
      width,
      priority: priority ?? 3,
      of: ({ job_id: jobId }) => runs.get(jobId)?.[id] ?? null,
      write: formatPercent,
    });
  return [
    {
      id: 'objective',
      title: 'Objective',
      width: 170,
      grow: 1,
      priority: 2,
      lines: 1,
      value: ({ request }) => {
        const { objective } = request as JsonObject; // requests are plain JSON
        const type = isObject(objective) ? objective['type'] : 'min_tracking_error';
        return types?.objectives.find((one) => one.type === type)?.label ?? null;
      },
    },
    {
      id: 'as-of',
      title: 'As of',
      help: 'Date of the rebalance whose weights were optimised',
      width: 100,
      priority: 3,
      value: ({ job_id: id }) => runs.get(id)?.rebalance_date ?? null,
    },
    createFigure('volatility', { title: 'Volatility', width: 84 }),
    createFigure('tracking_error', { title: 'Tracking error', width: 104, priority: 2 }),
    createFigure('turnover', { title: 'Turnover', width: 80 }),
  ];
}
