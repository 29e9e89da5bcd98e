import './schedules.css';
import { useState } from 'preact/hooks';
import type {
  Operations,
  Schedule,
  ScheduleDay,
  ScheduleDays,
  ScheduleDaySummary,
} from '#clients/typescript/divisor.js';
import { ActionButton, Download } from '../../components/controls/action-button.js';
import { LinkButton } from '../../components/controls/button.js';
import { Select } from '../../components/controls/choice.js';
import { CommentInput, findComment } from '../../components/controls/comment.js';
import { WeekdayDate } from '../../components/controls/range.js';
import { Answered, Badge, type BadgeKind } from '../../components/feedback.js';
import { SidePanel } from '../../components/layout/dialog.js';
import { Entries, type Entry, Facts, Metrics } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { usePhone } from '../../components/layout/viewport.js';
import { type Column, readCell } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { tryAction, type OnRefusal } from '../../state/actions.js';
import { addQuery, formatAddress, getParameter, type PageProps, setParameters } from '../../state/location.js';
import { useCalendars, useNames } from '../../state/market.js';
import { may, notifyChange, service, useAnswer } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatGovernanceAddress, formatIndexAddress, formatScheduleAddress } from '../../words/addresses.js';
import { computeSecondsBetween, formatDuration, formatMoment, subtractDays } from '../../words/dates.js';
import {
  countValues,
  formatBytes,
  formatChange,
  formatCount,
  formatDecimal,
  formatPercent,
  MISSING_TEXT,
} from '../../words/numbers.js';
import {
  createIndexStates,
  type DayFinding,
  describeDay,
  describeDecisions,
  describeResults,
  findFirstDecision,
  findIndexRequest,
  findOpenStep,
  findOwnReason,
  INDEX_STATES,
  type IndexState,
  isBlocked,
  listBlockedSince,
  listStepFiles,
  listBlockingFindings,
  listLevels,
  listMoves,
  listOpenIndices,
  type StateLabel,
  type WaiverRequest,
} from './day-states.js';
import { DayHistory, listDayRequests, OpenDays, RequestNote, useWaiverRequests } from './open-days.js';
import { Deliveries, formatCheck, stepWords } from './steps.js';

/** Days before a session in which its previous close is searched. Exchanges close for at most ten days. */
const SEARCHED_DAYS = 14;

interface DayCloseProps {
  readonly index: string;
  /** Session of the close. */
  readonly date: string;
}

/** Renders the published levels of an index on a session with their changes. Renders nothing without such a close. */
function DayClose({ index, date }: DayCloseProps) {
  const log = useAnswer('getPublished', {
    params: { index_id: index },
    query: { start: subtractDays(date, SEARCHED_DAYS), end: date },
  });
  const levels = listLevels(log.data?.entries ?? [], date);
  if (levels.length === 0) return null;
  return (
    <span class="wrap day-close">
      {levels.map(({ variant, level, change }) => (
        <span key={variant}>
          {variant} <span class="number">{formatDecimal(level)}</span>
          {change !== null && <span class="number"> {formatChange(change)}</span>}
        </span>
      ))}
    </span>
  );
}

type Waiver = Operations['waiveScheduleCheck']['request']['body'];

/** Function that sends a decision. It shows a message when the decision was accepted. */
type DecisionHandler = (call: () => Promise<unknown>, done: string) => (onRefusal: OnRefusal) => Promise<unknown>;

interface DayDecisionProps {
  readonly day: ScheduleDay;
  readonly requests: readonly WaiverRequest[];
}

