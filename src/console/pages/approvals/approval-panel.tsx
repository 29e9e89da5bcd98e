import type { Approval, ApprovalDecisionRequest } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Badge } from '../../components/badge.js';
import { findComment, CommentInput } from '../../components/comment-input.js';
import { Facts } from '../../components/facts.js';
import { JsonDocument } from '../../components/json-document.js';
import { MayNot } from '../../components/may-not.js';
import { SidePanel } from '../../components/side-panel.js';
import { Answered } from '../../components/wait.js';
import { attempt, type OnRefusal } from '../../state/actions.js';
import { formatAddress } from '../../state/location.js';
import { may, principal } from '../../state/principal.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatScheduleAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { ACTION_WORDS, STATE_KINDS, formatSubjectAddress } from './approval-states.js';
import { RequestFactsView } from './request-facts.js';

interface ApprovalPanelProps {
  readonly id: number;
  onClose(): void;
}

/** Renders an approval: the requested change, the comments and the decision. */
export function ApprovalPanel({ id, onClose }: ApprovalPanelProps) {
  const approval = useResource(`approval ${id}`, (signal) =>
    service.value.call('getApproval', { params: { approval_id: id }, signal }),
  );
  return (
    <SidePanel title={`Approval ${id}`} onClose={onClose}>
      <Answered resource={approval} what="the approval">
        {(found) => (
          <>
            <ApprovalFacts approval={found} />
            {found.facts !== null && (
              <>
                <h3>What changes</h3>
                <RequestFactsView facts={found.facts} />
              </>
            )}
            <Decision approval={found} />
            <History approval={found} />
            <details>
              <summary>Details</summary>
              <JsonDocument label="Details as JSON" value={found.facts ?? found.detail} />
            </details>
          </>
        )}
      </Answered>
    </SidePanel>
  );
}

function ApprovalFacts({ approval }: { readonly approval: Approval }) {
  const { action, subject, state, summary, requested_by: by, requested_at: requestedAt, expires_at: until } = approval;
  const day = approval.schedule_day;
  const address = formatSubjectAddress(approval);
  return (
    <>
      <p>{summary}</p>
      <Facts
        facts={[
          ['State', <Badge kind={STATE_KINDS[state]}>{state}</Badge>],
          ['Change', ACTION_WORDS[action]],
          ['Concerns', <a href={address}>{subject}</a>],
          [
            'Day',
            day && (
              <a href={formatAddress(formatScheduleAddress(day.schedule_id), { day: day.date })}>
                {day.schedule_id}, {day.date}
              </a>
            ),
          ],
          ['Requested', `${formatMoment(requestedAt)} by ${by}`],
          ['Approved', findApprover(approval)],
          ['Expires', state === 'pending' || state === 'approved' ? formatMoment(until) : null],
          ['Missing', state === 'pending' ? `${approval.missing} of ${approval.persons} persons` : null],
        ]}
      />
    </>
  );
}

/** Returns the persons who agreed and when the last of them agreed. Returns null if nobody has agreed. */
function findApprover({ history }: Approval): string | null {
  const approvals = history.filter(({ action }) => action === 'approved');
  const last = approvals.at(-1);
  return last === undefined ? null : `${formatMoment(last.at)} by ${approvals.map(({ author }) => author).join(', ')}`;
}

function Decision({ approval: { approval_id: id, state, history } }: { readonly approval: Approval }) {
  const [comment, setComment] = useState('');
  if (!may('publish')) return <MayNot scope="publish" what="decide" />;
  const decide = (decision: ApprovalDecisionRequest['decision'], done: string) => (onRefusal: OnRefusal) =>
    attempt(async () => {
      const body = { decision, comment: findComment(comment) };
      await service.value.call('decideApproval', { params: { approval_id: id }, body });
      showToast('good', `Approval ${id} ${done}.`);
      setComment('');
      notifyChange();
      document.querySelector<HTMLElement>('.side-panel')?.focus(); // The focused button is removed after the decision, so the focus moves to the panel.
    }, onRefusal);
  const isOpen = state === 'pending' || state === 'approved';
  const isOwn = principal.value?.key_id === history[0]?.key_id;
  return (
    <>
      <CommentInput value={comment} onChange={setComment} />
      <div class="form-actions">
        {state === 'pending' && !isOwn && (
          <ActionButton kind="main" act={decide('approve', 'has your agreement')}>
            Approve
          </ActionButton>
        )}
        {isOpen && !isOwn && (
          <ActionButton kind="danger" disabled={comment.trim() === ''} act={decide('reject', 'was rejected')}>
            Reject
          </ActionButton>
        )}
        {isOpen && isOwn && <ActionButton act={decide('withdraw', 'was withdrawn')}>Withdraw</ActionButton>}
        <ActionButton disabled={comment.trim() === ''} act={decide('comment', 'has your comment')}>
          Comment
        </ActionButton>
      </div>
    </>
  );
}

function History({ approval: { history } }: { readonly approval: Approval }) {
  return (
    <>
      <h3>History</h3>
      <ul>
        {history.map(({ at, author, action, comment }) => (
          <li key={`${at} ${author} ${action}`}>
            {formatMoment(at)}: {author} {action}
            {comment !== null && `: ${comment}`}
          </li>
        ))}
      </ul>
    </>
  );
}
