import './jobs.css';
import type { BacktestRunResult, Finding, JobStatus, PreviewStep, SweepView } from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button, LinkButton } from '../../components/controls/button.js';
import { Select } from '../../components/controls/choice.js';
import { Answered, Badge, Banner, EmptyState, Findings, Wait } from '../../components/feedback.js';
import { listFieldSpecs, useSchemas } from '../../components/form/schema-form.js';
import { JobAct, JobState, JobTable } from '../../components/jobs.js';
import { Funnel } from '../../components/layout/bars.js';
import { SidePanel } from '../../components/layout/dialog.js';
import { type Fact, Facts, JsonDocument, Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { createRegisterPage } from '../../components/register.js';
import { retryJob } from '../../state/actions.js';
import { copyText } from '../../state/files.js';
import { getJob, getLog, liveJobs } from '../../state/live.js';
import { addQuery, getParameter, setParameters } from '../../state/location.js';
import { mapResource, may, type Resource, useAnswer } from '../../state/service.js';
import { computeSecondsBetween, formatClock, formatDuration, formatMoment } from '../../words/dates.js';
import {
  formatJobAddress,
  formatJobId,
  formatJobTitle,
  formatPointer,
  formatJobReference,
  isWithoutResult,
  KINDS,
  listJobFindings,
  STATUS_KINDS,
} from '../../words/jobs.js';
import { formatLabel } from '../../words/labels.js';
import {
  countValues,
  formatAtMost,
  formatChange,
  formatCount,
  formatDecimal,
  formatPercent,
  getSignClass,
  MISSING_TEXT,
} from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatQuantity } from '../../words/quantities.js';
import { findRuleAddress } from '../index/run-settings.js';
import { formatReportIndices } from '../reports/report-words.js';
import { useParameterLabels } from '../sweeps/parameters.js';
import { findBest, formatMetric, formatWithUnit, getGrid, getSweepTerms, listSettings } from '../sweeps/variants.js';

/** Renders the period, return, rebalances and warnings of a successful backtest. */
function BacktestOutcome({ job: { result } }: { readonly job: JobStatus }) {
  if (result === null || result === undefined) return null; // the result was deleted
  const { level, metrics, rebalances_total: rebalances, findings } = result as BacktestRunResult; // schema of the kind
  const { index: dates } = level;
  const warnings = findings.filter(({ severity }) => severity !== 'info');
  return (
    <section aria-label="Result">
      <h3>Result</h3>
      <Facts
        facts={[
          ['Period', `${dates[0]} to ${dates.at(-1)}, ${countValues(dates.length, 'session')}`],
          [
            'Total return after costs',
            <span class={getSignClass(metrics.total_return)}>{formatChange(metrics.total_return)}</span>,
          ],
          ['Volatility', `${formatPercent(metrics.volatility)} annual`],
          ['Rebalances', formatCount(rebalances)],
          ['Warnings', formatCount(warnings.length)],
        ]}
      />
      {warnings.length > 0 && <Findings findings={warnings} shown={WARNINGS_MAX} />}
    </section>
  );
}

/** Maximum number of warnings that are visible. */
const WARNINGS_MAX = 3;

/** Details of a refused backtest of an index with rules. */
interface SelectionDetail {
  readonly as_of?: string;
  readonly steps?: readonly Omit<PreviewStep, 'excluded'>[];
}

/** Renders the number of securities that each rule left on the reference date of a failed backtest. */
function FailedSelection({ job }: { readonly job: JobStatus }) {
  const { as_of: asOf, steps } = (job.error?.detail ?? {}) as SelectionDetail;
  if (steps === undefined || asOf === undefined) return <PreviewedSelection id={formatJobId(job)} />;
  return (
    <Section title="Selection of constituents" aside={`on ${asOf}`}>
      <Funnel steps={steps.map((step) => ({ ...step, excluded: [] }))} assets={[]} />
    </Section>
  );
}

/** Renders the selection by the current definition. For errors of earlier versions, which contain no counts. */
function PreviewedSelection({ id }: { readonly id: string }) {
  const preview = useAnswer('previewIndex', { params: { index_id: id }, body: {} });
  if (preview.isLoading) return <Wait what="the selection" />;
  const { steps, resolved_date: date, assets } = preview.data ?? {};
  if (steps == null || assets === undefined) return null; // the preview is refused for the same reason, or the index is deleted
  return (
    <Section title="Selection of constituents" aside={`by the current definition, on ${date}`}>
      <Funnel steps={steps} assets={assets} />
    </Section>
  );
}