/** Renders the decisions about a day that is not finished: run it again, accept the findings of a check, or skip it. */
function DayDecision({ day, requests }: DayDecisionProps) {
  const [reason, setReason] = useState('');
  const isPhone = usePhone();
  if (day.state === 'done' || day.state === 'skipped' || day.state === 'running') return null;
  const params = { schedule_id: day.schedule_id, date: day.date };
  const decide: DecisionHandler = (call, done) => (onRefusal) =>
    tryAction(async () => {
      await call();
      showToast('good', done);
      setReason('');
      notifyChange();
    }, onRefusal);
  const hasReason = reason.trim() !== '';
  const run = () => service.value.call('runScheduleDay', { params, body: { reason: findComment(reason) } });
  const skip = () => service.value.call('skipScheduleDay', { params, body: { reason } });
  const waive = (body: Omit<Waiver, 'reason'>) => () =>
    service.value.call('waiveScheduleCheck', { params, body: { ...body, reason } });
  if (!may('run') && !may('publish')) return null;
  const first = findFirstDecision(day);
  const isWaiting = day.state === 'waiting' && findOwnReason(day) !== null;
  // A day that waits, or whose findings need a decision, has no main action.
  const checks = listBlockedChecks(day);
  const isMain = first === undefined && !isWaiting && checks.length === 0;
  return (
    <>
      {first !== undefined && (
        <div class="flow gap-3 form-actions">
          <LinkButton kind="main" href={addQuery({ day: first })}>
            Decide about {first}
          </LinkButton>
          <span class="quiet">Its findings hold indices back on this day, too.</span>
        </div>
      )}
      <details class="day-decision" open={!isPhone}>
        <summary>
          Decision{' '}
          {isPhone && (
            <span class="quiet">
              {requests.length > 0
                ? `${countValues(requests.length, 'request')} pending`
                : 'Accept, perform again or skip'}
            </span>
          )}
        </summary>
        <div class="pile gap-2 day-decision-body">
          <CommentInput
            label={`Reason, required to ${checks.length > 0 && may('publish') ? 'accept findings or ' : ''}skip the day`}
            value={reason}
            onChange={setReason}
          />
          {may('publish') &&
            checks.map((blocked) => (
              <Acceptance
                key={blocked.check}
                blocked={blocked}
                requests={requests.filter(({ check }) => check === blocked.check)}
                isNamed={checks.length > 1}
                isReady={hasReason}
                decide={decide}
                waive={waive}
              />
            ))}
          {may('run') && (
            <div class="flow gap-3 form-actions">
              <ActionButton kind={isMain ? 'main' : 'plain'} act={decide(run, `${day.date} is being performed.`)}>
                Perform now
              </ActionButton>
              <ActionButton kind="danger" disabled={!hasReason} act={decide(skip, `${day.date} is skipped.`)}>
                Skip the day
              </ActionButton>
            </div>
          )}
        </div>
      </details>
    </>
  );
}

interface BlockedCheck {
  readonly check: string;
  readonly findings: readonly DayFinding[];
  readonly indices: readonly string[];
}

/** Maximum number of indices that have a button each. More indices are in a list. */
const BUTTONS_MAX = 4;

/** Value of the choice of all indices. The id of an index cannot contain this character. */
const ALL_INDICES = '*';

interface AcceptanceProps {
  readonly blocked: BlockedCheck;
  readonly requests: readonly WaiverRequest[];
  /** True if the name of the check is shown. */
  readonly isNamed: boolean;
  /** True if a reason was entered. */
  readonly isReady: boolean;
  readonly decide: DecisionHandler;
  readonly waive: (body: Omit<Waiver, 'reason'>) => () => Promise<unknown>;
}

/**
 * Renders buttons that accept the findings of a check. They are accepted for one index and the indices derived from it,
 * or for all blocked indices. Many indices are selected from a list.
 */
function Acceptance(props: AcceptanceProps) {
  const { check, indices } = props.blocked;
  const { requests, isNamed } = props;
  const [chosen, setChosen] = useState('');
  const open = listOpenIndices(indices, requests);
  const hasList = indices.length > BUTTONS_MAX;
  const subjects = hasList ? [chosen] : [...open, ...(open.length > 1 ? [ALL_INDICES] : [])];
  return (
    <div class="wrap gap-2 acceptance" role="group" aria-label={`Findings of ${formatCheck(check)}`}>
      {isNamed && <p>{formatCheck(check)}</p>}
      {requests.map((request) => (
        <p key={request.approval_id}>
          <RequestNote request={request} />
        </p>
      ))}
      {hasList && (
        <Select
          label={`Index of ${formatCheck(check)}`}
          options={[
            { value: '', text: 'Choose an index' },
            ...open.map((value) => ({ value, text: value })),
            ...(open.length > 1 ? [{ value: ALL_INDICES, text: `Every index (${indices.length} held back)` }] : []),
          ]}
          value={chosen}
          onChoose={setChosen}
        />
      )}
      {subjects.map((index) => (
        <AcceptButton key={index} {...props} index={index} />
      ))}
    </div>
  );
}

