import type { ScheduleDaySummary } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { LinkButton } from '../../components/button.js';
import { Entries, type Entry } from '../../components/entries.js';
import { Section } from '../../components/page.js';
import { formatAddress } from '../../state/location.js';
import { formatApprovalAddress, formatIndexAddress, formatScheduleAddress } from '../../words/addresses.js';
import { describeDay, findIndexRequest, findOwnReason, isBlocked } from './day-states.js';
import { formatCheck, stepWords } from './step-words.js';
import { listDayRequests } from './waiver-requests.js';
import type { WaiverRequest } from './day-states.js';

/** Maximum number of open days listed. */
const OPEN_MAX = 12;

/** Returns true for a day that is blocked, waiting or missed. */
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