/** Renders the best variant and the probability of overfitting of a successful sweep. */
function SweepOutcome({ job: { result } }: { readonly job: JobStatus }) {
  const view = result as SweepView | null; // the kind of the job determines the type of its result
  const best = view === null ? undefined : findBest(view);
  const labelsOf = useParameterLabels(view === null ? [] : [view.index_id]);
  if (view === null || best === undefined || labelsOf === undefined) return null;
  const ratio = formatDecimal(best.metrics?.sharpe_ratio ?? null, 3);
  return (
    <section aria-label="Result">
      <h3>Result</h3>
      <Facts
        facts={[
          ['Best variant', `${listSettings(best.patch, labelsOf(view.index_id))}, Sharpe ratio ${ratio}`],
          ['Probability of overfitting', view.overfitting && formatPercent(view.overfitting.probability, 1)],
        ]}
      />
    </section>
  );
}

interface SweepSettingsProps {
  readonly job: JobStatus;
}

/** Renders the settings of a sweep with the labels and units of its form. */
function SweepSettings({ job: { request } }: SweepSettingsProps) {
  const sweep = (isObject(request as Json) ? request : {}) as JsonObject; // requests are plain JSON
  const id = String(sweep['index_id']);
  const schemas = useSchemas();
  const labelsOf = useParameterLabels([id]);
  const index = useAnswer('getIndex', { params: { index_id: id } });
  if (labelsOf === undefined || schemas.data === undefined || index.isLoading) return null;
  const labels = labelsOf(id);
  const grid = Object.entries(getGrid(request) ?? {}).map(([pointer, values]): Fact => {
    const { label, unit } = labels(pointer);
    return [label, values.map((value) => formatWithUnit(value, unit)).join(', ')];
  });
  const terms = listFieldSpecs(schemas.data, 'SweepTerms').map(({ name, label, unit }): Fact => {
    const value = getSweepTerms(request)[name];
    const isCapital = name === 'initial_capital';
    return [label, formatSetting(value, isCapital ? (index.data?.currency ?? null) : (unit ?? null))];
  });
  return (
    <Facts
      facts={[
        ['Index', id],
        ...grid,
        ['Ranked by', formatMetric(String(sweep['rank_by']))],
        ...listFoldSettings(sweep['folds']),
        ['Parts of the overfitting test', formatSetting(sweep['partitions'], null)],
        ...terms,
        ['Store', formatSetting(sweep['store_id'], null)],
      ]}
    />
  );
}

/** Returns a line for each setting of the folds. */
function listFoldSettings(folds: Json | undefined): readonly Fact[] {
  if (!isObject(folds)) return [['Test of the choice', 'none']];
  const { method, ...settings } = folds;
  return [
    ['Test of the choice', formatMetric(String(method))],
    ...Object.entries(settings).map(([name, value]): Fact => [
      formatLabel(name),
      typeof value === 'number' && SESSION_MEMBERS.includes(name)
        ? countValues(value, 'session')
        : formatSetting(value, null),
    ]),
  ];
}

/** Settings of folds that are numbers of sessions. */
const SESSION_MEMBERS: readonly string[] = ['purge', 'embargo'];

/** Formats a setting; null if it has no value. */
function formatSetting(value: Json | undefined, unit: string | null): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number') return unit === null ? formatAtMost(value, 6) : formatQuantity(value, unit);
  return typeof value === 'string' ? formatMetric(value) : JSON.stringify(value);
}

interface JobPanelProps {
  readonly id: string;
  onClose(): void;
}

/** Renders a job: its request, progress and errors. */
function JobPanel({ id, onClose }: JobPanelProps) {
  const job = useAnswer('getJob', { params: { job_id: id } });
  return (
    <SidePanel title={job.data === undefined ? id : formatJobTitle(job.data)} onClose={onClose}>
      <Answered resource={job} what="the job">
        {(stored) => <Job job={{ ...stored, ...getJob(id), result: stored.result }} />}
      </Answered>
    </SidePanel>
  );
}

