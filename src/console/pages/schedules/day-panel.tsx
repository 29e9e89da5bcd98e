import type { Schedule, ScheduleDay } from '#clients/typescript/divisor.js';
import { Badge, type BadgeKind } from '../../components/badge.js';
import { Download } from '../../components/download.js';
import { Entries, type Entry } from '../../components/entries.js';
import { Facts } from '../../components/facts.js';
import { SidePanel } from '../../components/side-panel.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { addQuery, formatAddress } from '../../state/location.js';
import { formatGovernanceAddress, formatIndexAddress } from '../../words/addresses.js';
import { computeSecondsBetween, formatDuration, formatMoment } from '../../words/dates.js';
import { formatBytes, formatCount, countValues } from '../../words/numbers.js';
import { DayClose } from './day-close.js';
import { DayDecision } from './day-decision.js';
import {
  listBlockedSince,
  listFindings,
  INDEX_STATES,
  createIndexStates,
  findOpenStep,
  findOwnReason,
  describeDay,
  type IndexState,
  type StateLabel,
} from './day-states.js';
import { Deliveries } from './deliveries.js';
import { Findings } from './findings.js';
import { describeResults, listFiles } from './step-results.js';
import { formatCheck, stepWords } from './step-words.js';
import { listDayRequests, useWaiverRequests } from './waiver-requests.js';

interface DayPanelProps {
  readonly schedule: Schedule;
  readonly date: string;
  onClose(): void;
}

/** Renders one day of a schedule: its indices, its steps, and the files delivered to clients. */
export function DayPanel({ schedule, date, onClose }: DayPanelProps) {
  const params = { schedule_id: schedule.schedule_id, date };
  const key = `${schedule.schedule_id} ${date}`;
  const day = useResource(`day ${key}`, (signal) => service.value.call('getScheduleDay', { params, signal }));
  const requests = useWaiverRequests();
  const dayDeliveries = useResource(`sent ${key}`, (signal) =>
    service.value.call('listDayDeliveries', { params, signal }),
  );
  return (
    <SidePanel
      title={`${schedule.name}, ${date}`}
      onClose={onClose}
      footer={day.data && <DayDecision day={day.data} requests={listDayRequests(requests, day.data)} />}
    >
      <Answered resource={day} what="the day">
        {(answer) => (
          <>
            <DayFacts day={answer} isEnabled={schedule.enabled} />
            <DayIndices day={answer} indices={schedule.indices} />
            <h3>Steps</h3>
            <Entries label="Steps" entries={answer.steps.map((step, k) => createStepEntry(step, k, answer))} />
          </>
        )}
      </Answered>
      <h3>Deliveries</h3>
      <Answered resource={dayDeliveries} what="the deliveries">
        {({ deliveries }) => <Deliveries records={deliveries} empty="No client has a file of this day." />}
      </Answered>
      <Records schedule={schedule.schedule_id} date={date} />
    </SidePanel>
  );
}

interface DayIndicesProps {
  readonly day: ScheduleDay;
  readonly indices: readonly string[];
}

/** Renders the open indices with their findings, and the completed indices. */
function DayIndices({ day, indices }: DayIndicesProps) {
  const states = listStates(day, indices);
  const openEntries = states.filter(({ state }) => state !== 'done').map((index) => createIndexEntry(index, day));
  const doneEntries = states.filter(({ state }) => state === 'done').map((index) => createIndexEntry(index, day));
  return (
    <>
      {openEntries.length > 0 && (
        <>
          <h3>Open indices</h3>
          <Entries label="Open indices" entries={openEntries} />
        </>
      )}
      {doneEntries.length > 0 && (
        <>
          <h3>Completed indices</h3>
          <Entries label="Completed indices" entries={doneEntries} />
        </>
      )}
    </>
  );
}

function listStates(day: ScheduleDay, indices: readonly string[]): readonly IndexState[] {
  const step = findOpenStep(day);
  return createIndexStates({ ...day, step: step?.type ?? null }, indices, step?.message);
}

/** Renders links to the registers with the decisions about the day and its results. */
function Records({ schedule, date }: { readonly schedule: string; readonly date: string }) {
  const links = [
    [
      formatAddress(formatGovernanceAddress('judgements'), { 'judgements.q': `${schedule} ${date}` }),
      'Judgements of the day',
    ],
    [formatGovernanceAddress('errors'), 'Register of errors'],
    [formatGovernanceAddress('clients'), 'Clients'],
    [formatAddress(formatGovernanceAddress('audit'), { from: date }), `Audit log from ${date}`],
    [formatAddress('/console/approvals', { state: 'all', 'approvals.q': date }), 'Approvals'],
  ] as const;
  return (
    <>
      <h3>Records</h3>
      <ul>
        {links.map(([address, text]) => (
          <li key={text}>
            <a href={address}>{text}</a>
          </li>
        ))}
      </ul>
    </>
  );
}

interface DayFactsProps {
  readonly day: ScheduleDay;
  /** True if the schedule begins new days. */
  readonly isEnabled: boolean;
}

function DayFacts({ day, isEnabled }: DayFactsProps) {
  const earlierDates = listBlockedSince(day);
  return (
    <Facts
      facts={[
        ['State', <StateBadge {...describeDay(day)} />],
        // The reasons of indices are shown at the indices.
        ['Reason', findOwnReason(day)],
        ['Held back', day.held.length === 0 ? null : countValues(day.held.length, 'index', 'indices')],
        ['Held back since', earlierDates.length === 0 ? null : <DayLinks dates={earlierDates} />],
        ['Due', formatMoment(day.due_at)],
        ['Started', formatStart(day)],
        ['Ended', day.finished_at === null ? null : formatMoment(day.finished_at)],
        [
          'Next attempt',
          day.next_attempt_at === null
            ? null
            : `${formatMoment(day.next_attempt_at)}${isEnabled ? '' : '; a begun day continues while its schedule is disabled'}`,
        ],
        ['Accepted', day.waivers.length === 0 ? null : day.waivers.map(formatWaiver).join(', ')],
      ]}
    />
  );
}