/** Renders a button that accepts the findings of a check for an index, or for all indices. */
function AcceptButton({
  blocked,
  requests,
  isReady,
  decide,
  waive,
  index,
}: AcceptanceProps & { readonly index: string }) {
  const { check, findings } = blocked;
  const body = { check: check as Waiver['check'], index_id: index === ALL_INDICES ? null : index }; // the service reported the check
  const indexText = index === ALL_INDICES ? 'every index' : index;
  const count = findings.filter(({ index_id: id }) => index === ALL_INDICES || id === index).length;
  const isRequested = index !== '' && findIndexRequest(requests, index) !== undefined;
  return (
    <ActionButton
      disabled={!isReady || index === '' || isRequested}
      act={decide(waive(body), `The findings of ${formatCheck(check)} are accepted for ${indexText}.`)}
    >
      {index === '' ? 'Accept' : `Accept ${countValues(count, 'finding')} for ${indexText}`}
    </ActionButton>
  );
}

function listBlockedChecks(day: ScheduleDay): readonly BlockedCheck[] {
  const all = listBlockingFindings(day);
  return [...new Set(all.map(({ check }) => check))].map((check) => {
    const findings = all.filter((finding) => finding.check === check);
    return { check, findings, indices: [...new Set(findings.map(({ index_id: index }) => index))].toSorted() };
  });
}

/** Maximum number of findings listed for an index. */
const FINDINGS_MAX = 12;

interface FindingsProps {
  readonly findings: readonly DayFinding[];
  readonly date: string;
}

/** Renders the findings of an index: price moves in a table below their common limit, and the others as sentences. */
function Findings({ findings, date }: FindingsProps) {
  const { limit, moves, others } = listMoves(findings);
  const omittedCount = Math.max(0, moves.length - FINDINGS_MAX) + Math.max(0, others.length - FINDINGS_MAX);
  return (
    <>
      {moves.length > 0 && <Moves moves={moves.slice(0, FINDINGS_MAX)} limit={limit} date={date} />}
      {others.length > 0 && (
        <ul>
          {others.slice(0, FINDINGS_MAX).map(({ key, message }) => (
            <li key={key}>{message}</li>
          ))}
        </ul>
      )}
      {omittedCount > 0 && <p>and {omittedCount} others</p>}
    </>
  );
}

type MovesProps = Pick<ReturnType<typeof listMoves>, 'moves' | 'limit'> & Pick<FindingsProps, 'date'>;