function Job({ job }: { readonly job: JobStatus }) {
  const { status, error, created_at: created, started_at: started, finished_at: finished } = job;
  const findings = listJobFindings(error);
  const otherFindings = findings.filter(({ message }) => error?.message.includes(message) !== true);
  return (
    <>
      {status === 'failed' ? (
        <Banner kind="bad" title={error?.message ?? 'The job failed.'}>
          {error !== null && (
            <details>
              <summary>Details</summary>
              <code>{error.code}</code>
            </details>
          )}
          {otherFindings.length > 0 && <Findings findings={otherFindings} />}
          <Remedy job={job} findings={findings} />
          {may('run') && <ActionButton act={(onRefusal) => retryJob(job.job_id, onRefusal)}>Retry</ActionButton>}
        </Banner>
      ) : (
        <JobState job={job} />
      )}
      {status === 'failed' && job.kind === 'backtest' && findings.some(isOfPipeline) && <FailedSelection job={job} />}
      {status === 'succeeded' && job.kind === 'backtest' && <BacktestOutcome job={job} />}
      {status === 'succeeded' && job.kind === 'sweep' && <SweepOutcome job={job} />}
      {status === 'succeeded' && (
        <div>
          <LinkButton kind="main" href={formatJobAddress(job)}>
            Open the result
          </LinkButton>
        </div>
      )}
      <Facts
        facts={[
          ['State', <Badge kind={STATUS_KINDS[status]}>{status}</Badge>],
          ['Description', status === 'failed' ? null : job.message.replace(/^Done\.\s*/, '') || null],
          ['Submitted', formatMoment(created, true)],
          ['Started', started && formatMoment(started, true)],
          ['Ended', finished && formatMoment(finished, true)],
          ['Duration', started && formatDuration(computeSecondsBetween(started, finished))],
          ['Attempt', String(job.attempt)],
          ['Id', <CopiedCode text={job.job_id} what="the id" />],
          [
            'Request id',
            job.request_id && <CopiedCode text={job.request_id} length={16} what="the id of the request" />,
          ],
          ['Input', <CopiedCode text={job.input_hash} length={16} what="the hash of the input" />],
        ]}
      />
      <Log job={job} />
      <Request job={job} />
    </>
  );
}

const isOfPipeline = ({ path }: Finding): boolean => path.startsWith('pipeline.');

interface RemedyProps {
  readonly job: JobStatus;
  readonly findings: readonly Finding[];
}

/** Renders a link to the rule because of which a backtest failed. If it was not a rule, links to the index. */
function Remedy({ job, findings }: RemedyProps) {
  if (job.kind !== 'backtest') return null;
  const id = formatJobId(job);
  const [finding] = findings.filter(({ path }) => findRuleAddress(id, path) !== null);
  return finding === undefined ? (
    <LinkButton href={formatJobAddress(job)}>Open {id}</LinkButton>
  ) : (
    <LinkButton kind="main" href={findRuleAddress(id, finding.path) ?? formatJobAddress(job)}>
      Edit the rule {finding.row_id ?? ''}
    </LinkButton>
  );
}

function Request({ job }: { readonly job: JobStatus }) {
  const request = job.request as JsonObject; // requests are plain JSON
  const isSweep = job.kind === 'sweep';
  const fields = isSweep ? [] : listGiven(request);
  return (
    <section aria-label="Request">
      <h3>Request</h3>
      {isSweep && <SweepSettings job={job} />}
      {fields.length > 0 && fields.length <= FIELDS_MAX && <Facts facts={fields} />}
      <details open={fields.length > FIELDS_MAX}>
        <summary>JSON</summary>
        <JsonDocument label="Request as JSON" value={request} />
      </details>
    </section>
  );
}

/** Maximum number of fields of a request that are shown as a list. */
const FIELDS_MAX = 12;
/** Maximum number of characters of a value in the list. */
const VALUE_MAX = 60;