/** Formats the start of a day, its author and the delay since it was due. Returns null before the start. */
function formatStart({ started_at: time, due_at: due, author }: ScheduleDay): string | null {
  if (time === null) return null;
  const delay = computeSecondsBetween(due, time);
  return `${formatMoment(time)} by ${author}${delay < DELAY_MIN_S ? '' : `, ${formatDuration(delay)} after due`}`;
}

/** Delay in seconds from which it is shown. A schedule looks for due days every minute. */
const DELAY_MIN_S = 120;

/** Renders links to other days. */
const DayLinks = ({ dates }: { readonly dates: readonly string[] }) => (
  <span class="schedule-indices">
    {dates.map((date) => (
      <a key={date} href={addQuery({ day: date })}>
        {date}
      </a>
    ))}
  </span>
);

const StateBadge = ({ text, kind }: StateLabel) => <Badge kind={kind}>{text}</Badge>;

/** Formats a waiver as its check. If it is not for all, the index or security is added: `Unexplained moves (CORE)`. */
function formatWaiver({ check, index_id: index, identifier }: ScheduleDay['waivers'][number]): string {
  const subject = [index, identifier].filter(Boolean).join(', ');
  return subject === '' ? formatCheck(check) : `${formatCheck(check)} (${subject})`;
}

/**
 * Renders an index with all its findings. If it has none, renders its reason, but not if that is the reason of the day.
 */
function createIndexEntry({ index, state, step, reason }: IndexState, day: ScheduleDay): Entry {
  const findings = listFindings(day).filter(({ index_id: id }) => id === index);
  const text =
    findings.length > 0 ? (
      <Findings findings={findings} date={day.date} />
    ) : state === 'done' && hasClose(day, index) ? (
      <DayClose index={index} date={day.date} />
    ) : reason === findOwnReason(day) ? (
      ''
    ) : (
      reason
    );
  return {
    key: index,
    title: <a href={formatIndexAddress(index)}>{index}</a>,
    badge: <StateBadge {...INDEX_STATES[state]} />,
    aside: step === '' ? '' : stepWords(step),
    text,
  };
}

/** Returns true if the day published an index. Only the first indices show their close, because each is a request. */
const hasClose = ({ steps }: ScheduleDay, index: string): boolean =>
  steps.some(
    ({ type, items }) =>
      type === 'publish' &&
      items.slice(0, CLOSES_MAX).some(({ index_id: id, state }) => id === index && state === 'done'),
  );

/** Maximum number of indices with a close. */
const CLOSES_MAX = 20;

type Step = ScheduleDay['steps'][number];

const STEP_KINDS: Readonly<Record<Step['state'], BadgeKind>> = {
  pending: 'plain',
  running: 'info',
  waiting: 'warning',
  failed: 'bad',
  done: 'good',
};

/** Returns the state of a step as it is shown. A step that is done may have blocked some indices, or processed none. */
function describeStep({ state, held, indices, items }: Step): StateLabel {
  if (state === 'done' && held > 0)
    return { text: `${formatCount(held)} of ${countValues(indices, 'index', 'indices')} held back`, kind: 'warning' };
  if (state === 'done' && items.length === 0) return { text: 'nothing to do', kind: 'plain' };
  return { text: state, kind: STEP_KINDS[state] };
}

interface DayFileProps {
  readonly name: string;
  readonly day: ScheduleDay;
}

/** Renders a link to a file that a step has written. */
function DayFile({ name, day: { schedule_id: id, date } }: DayFileProps) {
  const params = { schedule_id: id, date, file_name: name };
  return (
    <Download
      address={`/schedules/${encodeURIComponent(id)}/days/${date}/files/${encodeURIComponent(name)}`}
      fileName={name}
      read={() => service.value.call('getScheduleFile', { params })}
    >
      {name}
    </Download>
  );
}

/** Maximum number of files listed for a step. */
const FILES_MAX = 12;

function createStepEntry(step: Step, position: number, day: ScheduleDay): Entry {
  const { type, attempts, duration_ms: ms, log } = step;
  const files = listFiles(step);
  return {
    key: `${position} ${type}`,
    title: `${position + 1}. ${stepWords(type)}`,
    badge: <StateBadge {...describeStep(step)} />,
    aside: `${countValues(attempts, 'attempt')}, ${formatDuration(ms / 1000)}`,
    text: (
      <>
        {describeResults(step)}
        {files.length > 0 && (
          <ul>
            {files.slice(0, FILES_MAX).map(({ name, bytes }) => (
              <li key={name}>
                <DayFile name={name} day={day} /> <span class="quiet">{formatBytes(bytes)}</span>
              </li>
            ))}
            {files.length > FILES_MAX && <li>and {files.length - FILES_MAX} others</li>}
          </ul>
        )}
        {log.length > 0 && (
          <details>
            <summary>Log</summary>
            <ul>
              {log.map(({ at: time, message: line }, k) => (
                <li key={k}>
                  {formatMoment(time)} {line}
                </li>
              ))}
            </ul>
          </details>
        )}
      </>
    ),
  };
}
