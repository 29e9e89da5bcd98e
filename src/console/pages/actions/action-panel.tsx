import type { DeskActionDetail, DeskActionEffect, DeskDecisionRequest } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Badge } from '../../components/badge.js';
import { Banner } from '../../components/banner.js';
import { commentOf, CommentInput } from '../../components/comment-input.js';
import { Facts } from '../../components/facts.js';
import { MayNot } from '../../components/may-not.js';
import { SidePanel } from '../../components/side-panel.js';
import { Table } from '../../components/table/table.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { attempt, type OnRefusal } from '../../state/actions.js';
import { may } from '../../state/principal.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { say } from '../../state/toasts.js';
import { nameAddress } from '../../words/addresses.js';
import { moment } from '../../words/dates.js';
import { figure, percent } from '../../words/numbers.js';
import { STATE_KINDS } from './action-states.js';

interface ActionPanelProps {
  readonly id: string;
  onClose(): void;
}

/** One corporate action: its terms, its effect on each index, and the decision. */
export function ActionPanel({ id, onClose }: ActionPanelProps) {
  const action = useResource(`action ${id}`, (signal) =>
    service.value.call('getAction', { params: { action_id: id }, signal }),
  );
  return (
    <SidePanel
      title={action.data === undefined ? 'Corporate action' : `${action.data.type} of ${action.data.identifier}`}
      onClose={onClose}
    >
      <Answered resource={action} what="the corporate action">
        {(found) => (
          <>
            <Described action={found} />
            <Decision action={found} />
            <Effects effects={found.effects} />
            <History action={found} />
          </>
        )}
      </Answered>
    </SidePanel>
  );
}

function Described({ action }: { readonly action: DeskActionDetail }) {
  const { identifier, state, value, ex_date: date, announced, pay_date: paid, related, flags } = action;
  return (
    <>
      {flags.length > 0 && <Banner kind="warning" title={flags.join(' ')} />}
      <Facts
        facts={[
          ['State', <Badge kind={STATE_KINDS[state]}>{state}</Badge>],
          ['Security', <a href={nameAddress(identifier)}>{identifier}</a>],
          ['Value', figure(value)],
          ['Ex-date', date],
          ['Announced', announced],
          ['Paid', paid],
          ['Related security', related],
        ]}
      />
    </>
  );
}

function Decision({ action: { action_id: id, state } }: { readonly action: DeskActionDetail }) {
  const [comment, setComment] = useState('');
  if (!may('data')) return <MayNot scope="data" what="decide" />;
  const decide = (decision: DeskDecisionRequest['decision']) => (onRefusal: OnRefusal) =>
    attempt(async () => {
      const body = { decision, comment: commentOf(comment) };
      await service.value.call('decideAction', { params: { action_id: id }, body });
      say('good', `The action is ${decision}.`);
      setComment('');
      notifyChange();
    }, onRefusal);
  return (
    <>
      <CommentInput value={comment} onChange={setComment} />
      <div class="form-actions">
        {state !== 'confirmed' && (
          <ActionButton kind="main" act={decide('confirmed')}>
            Confirm
          </ActionButton>
        )}
        {state !== 'rejected' && (
          <ActionButton kind="danger" act={decide('rejected')}>
            Reject
          </ActionButton>
        )}
        {state !== 'new' && <ActionButton act={decide('reopened')}>Reopen</ActionButton>}
      </div>
    </>
  );
}

function Effects({ effects }: { readonly effects: readonly DeskActionEffect[] }) {
  return (
    <>
      <h3>Effect on indices</h3>
      {effects.length === 0 ? (
        <p class="quiet">No index with a run holds the security on this date.</p>
      ) : (
        <Table
          label="effect on indices"
          columns={COLUMNS}
          rows={effects}
          keyOf={({ index_id: id }) => id}
          height={Math.min(360, 60 + 32 * effects.length)}
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<DeskActionEffect>[] = [
  { id: 'index', title: 'Index', width: 90, grow: 1, value: (row) => row.index_id },
  numeric({ id: 'from', title: 'Weight before', width: 96, of: (row) => row.weight_before, write: percent }),
  numeric({ id: 'to', title: 'after', width: 80, of: (row) => row.weight_after, write: percent }),
  numeric({ id: 'before', title: 'Shares before', width: 110, of: (row) => row.shares_before, write: figure }),
  numeric({ id: 'after', title: 'after', width: 100, of: (row) => row.shares_after, write: figure }),
];

function History({ action: { decisions } }: { readonly action: DeskActionDetail }) {
  return (
    <>
      <h3>Decisions</h3>
      {decisions.length === 0 && <p class="quiet">No decision yet.</p>}
      <ul>
        {decisions.map(({ at, author, decision, comment, sources }) => (
          <li key={at}>
            {moment(at)}: {author} {decision}
            {comment !== null && `: ${comment}`}
            {sources.map(({ name, value }) => ` (${name}: ${value ?? 'no value'})`).join('')}
          </li>
        ))}
      </ul>
    </>
  );
}
