import { useMemo } from 'preact/hooks';
import type { BacktestRecordCollection, JobStatus, RenderResult } from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Badge, type BadgeKind, Banner } from '../../components/feedback.js';
import { Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import type { Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { tryAction, type OnRefusal, runIndex, submitJob } from '../../state/actions.js';
import { addQuery, setParameters } from '../../state/location.js';
import { may, service, useList } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { createMomentFigure, formatMoment } from '../../words/dates.js';
import { formatJobId } from '../../words/jobs.js';
import { formatBytes, formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { listReportIndices } from './report-words.js';

type Run = BacktestRecordCollection['backtests'][number];

export type RunsByIndex = ReadonlyMap<string, Run>;

/** An index with a stored run and its newest report. */
interface ReportedIndex {
  readonly run: Run;
  readonly report: RenderResult | undefined;
}

export function useRuns(): RunsByIndex {
  const runs = useList('backtests');
  return useMemo(() => new Map((runs.data?.backtests ?? []).map((run) => [run.index_id, run])), [runs.data]);
}

/**
 * Returns the indices with a stored run, each with its newest report.
 * @param renders finished reports, newest first
 */
export const listReportedIndices = (runs: RunsByIndex, renders: readonly RenderResult[]): readonly ReportedIndex[] =>
  [...runs.values()].map((run) => ({
    run,
    report: renders.find((report) => listReportIndices(report).includes(run.index_id)),
  }));

interface ReportStatesProps {
  readonly rows: readonly ReportedIndex[];
  /** Template of new reports. */
  readonly template: string | undefined;
}

/** Shows for each index with a run whether its newest report is of that run. */
export function ReportStates({ rows, template }: ReportStatesProps) {
  if (rows.length === 0) return null;
  return (
    <Section title="Reports by index" aside="the newest report of each index, against its latest run">
      <Table
        label="reports by index"
        name="states"
        columns={createColumns(template)}
        rows={rows}
        getKey={({ run }) => run.index_id}
        sort={{ column: 'state', direction: 'asc' }}
        height={300}
      />
    </Section>
  );
}

interface ReportFiguresProps {
  readonly rows: readonly ReportedIndex[];
  /** Finished reports, newest first. */
  readonly renders: readonly RenderResult[];
  /** Number of all stored reports. */
  readonly total: number;
}

export function ReportFigures({ rows, renders, total }: ReportFiguresProps) {
  if (rows.length === 0) return null;
  const countOf = (state: ReportState) => rows.filter((row) => findState(row) === state).length;
  const [newest] = renders;
  const outdatedCount = countOf('out of date');
  return (
    <Metrics
      label="Figures of the reports"
      metrics={[
        {
          term: 'Reports',
          value: formatCount(total),
          note: formatBytes(renders.reduce((sum, one) => sum + one.bytes, 0)),
        },
        {
          term: 'Current',
          value: formatCount(countOf('current')),
          note: `of ${formatCount(rows.length)} indices and strategies`,
        },
        {
          term: 'Indices out of date',
          value: formatCount(outdatedCount),
          kind: outdatedCount > 0 ? 'warning' : '',
          note: 'older than the latest run, or the run is out of date',
        },
        { term: 'Without a report', value: formatCount(countOf('none')) },
        {
          term: 'Newest',
          ...(newest === undefined ? { value: MISSING_TEXT } : createMomentFigure(newest.rendered_at)),
        },
      ]}
    />
  );
}

interface ReportWarningsProps {
  readonly report: RenderResult;
  /** Another reason why the report is out of date, for example a newer version of its template. */
  readonly otherReason?: string | null;
}

/** Renders why a report is out of date, with a button that makes it current. */
export function ReportWarnings({ report, otherReason = null }: ReportWarningsProps) {
  const outdated = listOutdated(report, useRuns());
  const reasons = [...(otherReason === null ? [] : [otherReason]), ...outdated.map(({ reason }) => reason)];
  const staleIds = outdated.flatMap(({ run }) => (run.stale === null ? [] : [run.index_id]));
  if (reasons.length === 0) return null;
  return (
    <Banner
      kind="warning"
      title="This report is out of date"
      action={
        may('run') && (
          <ActionButton kind="main" act={(onRefusal) => updateReport(report, staleIds, onRefusal)}>
            {staleIds.length === 0 ? 'Render again' : 'Run and render again'}
          </ActionButton>
        )
      }
    >
      <span>{reasons.join(' ')}</span>
    </Banner>
  );
}

/** Runs the indices whose latest runs are out of date, one after the other, then renders the report again. */
async function updateReport(report: RenderResult, staleIds: readonly string[], onRefusal: OnRefusal): Promise<void> {
  for (const id of staleIds) if (!(await hasRun(id, onRefusal))) return;
  await renderAgain(report, onRefusal);
}

/** Runs an index with the terms of its latest run, and waits for the end of the job. */
async function hasRun(id: string, onRefusal: OnRefusal): Promise<boolean> {
  let job: Pick<JobStatus, 'job_id' | 'status'> | undefined = await runIndex(id, { if_stale: true }, onRefusal);
  while (job?.status === 'pending' || job?.status === 'running') {
    const { job_id: jobId } = job;
    const request = { params: { job_id: jobId }, query: { wait: WAIT_SECONDS } };
    job = await tryAction(() => service.value.call('getJob', request), onRefusal);
  }
  return job?.status === 'succeeded';
}

/** Time in seconds after which an unfinished job is requested again. */
const WAIT_SECONDS = 20;

async function renderAgain(report: RenderResult, onRefusal: OnRefusal): Promise<void> {
  const [first, ...others] = listReportIndices(report);
  const indices =
    first === undefined ? {} : others.length === 0 ? { index_id: first } : { index_ids: [first, ...others] };
  const body = { template_id: report.template_id, ...indices };
  const job = await submitJob(() => service.value.call('renderReport', { body }), onRefusal);
  if (job !== undefined) setParameters({ render: formatJobId(job) });
}

type ReportState = 'out of date' | 'current' | 'none';

const STATE_KINDS: Readonly<Record<ReportState, BadgeKind>> = {
  'out of date': 'warning',
  current: 'good',
  none: 'plain',
};

/** Order of the states. Reports that are out of date come first, then the other indices with a report. */
const STATES = Object.keys(STATE_KINDS);

/** Returns the runs of the indices of a report that make it out of date, each with the reason. */
const listOutdated = (report: RenderResult, runs: RunsByIndex) =>
  listReportIndices(report).flatMap((id) => {
    const run = runs.get(id);
    const reason = run === undefined ? null : findReason(report, run);
    return run === undefined || reason === null ? [] : [{ run, reason }];
  });

/** Returns the reason why a report is out of date; null if it is current. */
function findReason(report: RenderResult, { index_id: id, run_at: runAt, stale }: Run): string | null {
  if (stale !== null) return `The latest run of ${id} is out of date. ${stale.reasons.join(' ')}`;
  return runAt !== null && report.rendered_at < runAt ? `It is older than the latest run of ${id}.` : null;
}

const findState = ({ run, report }: ReportedIndex): ReportState =>
  report === undefined ? 'none' : findReason(report, run) === null ? 'current' : 'out of date';

/** Renders the state of a report, with the reason as its tooltip. Renders nothing if no index of the report has a run. */
export function ReportBadge({ report, runs }: { readonly report: RenderResult; readonly runs: RunsByIndex }) {
  if (!listReportIndices(report).some((id) => runs.has(id))) return null;
  const reasons = listOutdated(report, runs).map(({ reason }) => reason);
  const state = reasons.length === 0 ? 'current' : 'out of date';
  return (
    <Badge kind={STATE_KINDS[state]} title={reasons.length === 0 ? undefined : reasons.join(' ')}>
      {state}
    </Badge>
  );
}

/** @param template template of new reports; undefined if there is none */
const createColumns = (template: string | undefined): readonly Column<ReportedIndex>[] => [
  {
    id: 'id',
    title: 'Index or strategy',
    width: 124,
    grow: 2,
    value: ({ run }) => run.index_id,
    show: ({ run: { index_id: id } }) => <a href={formatIndexAddress(id)}>{id}</a>,
  },
  {
    id: 'state',
    title: 'Report',
    help: 'Newest report, compared with the latest run of the index',
    width: 136,
    value: (row) => STATES.indexOf(findState(row)),
    copy: findState,
    show: ({ run, report }) =>
      report === undefined ? (
        <Badge>none</Badge>
      ) : (
        <ReportBadge report={report} runs={new Map([[run.index_id, run]])} />
      ),
  },
  {
    id: 'run',
    title: 'Latest run',
    width: 166,
    priority: 3,
    value: ({ run }) => run.run_at ?? '',
    show: ({ run }) => formatMoment(run.run_at),
  },
  {
    id: 'rendered',
    title: 'Rendered',
    width: 166,
    priority: 2,
    value: ({ report }) => report?.rendered_at ?? '',
    show: ({ report }) =>
      report === undefined ? (
        MISSING_TEXT
      ) : (
        <a href={addQuery({ render: report.render_id })}>{formatMoment(report.rendered_at)}</a>
      ),
  },
  {
    id: 'name',
    title: 'Title',
    width: 120,
    grow: 2,
    priority: 4,
    value: ({ report }) => report?.name ?? '',
  },
  {
    id: 'pages',
    title: 'Pages',
    width: 64,
    align: 'right',
    priority: 5,
    value: ({ report }) => report?.pages ?? null,
  },
  {
    id: 'render',
    title: '',
    width: 84,
    value: () => null,
    show: ({ run: { index_id: id }, report }) =>
      may('run') &&
      template !== undefined && (
        <ActionButton
          kind="bare"
          aria-label={`Render ${id}`}
          title={`Template ${report?.template_id ?? template}`}
          act={async (onRefusal) => {
            const body = { template_id: report?.template_id ?? template, index_id: id };
            const job = await submitJob(() => service.value.call('renderReport', { body }), onRefusal);
            if (job !== undefined) setParameters({ render: formatJobId(job) });
          }}
        >
          Render
        </ActionButton>
      ),
  },
];
