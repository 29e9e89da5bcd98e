import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Schedule, ScheduleDaySummary } from '#clients/typescript/divisor.js';
import { LinkButton } from '../../components/controls/button.js';
import { Badge } from '../../components/feedback.js';
import { Entries, type Entry } from '../../components/layout/facts.js';
import { Section, useWidth } from '../../components/layout/page.js';
import { addQuery, formatAddress } from '../../state/location.js';
import { formatApprovalAddress, formatIndexAddress, formatScheduleAddress } from '../../words/addresses.js';
import { formatWeekday } from '../../words/dates.js';
import { usePendingApprovals } from '../approvals/requests.js';
import {
  computeFreeSpace,
  createIndexStates,
  describeDay,
  findIndexRequest,
  findOwnReason,
  INDEX_STATES,
  isBlocked,
  type StateLabel,
  type WaiverRequest,
} from './day-states.js';
import { formatCheck, stepWords } from './steps.js';

/** Maximum number of sessions in the table, and maximum number of indices. */
const SESSIONS_MAX = 30;
const INDICES_MAX = 40;

/** Symbols of the states. For users who cannot distinguish the colours. */
const SIGNS: Readonly<Record<string, string>> = {
  done: '✓',
  missed: '!',
  'awaits approval': '?',
  blocked: '✕',
  'held back': '‖',
  running: '…',
  waiting: '…',
  skipped: '–',
};

interface Cell extends StateLabel {
  readonly reason: string;
}

interface DayHistoryProps {
  /** Default: `History`. */
  readonly title?: string;
  readonly schedule: Pick<Schedule, 'indices'>;
  readonly days: readonly ScheduleDaySummary[];
  /** Returns the address of a day. If absent, a day opens on this page. */
  formatAddress?(date: string): string;
}