/** Renders price moves with the names and weights of their securities and the closes before and after the move. */
function Moves({ moves, limit, date }: MovesProps) {
  const names = useNames(
    moves.map(({ identifier }) => identifier),
    date,
  );
  const previous = moves.find(({ evidence }) => evidence !== undefined)?.evidence?.previous_date;
  return (
    <table class="day-moves">
      <caption>
        Unexplained moves{previous !== undefined && ` since the close of ${previous}`}, limit {formatPercent(limit)}
      </caption>
      <thead>
        <tr>
          <th scope="col">Security</th>
          {previous !== undefined && (
            <>
              <th scope="col">Weight</th>
              <th scope="col">Previous</th>
              <th scope="col">Close</th>
            </>
          )}
          <th scope="col">Move</th>
        </tr>
      </thead>
      <tbody>
        {moves.map(({ identifier, value, evidence }) => (
          <tr key={identifier}>
            <td>
              <strong>{identifier}</strong> <span class="quiet">{names.get(identifier)?.name}</span>
            </td>
            {previous !== undefined && (
              <>
                <td>{formatPercent(evidence?.weight)}</td>
                <td>{formatDecimal(evidence?.previous_close)}</td>
                <td>{formatDecimal(evidence?.close)}</td>
              </>
            )}
            <td>{formatChange(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface DayPanelProps {
  readonly schedule: Schedule;
  readonly date: string;
  onClose(): void;
}

/** Renders one day of a schedule: its indices, its steps, and the files delivered to clients. */
function DayPanel({ schedule, date, onClose }: DayPanelProps) {
  const params = { schedule_id: schedule.schedule_id, date };
  const day = useAnswer('getScheduleDay', { params });
  const requests = useWaiverRequests();
  const dayDeliveries = useAnswer('listDayDeliveries', { params });
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

const DayLinks = ({ dates }: { readonly dates: readonly string[] }) => (
  <span class="wrap schedule-indices">
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
  const findings = listBlockingFindings(day).filter(({ index_id: id }) => id === index);
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
  const files = listStepFiles(step);
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

/** Page of the days of a schedule. Each day opens to its indices, steps and deliveries. */
export function DaysPage({ params }: PageProps) {
  const id = params['id']!; // the route has this parameter
  const schedule = useAnswer('getSchedulePlan', { params: { schedule_id: id } });
  return (
    <Page
      title={schedule.data?.name ?? id}
      above={[{ address: '/console/schedules', text: 'Schedules' }]}
      subtitle={
        schedule.data && (
          <>
            <code>{id}</code>
            {schedule.data.enabled ? <Badge kind="good">enabled</Badge> : <Badge>disabled: no new day begins</Badge>}
          </>
        )
      }
      actions={may('write') && <LinkButton href={`${formatScheduleAddress(id)}/edit`}>Edit</LinkButton>}
    >
      <Answered resource={schedule} what="the schedule">
        {(plan) => <Days key={id} schedule={plan} />}
      </Answered>
    </Page>
  );
}

const LISTED_MAX = 260;

function Days({ schedule }: { readonly schedule: Schedule }) {
  const { schedule_id: id } = schedule;
  const openDay = getParameter('day');
  const requests = useWaiverRequests();
  const days = useAnswer('listScheduleDays', { params: { schedule_id: id }, query: { limit: LISTED_MAX } });
  return (
    <>
      <Answered resource={days} what="the days">
        {({ days: rows, next }) => (
          <>
            <Summary schedule={schedule} rows={rows} next={next} requests={requests} />
            <OpenDays days={rows} requests={requests} />
            <Plan schedule={schedule} />
            <DayHistory schedule={schedule} days={rows} />
            <Section title="Days">
              <Table
                label="days"
                name="days"
                columns={COLUMNS.filter(
                  (column) => !RARE_COLUMNS.has(column.id) || rows.some((day) => readCell(column, day)),
                )}
                rows={rows}
                getKey={({ date }) => date}
                searchIn={({ date, reason }) => `${date} ${reason ?? ''}`}
                sort={{ column: 'date', direction: 'desc' }}
                onOpen={({ date }) => setParameters({ day: date })}
                openKey={openDay}
                height={620}
                empty="No day yet. The first one begins after its session if the schedule is enabled."
              />
            </Section>
          </>
        )}
      </Answered>
      {openDay !== null && (
        <DayPanel key={openDay} schedule={schedule} date={openDay} onClose={() => setParameters({ day: null })} />
      )}
    </>
  );
}

interface SummaryProps {
  readonly schedule: Schedule;
  readonly rows: readonly ScheduleDaySummary[];
  readonly next: ScheduleDays['next'];
  readonly requests: readonly WaiverRequest[];
}

function Summary({ schedule, rows, next, requests }: SummaryProps) {
  const countDays = (state: string) => rows.filter((day) => describeDay(day).text === state).length;
  const blockedCount = rows.filter(isBlocked).length;
  const late = rows.filter((day) => day.is_late).length;
  const hasDeadline = schedule.deadline_minutes !== null || rows.some((day) => day.deadline_at !== null);
  return (
    <Metrics
      label="Days of the schedule"
      metrics={[
        {
          term: 'Next day begins',
          value: next === null ? MISSING_TEXT : formatMoment(next.due_at),
          note: next?.date ?? (schedule.enabled ? 'no session is due' : 'the schedule is disabled'),
        },
        { term: 'Done', value: formatCount(countDays('done')), note: `of ${formatCount(rows.length)} days` },
        {
          term: 'Blocked',
          value: formatCount(blockedCount),
          kind: blockedCount > 0 ? 'down' : '',
          note:
            blockedCount === 0
              ? ''
              : describeDecisions(blockedCount, rows.flatMap((day) => listDayRequests(requests, day)).length),
        },
        {
          term: 'Waiting or held back',
          value: formatCount(countDays('waiting') + countDays('awaits approval') + countDays('held back')),
        },
        { term: 'Skipped or missed', value: formatCount(countDays('skipped') + countDays('missed')) },
        {
          term: 'Late',
          value: hasDeadline ? formatCount(late) : MISSING_TEXT,
          note: hasDeadline ? undefined : 'no deadline',
          help: 'Days that did not end before their deadline',
        },
      ]}
    />
  );
}

/** Renders a summary of the schedule: its start, its indices and its steps. */
function Plan({ schedule }: { readonly schedule: Schedule }) {
  const { at, calendar, day_offset: offset, time_zone: zone, indices, steps } = schedule;
  const calendars = useCalendars();
  const timeZone = zone ?? calendars.find(({ code }) => code === calendar)?.tz;
  const daysText = offset === 0 ? '' : offset === 1 ? ', the day after' : `, ${offset} days after`;
  return (
    <Facts
      facts={[
        [
          'Begins',
          `${at}${timeZone === undefined ? '' : ` ${timeZone}`}${daysText}, after each session of ${calendar}`,
        ],
        [
          'Indices',
          <span class="wrap schedule-indices">
            {indices.map((id) => (
              <a key={id} href={formatIndexAddress(id)}>
                {id}
              </a>
            ))}
          </span>,
        ],
        ['Steps', steps.map(({ type }) => stepWords(type)).join(' → ')],
      ]}
    />
  );
}

const COLUMNS: readonly Column<ScheduleDaySummary>[] = [
  { id: 'date', title: 'Session', width: 132, show: ({ date }) => <WeekdayDate date={date} /> },
  {
    id: 'state',
    title: 'State',
    width: 120,
    value: (day) => describeDay(day).text,
    show: (day) => <Badge kind={describeDay(day).kind}>{describeDay(day).text}</Badge>,
  },
  {
    id: 'held',
    title: 'Held back',
    help: 'Indices that are held back',
    width: 84,
    align: 'right',
    priority: 4,
    below: 'nothing',
    value: (row) => row.held.length,
  },
  {
    id: 'step',
    title: 'Open step',
    width: 112,
    priority: 3,
    // A blocked day may have completed its steps for all other indices.
    value: (day) => {
      const step = day.step ?? day.held[0]?.step;
      return step === undefined ? '' : stepWords(step);
    },
  },
  {
    id: 'reason',
    title: 'Reason',
    width: 200,
    grow: 3,
    priority: 2,
    value: ({ reason }) => reason ?? '',
    show: ({ reason }) => <span title={reason ?? ''}>{reason ?? ''}</span>,
  },
  {
    id: 'late',
    title: 'Late',
    width: 64,
    priority: 5,
    value: ({ is_late: isLate }) => (isLate ? 'late' : ''),
    show: ({ is_late: isLate }) => (isLate ? <Badge kind="warning">late</Badge> : ''),
  },
  {
    id: 'due',
    title: 'Due',
    width: 172,
    priority: 5,
    below: 'nothing',
    value: (row) => row.due_at,
    show: (row) => formatMoment(row.due_at),
  },
  {
    id: 'end',
    title: 'Ended',
    width: 172,
    ideal: 290,
    grow: 1,
    priority: 4,
    value: (row) => row.finished_at ?? '',
    show: (row) =>
      row.finished_at === null ? (
        '–'
      ) : (
        <>
          {formatMoment(row.finished_at)} <Delay due={row.due_at} end={row.finished_at} />
        </>
      ),
  },
];

/** Renders the delay of a day that ended more than one day after it was due. */
function Delay({ due, end }: { readonly due: string; readonly end: string }) {
  const delay = computeSecondsBetween(due, end);
  return delay < DAY_S ? null : (
    <span class="schedule-late">{countValues(Math.floor(delay / DAY_S), 'day')} after due</span>
  );
}

const DAY_S = 86_400;

/** Columns that are hidden if they are empty or zero for all days. */
const RARE_COLUMNS: ReadonlySet<string> = new Set(['held', 'step', 'reason', 'late']);
