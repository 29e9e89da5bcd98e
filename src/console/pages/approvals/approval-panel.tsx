import type { Approval, ApprovalDecisionRequest, DocumentChange } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Badge } from '../../components/badge.js';
import { commentOf, CommentInput } from '../../components/comment-input.js';
import { Facts } from '../../components/facts.js';
import { JsonDocument } from '../../components/json-document.js';
import { MayNot } from '../../components/may-not.js';
import { ChangeTable } from '../../components/versions/change-table.js';
import { SidePanel } from '../../components/side-panel.js';
import { Answered } from '../../components/wait.js';
import { attempt, type OnRefusal } from '../../state/actions.js';
import { may, principal } from '../../state/principal.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { say } from '../../state/toasts.js';
import { moment } from '../../words/dates.js';
import { labelOf } from '../../words/labels.js';
import { change, decimal, figure } from '../../words/numbers.js';
import { ACTION_WORDS, STATE_KINDS, subjectAddress } from './approval-states.js';

interface ApprovalPanelProps {
  readonly id: number;
  onClose(): void;
}

/** Renders one approval: the change, the comments and the decision. */
export function ApprovalPanel({ id, onClose }: ApprovalPanelProps) {
  const approval = useResource(`approval ${id}`, (signal) =>
    service.value.call('getApproval', { params: { approval_id: id }, signal }),
  );
  return (
    <SidePanel title={`Approval ${id}`} onClose={onClose}>
      <Answered resource={approval} what="the approval">
        {(found) => (
          <>
            <Described approval={found} />
            <Requested approval={found} />
            <Decision approval={found} />
            <History approval={found} />
            <details>
              <summary>Details</summary>
              <JsonDocument label="Details as JSON" value={found.detail} />
            </details>
          </>
        )}
      </Answered>
    </SidePanel>
  );
}

function Described({ approval }: { readonly approval: Approval }) {
  const { action, subject, state, summary, requested_by: by, requested_at: at, expires_at: until } = approval;
  const address = subjectAddress(approval);
  return (
    <>
      <p>{summary}</p>
      <Facts
        facts={[
          ['State', <Badge kind={STATE_KINDS[state]}>{state}</Badge>],
          ['Change', ACTION_WORDS[action]],
          ['Concerns', <a href={address}>{subject}</a>],
          ['Requested', `${moment(at)} by ${by}`],
          ['Expires', state === 'pending' || state === 'approved' ? moment(until) : null],
          ['Missing', state === 'pending' ? `${approval.missing} of ${approval.persons} persons` : null],
        ]}
      />
    </>
  );
}

/** Renders what would change: fields of a definition before and after, or the figures of the request. */
function Requested({ approval: { action, detail } }: { readonly approval: Approval }) {
  const changes = action === 'amend' ? (detail['changes'] as readonly DocumentChange[]) : []; // The service wrote them.
  const facts = [...closeFacts(detail), ...(action === 'amend' ? [] : figureFacts(detail))];
  if (changes.length === 0 && facts.length === 0) return null;
  return (
    <>
      <h3>What changes</h3>
      {changes.length > 0 && <ChangeTable label="Changes of the definition" changes={changes} />}
      <Facts facts={facts} />
    </>
  );
}

/** Members of a request with a text or a number; members with rows are in the details. */
function figureFacts(detail: Approval['detail']): readonly (readonly [string, string])[] {
  const { before, price } = detail;
  const move =
    typeof before === 'number' && typeof price === 'number' ? ([['Move', change(price / before - 1)]] as const) : [];
  const facts = Object.entries(detail).flatMap(([name, value]) => {
    if (name === 'action_id' || (typeof value !== 'string' && typeof value !== 'number')) return [];
    return [[WORDS[name] ?? labelOf(name), typeof value === 'number' ? figure(value) : value] as const];
  });
  return [...facts, ...move];
}

const WORDS: Readonly<Record<string, string>> = {
  identifier: 'Security',
  date: 'Session',
  before: 'Price now',
  price: 'Price requested',
};

type Levels = Partial<Readonly<Record<'price' | 'total' | 'net', number | null>>> & { readonly date?: string };

/** Returns the last close of a publication and the one before it. */
function closeFacts(detail: Approval['detail']): readonly (readonly [string, string])[] {
  const [close, previous] = [detail['close'], detail['previous']] as (Levels | null | undefined)[]; // of a publication
  if (close == null) return [];
  return (['price', 'total', 'net'] as const).flatMap((variant) => {
    const [value, before] = [close[variant], previous?.[variant]];
    if (value == null) return [];
    const move = before == null ? '' : `, ${change(value / before - 1)} since ${previous?.date}`;
    return [[`Level (${variant})`, `${decimal(value, 4)}${move}`] as const];
  });
}

function Decision({ approval: { approval_id: id, state, history } }: { readonly approval: Approval }) {
  const [comment, setComment] = useState('');
  if (!may('publish')) return <MayNot scope="publish" what="decide" />;
  const decide = (decision: ApprovalDecisionRequest['decision'], done: string) => (onRefusal: OnRefusal) =>
    attempt(async () => {
      const body = { decision, comment: commentOf(comment) };
      await service.value.call('decideApproval', { params: { approval_id: id }, body });
      say('good', `Approval ${id} ${done}.`);
      setComment('');
      notifyChange();
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
            {moment(at)}: {author} {action}
            {comment !== null && `: ${comment}`}
          </li>
        ))}
      </ul>
    </>
  );
}
