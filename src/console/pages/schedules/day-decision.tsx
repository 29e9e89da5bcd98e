import type { Operations, ScheduleDay } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Select } from '../../components/choice.js';
import { CommentInput, findComment } from '../../components/comment-input.js';
import { LinkButton } from '../../components/button.js';
import { usePhone } from '../../components/use-phone.js';
import { attempt, type OnRefusal } from '../../state/actions.js';
import { addQuery } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { notifyChange } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { countValues } from '../../words/numbers.js';
import {
  findFirstDecision,
  findIndexRequest,
  findOwnReason,
  listFindings,
  listOpenIndices,
  type DayFinding,
} from './day-states.js';
import { RequestNote } from './open-days.js';
import { formatCheck } from './step-words.js';
import type { WaiverRequest } from './day-states.js';

type Waiver = Operations['waiveScheduleCheck']['request']['body'];

/** Function that sends a decision. It shows a message when the decision was accepted. */
type DecisionHandler = (call: () => Promise<unknown>, done: string) => (onRefusal: OnRefusal) => Promise<unknown>;

interface DayDecisionProps {
  readonly day: ScheduleDay;
  /** Pending requests to accept findings of the day. */
  readonly requests: readonly WaiverRequest[];
}

/** Renders the decisions about a day that is not finished: run it again, accept the findings of a check, or skip it. */
export function DayDecision({ day, requests }: DayDecisionProps) {
  const [reason, setReason] = useState('');
  const isPhone = usePhone();
  if (day.state === 'done' || day.state === 'skipped' || day.state === 'running') return null;
  const params = { schedule_id: day.schedule_id, date: day.date };
  const decide: DecisionHandler = (call, done) => (onRefusal) =>
    attempt(async () => {
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
        <div class="form-actions">
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
        <div class="day-decision-body">
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
            <div class="form-actions">
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

/** Check with its findings, and the indices that these findings block. */
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
  /** Pending requests to accept findings of the check. */
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
    <div class="acceptance" role="group" aria-label={`Findings of ${formatCheck(check)}`}>
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

/** Returns the checks that block indices. Each has its findings. */
function listBlockedChecks(day: ScheduleDay): readonly BlockedCheck[] {
  const all = listFindings(day);
  return [...new Set(all.map(({ check }) => check))].map((check) => {
    const findings = all.filter((finding) => finding.check === check);
    return { check, findings, indices: [...new Set(findings.map(({ index_id: index }) => index))].toSorted() };
  });
}