/** Returns the fields that have a value. The fields of an object are on one line. */
const listGiven = (request: JsonObject): readonly Fact[] =>
  Object.entries(request).flatMap(([name, value]): readonly Fact[] => {
    const text = formatField(name, value ?? null);
    return text === ''
      ? []
      : [
          [
            FIELD_LABELS[name] ?? formatLabel(name),
            <span title={text}>{text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)} …` : text}</span>,
          ],
        ];
  });

/** Labels of fields whose names repeat a heading, or are not words. */
const FIELD_LABELS: Readonly<Record<string, string>> = {
  request: 'Terms of the backtest',
};

function formatField(name: string, value: Json): string {
  if (typeof value === 'number' && name.endsWith('_bps')) return formatQuantity(value, 'bp');
  return name === 'benchmark' && isObject(value) ? formatJobReference(value) : formatGiven(value);
}

/** Formats a JSON value in words, for example `folds 4, purge 1`; empty for null. */
function formatGiven(value: Json): string {
  if (value === null) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return formatAtMost(value, 6);
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map(formatGiven).join(', ');
  return Object.entries(value as JsonObject)
    .filter(([, own]) => own !== null && own !== undefined)
    .map(([name, own]) => `${formatPointer(name)} ${formatField(name, own ?? null)}`)
    .join(', ');
}

interface CopiedCodeProps {
  readonly text: string;
  /** Name of the text, for example `the id`. */
  readonly what: string;
  /** Number of characters that are visible. Default: all. */
  readonly length?: number;
}

const CopiedCode = ({ text, what, length = text.length }: CopiedCodeProps) => (
  <>
    <code title={text}>
      {text.slice(0, length)}
      {length < text.length && '…'}
    </code>{' '}
    <Button kind="bare" aria-label={`Copy ${what}`} onClick={() => void copyText(text, what)}>
      Copy
    </Button>
  </>
);

/** Renders the attempts of a job, and the messages that the job sent while the page was open. */
function Log({ job: { job_id: id, created_at: created, attempts, error } }: { readonly job: JobStatus }) {
  const lines = [
    { at: created, text: 'Submitted' },
    ...attempts.flatMap(({ attempt, node, started_at: started, ended_at: ended, end, reason }) => [
      { at: started, text: `Attempt ${attempt} started${node === null ? '' : ` on ${node}`}` },
      ...(ended === null
        ? []
        : [
            {
              at: ended,
              text: `Attempt ${attempt} ${end ?? 'ended'}${reason === null || reason === error?.message ? '' : `: ${reason}`}`,
            },
          ]),
    ]),
    ...getLog(id).map(({ at, text, progress }) => ({ at, text: `${formatPercent(progress, 0)} ${text}` })),
  ].toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return (
    <section aria-label="Log">
      <h3>Log</h3>
      <ol class="pile small job-log">
        {lines.map(({ at, text }, k) => (
          <li key={`${at} ${k}`}>
            <time class="quiet number" dateTime={at}>
              {formatClock(at)}
            </time>{' '}
            {text}
          </li>
        ))}
      </ol>
    </section>
  );
}

type Kind = JobStatus['kind'];
type State = JobStatus['status'];

const STATES = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const satisfies readonly State[];
const LIMIT_DEFAULT = 100;
/** Maximum number of jobs in a response. */
const JOBS_MAX = 500;

/** Returns the kind and the state of jobs in the address. */
const getFilter = () => ({
  kind: (Object.keys(KINDS) as Kind[]).find((known) => known === getParameter('kind')),
  status: STATES.find((known) => known === getParameter('state')),
});

/** Maximum number of listed jobs: that of the first response, or of a response if older jobs are shown as well. */
const getLimit = (): number => (getParameter('older') === null ? LIMIT_DEFAULT : JOBS_MAX);

function useJobs(): Resource<readonly JobStatus[]> {
  const { kind, status } = getFilter();
  const limit = getLimit();
  const jobs = useAnswer(
    'listJobs',
    { query: { limit, kind: kind && [kind], status: status && [status] } },
    { keeps: true },
  );
  return mapResource(jobs, ({ jobs: all }) => all);
}

function Filter() {
  const { kind, status } = getFilter();
  return (
    <>
      <Select
        label="Kind"
        isLabelShown
        options={[
          { value: '', text: 'all' },
          ...Object.entries(KINDS).map(([value, text]) => ({ value: value as Kind, text })),
        ]}
        value={kind ?? ''}
        onChoose={(chosen) => setParameters({ kind: chosen === '' ? null : chosen })}
      />
      <Select
        label="State"
        isLabelShown
        options={[{ value: '', text: 'all' }, ...STATES.map((value) => ({ value, text: value }))]}
        value={status ?? ''}
        onChoose={(chosen) => setParameters({ state: chosen === '' ? null : chosen })}
      />
    </>
  );
}

/** Renders the listed jobs, with their figures and the failed ones. */
function Jobs({ jobs: all }: { readonly jobs: readonly JobStatus[] }) {
  const { kind, status } = getFilter();
  const indices = useRenderedIndices(all);
  if (all.length === 0)
    return (
      <EmptyState title="No job">
        {kind === undefined && status === undefined
          ? 'Runs, optimisations, sweeps, reports and refreshes are listed here.'
          : 'No jobs of this kind and state.'}
      </EmptyState>
    );
  const jobs = addLiveJobs(all, kind, status);
  return (
    <>
      <Counts jobs={jobs} />
      {status === undefined && <FailedJobs jobs={all} />}
      <JobTable
        jobs={jobs}
        label="jobs"
        name="jobs"
        height={680}
        searches
        indices={indices}
        onOpen={(id) => setParameters({ job: id })}
        openKey={getParameter('job')}
      />
      {all.length === getLimit() && all.length < JOBS_MAX && (
        <div>
          <Button onClick={() => setParameters({ older: 'yes' })}>Older ones</Button>
        </div>
      )}
    </>
  );
}

/** Formats the number of listed jobs and the time of the oldest, for example `29 jobs since 2026-11-26 22:08 UTC`. */
function formatPeriod(jobs: readonly JobStatus[]): string {
  const oldest = jobs.map(({ created_at: time }) => time).toSorted()[0];
  return oldest === undefined ? '' : `${countValues(jobs.length, 'job')} since ${formatMoment(oldest)}`;
}

/** Returns the indices of the reports of jobs whose requests name none, because the template names them. */
function useRenderedIndices(jobs: readonly JobStatus[]): ReadonlyMap<string, string> {
  const isNeeded = jobs.some(({ kind, request }) => kind === 'render' && (request as JsonObject)['index_id'] === null);
  const renders = useAnswer('listRenders', isNeeded ? { query: { limit: JOBS_MAX } } : null);
  const unnamed = (renders.data?.renders ?? []).filter(({ index_id: id }) => id === null);
  return new Map(unnamed.map((render) => [`render:${render.render_id}`, formatReportIndices(render)]));
}

/** Maximum number of failed jobs above the list. */
const FAILED_MAX = 3;

/** Renders the newest failed jobs with their reasons. */
function FailedJobs({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  const failedJobs = jobs.map((job) => getJob(job.job_id) ?? job).filter((job) => job.status === 'failed');
  if (failedJobs.length === 0) return null;
  return (
    <Banner kind="bad" title={countValues(failedJobs.length, 'failed job')}>
      {failedJobs.slice(0, FAILED_MAX).map((job) => (
        <p key={job.job_id}>
          <a href={addQuery({ job: job.job_id })}>{formatJobTitle(job)}</a>: {job.error?.message}{' '}
          {may('run') && <JobAct job={job} />}
        </p>
      ))}
      {failedJobs.length > FAILED_MAX && <a href={addQuery({ state: 'failed' })}>All failed jobs</a>}
    </Banner>
  );
}

function Counts({ jobs }: { readonly jobs: readonly JobStatus[] }) {
  const countJobs = (...states: State[]) => jobs.filter((job) => states.includes(job.status)).length;
  const took = jobs
    .flatMap(({ started_at: from, finished_at: to }) =>
      from === null || to === null ? [] : [computeSecondsBetween(from, to)],
    )
    .toSorted((a, b) => a - b);
  const median = took[Math.floor(took.length / 2)];
  const failedCount = countJobs('failed');
  const withoutResult = jobs.filter(isWithoutResult).length;
  return (
    <Metrics
      label="Listed jobs"
      metrics={[
        { term: 'Running', value: formatCount(countJobs('running')) },
        { term: 'Waiting', value: formatCount(countJobs('pending')) },
        {
          term: 'Succeeded',
          value: formatCount(countJobs('succeeded') - withoutResult),
          note:
            withoutResult > 0
              ? `${formatCount(withoutResult)} more without a result`
              : `of ${formatCount(jobs.length)} listed`,
        },
        { term: 'Failed', value: formatCount(failedCount), kind: failedCount > 0 ? 'down' : '' },
        { term: 'Median duration', value: median === undefined ? MISSING_TEXT : formatDuration(median) },
        { term: 'Longest', value: took.length === 0 ? MISSING_TEXT : formatDuration(took.at(-1)!) },
      ]}
    />
  );
}

/** Adds jobs that started after the list was read. */
function addLiveJobs(
  listed: readonly JobStatus[],
  kind: Kind | undefined,
  status: State | undefined,
): readonly JobStatus[] {
  const ids = new Set(listed.map(({ job_id: id }) => id));
  const otherJobs = liveJobs.value.filter(
    (job) =>
      !ids.has(job.job_id) &&
      (kind === undefined || job.kind === kind) &&
      (status === undefined || job.status === status),
  );
  return [...otherJobs, ...listed];
}

/** Page of all jobs: pending, running and ended. Each job opens to its request and result. */
export const JobsPage = createRegisterPage<JobStatus>({
  title: 'Jobs',
  name: 'jobs',
  label: 'jobs',
  subtitle: (jobs) => jobs && formatPeriod(jobs),
  actions: () => <Filter />,
  useRows: useJobs,
  parameter: 'job',
  getKey: ({ job_id: id }) => id,
  renderTable: (jobs) => <Jobs jobs={jobs} />,
  renderPanel: (id, onClose) => <JobPanel key={id} id={id} onClose={onClose} />,
});