/** Renders the state of each index on the latest sessions. A session is a link to its day. */
export function DayHistory({
  title = 'History',
  schedule,
  days,
  formatAddress = (date) => addQuery({ day: date }),
}: DayHistoryProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const shownDays = days.slice(0, SESSIONS_MAX).toReversed();
  const width = useWidth(scroller);
  const [isScrollable, setScrolls] = useState(false);
  useLayoutEffect(() => {
    if (scroller.current === null) return;
    showNewest(scroller.current);
    setScrolls(scroller.current.scrollWidth > scroller.current.clientWidth);
  }, [shownDays.length, width]);
  if (shownDays.length === 0) return null;
  const indices = schedule.indices.slice(0, INDICES_MAX);
  const cells = shownDays.map((day) => createCells(day, indices));
  return (
    <Section
      title={title}
      aside={`the latest ${shownDays.length} sessions${isScrollable ? ', scroll for earlier ones' : ''}${indices.length < schedule.indices.length ? `, the first ${indices.length} indices` : ''}`}
    >
      <div
        ref={scroller}
        class="frame raised day-history"
        tabIndex={0}
        role="region"
        aria-label={`${title === 'History' ? 'History of indices' : title} by session`}
      >
        <table>
          <thead>
            <tr class="day-months" aria-hidden="true">
              <td />
              {groupByMonth(shownDays).map(({ month, sessions }) => (
                <td key={month} colSpan={sessions}>
                  <span>{month}</span>
                </td>
              ))}
            </tr>
            <tr>
              <th scope="col">Index</th>
              {shownDays.map(({ date }) => (
                <th key={date} scope="col">
                  <a href={formatAddress(date)} title={`${date} ${formatWeekday(date)}`}>
                    <span class="unseen">{date}</span>
                    <span aria-hidden="true">{date.slice(8)}</span>
                  </a>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {indices.map((index) => (
              <tr key={index}>
                <th scope="row">
                  <a href={formatIndexAddress(index)}>{index}</a>
                </th>
                {shownDays.map(({ date }, k) => (
                  <State key={date} date={date} cell={cells[k]!.get(index)!} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Key states={cells.flatMap((of) => [...of.values()])} />
    </Section>
  );
}

/** Scrolls to the newest sessions, at the end, and adds space after them so that the first visible cell is whole. */
function showNewest(scroller: HTMLElement): void {
  scroller.style.paddingRight = '';
  const [names, ...sessions] = scroller.querySelectorAll<HTMLElement>('thead th');
  if (names === undefined) return;
  scroller.style.setProperty('--names', `${names.offsetWidth}px`);
  if (scroller.scrollWidth <= scroller.clientWidth) return;
  const padding = Number.parseFloat(getComputedStyle(scroller).paddingRight);
  const widths = sessions.map((session) => session.getBoundingClientRect().width).toReversed();
  const free = computeFreeSpace(widths, scroller.clientWidth - names.offsetWidth - padding);
  scroller.style.paddingRight = `${padding + free}px`;
  scroller.scrollTo({ left: scroller.scrollWidth });
}

/** Renders the meanings of the symbols that occur in the table. */
function Key({ states }: { readonly states: readonly StateLabel[] }) {
  const shownStates = new Map(states.map((state) => [state.text, state]));
  return (
    <p class="wrap small day-key quiet" aria-hidden="true">
      {[...shownStates.values()].map(({ text, kind }) => (
        <span key={text}>
          <span class={`inline-line gap-1 small second one-line badge ${kind}`}>{SIGNS[text]}</span> {text}
        </span>
      ))}
    </p>
  );
}

/** Returns the months of the sessions. Each has the number of its sessions. */
function groupByMonth(
  days: readonly ScheduleDaySummary[],
): readonly { readonly month: string; readonly sessions: number }[] {
  const counts = new Map<string, number>();
  for (const { date } of days) counts.set(date.slice(0, 7), (counts.get(date.slice(0, 7)) ?? 0) + 1);
  return [...counts].map(([month, sessions]) => ({ month, sessions }));
}

function State({ date, cell: { text, kind, reason } }: { readonly date: string; readonly cell: Cell }) {
  return (
    <td>
      <span
        class={`inline-line gap-1 small second one-line badge ${kind}`}
        title={[`${date}: ${text}`, reason].filter(Boolean).join('. ')}
      >
        <span class="unseen">{text}</span>
        <span aria-hidden="true">{SIGNS[text] ?? ''}</span>
      </span>
    </td>
  );
}

/** State of an index that findings of the day itself block. On the days after it, the index is held back. */
const FINDING_STATE: StateLabel = { text: 'blocked', kind: 'bad' };

/** Returns the state of each index. If a day was skipped or missed, all indices have the state of the day. */
function createCells(day: ScheduleDaySummary, indices: readonly string[]): ReadonlyMap<string, Cell> {
  if (day.state === 'skipped' || day.state === 'missed') {
    const cell = { ...describeDay(day), reason: day.reason ?? '' };
    return new Map(indices.map((index) => [index, cell]));
  }
  const ownIds = new Set(day.held.filter(({ since }) => since === day.date).map(({ index_id: id }) => id));
  return new Map(
    createIndexStates(day, indices).map(({ index, state, reason }) => [
      index,
      { ...(state === 'blocked' && ownIds.has(index) ? FINDING_STATE : INDEX_STATES[state]), reason },
    ]),
  );
}

/** Returns the pending requests to accept findings, for all schedules. Returns none until they are loaded. */
export function useWaiverRequests(): readonly WaiverRequest[] {
  const pending = usePendingApprovals();
  return (pending.data?.approvals ?? []).flatMap(({ approval_id, facts }) =>
    facts?.kind === 'waive' ? [{ ...facts, approval_id }] : [],
  );
}

export const listDayRequests = (
  requests: readonly WaiverRequest[],
  day: { readonly schedule_id: string; readonly date: string },
): readonly WaiverRequest[] =>
  requests.filter(({ schedule_id: id, date }) => id === day.schedule_id && date === day.date);

/** Maximum number of open days listed. */
const OPEN_MAX = 12;

export const isOpenDay = ({ state }: ScheduleDaySummary): boolean =>
  state === 'blocked' || state === 'waiting' || state === 'missed';

interface OpenDaysProps {
  readonly days: readonly ScheduleDaySummary[];
  readonly requests: readonly WaiverRequest[];
  readonly aside?: string;
  /** Returns the title of a day. If absent, the title is the date. */
  formatTitle?(day: ScheduleDaySummary): string;
}

/** Renders the open days with their reasons. Days that need a decision come first. */
export function OpenDays({ days, requests, aside, formatTitle = ({ date }) => date }: OpenDaysProps) {
  const openDays = days.filter(isOpenDay).toSorted(compareOpen).slice(0, OPEN_MAX);
  if (openDays.length === 0) return null;
  return (
    <Section title="Open days" aside={aside}>
      <Entries
        label="Open days"
        entries={openDays.map((day) => createEntry(day, formatTitle(day), listDayRequests(requests, day)))}
      />
    </Section>
  );
}

/**
 * Sorts days. Days that need a decision come first; then days are in ascending order, because later days wait for
 * earlier ones.
 */
const compareOpen = (a: ScheduleDaySummary, b: ScheduleDaySummary): number =>
  Number(isBlocked(b)) - Number(isBlocked(a)) || (a.date < b.date ? -1 : 1);

function createEntry(day: ScheduleDaySummary, title: string, requests: readonly WaiverRequest[]): Entry {
  const { schedule_id: id, date } = day;
  const address = formatAddress(formatScheduleAddress(id), { day: date });
  const { text, kind } = describeDay(day);
  return {
    key: `${id} ${date}`,
    title: <a href={address}>{title}</a>,
    badge: <Badge kind={kind}>{text}</Badge>,
    aside: isUndecided(day, requests) ? (
      <LinkButton kind="main" href={address}>
        Decide
      </LinkButton>
    ) : (
      ''
    ),
    text: <Reasons day={day} requests={requests} />,
  };
}

/** Returns true for a blocked day if, for one of its indices, nobody has requested to accept the findings. */
const isUndecided = (day: ScheduleDaySummary, requests: readonly WaiverRequest[]): boolean =>
  isBlocked(day) && (day.held.length === 0 || day.held.some(({ index_id: id }) => !findIndexRequest(requests, id)));

/** Renders why a day is open: its own reason, the reasons of its indices, and pending requests. */
function Reasons({ day, requests }: { readonly day: ScheduleDaySummary; readonly requests: readonly WaiverRequest[] }) {
  const ownReason = findOwnReason(day);
  const earlier = day.held.filter(({ since }) => since < day.date);
  return (
    <>
      {ownReason !== null && <p>{ownReason}</p>}
      {earlier.length > 0 && (
        <p>
          {earlier.map(({ index_id: index }) => index).join(', ')} held back since {earlier[0]!.since}.
        </p>
      )}
      {day.held.length > earlier.length && (
        <ul>
          {day.held
            .filter(({ since }) => since === day.date)
            .map(({ index_id: index, step, reason }) => (
              <li key={index}>
                <a href={formatIndexAddress(index)}>{index}</a>, {stepWords(step).toLowerCase()}: {reason}
              </li>
            ))}
        </ul>
      )}
      {requests.map((request) => (
        <p key={request.approval_id}>
          <RequestNote request={request} />
        </p>
      ))}
    </>
  );
}

/** Renders a note that the findings of a check will be accepted when a request is approved. */
export const RequestNote = ({ request }: { readonly request: WaiverRequest }) => (
  <>
    {request.index_id ?? 'Every index'}: accepting {formatCheck(request.check).toLowerCase()} awaits approval,{' '}
    <a href={formatApprovalAddress(request.approval_id)}>request {request.approval_id}</a>.
  </>
);
