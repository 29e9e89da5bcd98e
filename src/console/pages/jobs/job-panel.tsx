import type { Finding, JobStatus } from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/action-button.js';
import { Badge } from '../../components/badge.js';
import { Banner } from '../../components/banner.js';
import { Button, LinkButton } from '../../components/button.js';
import { Facts, type Fact } from '../../components/facts.js';
import { Findings } from '../../components/findings.js';
import { JobState } from '../../components/job-state.js';
import { JsonDocument } from '../../components/json-document.js';
import { SidePanel } from '../../components/side-panel.js';
import { Answered } from '../../components/wait.js';
import { retryJob } from '../../state/actions.js';
import { copyText } from '../../state/clipboard.js';
import { getLog } from '../../state/job-log.js';
import { getJob } from '../../state/live.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatClock, formatDuration, formatMoment, computeSecondsBetween } from '../../words/dates.js';
import {
  formatJobAddress,
  formatJobId,
  formatJobTitle,
  formatPointer,
  formatReference,
  listJobFindings,
  STATUS_KINDS,
} from '../../words/jobs.js';
import { formatLabel } from '../../words/labels.js';
import { formatAtMost, formatPercent } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatQuantity } from '../../words/quantities.js';
import { findRuleAddress } from '../index/rule-address.js';
import { BacktestOutcome } from './backtest-outcome.js';
import { FailedSelection } from './failed-selection.js';
import { SweepOutcome } from './sweep-outcome.js';
import { SweepSettings } from './sweep-settings.js';
import './jobs.css';

interface JobPanelProps {
  readonly id: string;
  onClose(): void;
}

/** Renders a job: its request, progress and errors. */
export function JobPanel({ id, onClose }: JobPanelProps) {
  const job = useResource(`job ${id}`, (signal) => service.value.call('getJob', { params: { job_id: id }, signal }));
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

/** Renders the given fields of a request, and the whole request as JSON. */
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

/** Formats a field of a request with its unit. */
function formatField(name: string, value: Json): string {
  if (typeof value === 'number' && name.endsWith('_bps')) return formatQuantity(value, 'bp');
  return name === 'benchmark' && isObject(value) ? formatReference(value) : formatGiven(value);
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

/** Renders a code with a button that copies it. */
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
      <ol class="job-log">
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
