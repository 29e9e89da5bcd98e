import type { DeskActionDetail, DeskActionEffect, DeskDecisionRequest } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Badge } from '../../components/badge.js';
import { Banner } from '../../components/banner.js';
import { commentOf, CommentInput } from '../../components/comment-input.js';
import { Entries, type Entry } from '../../components/entries.js';
import { Facts } from '../../components/facts.js';
import { MayNot } from '../../components/may-not.js';
import { SidePanel } from '../../components/side-panel.js';
import { Answered } from '../../components/wait.js';
import { attempt, type OnRefusal } from '../../state/actions.js';
import { may } from '../../state/principal.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { say } from '../../state/toasts.js';
import { actionValue } from '../../words/actions.js';
import { indexAddress, nameAddress } from '../../words/addresses.js';
import { moment } from '../../words/dates.js';
import { figure, percent } from '../../words/numbers.js';
import { STATE_KINDS, typeWords } from './action-states.js';

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
      title={
        action.data === undefined ? 'Corporate action' : `${typeWords(action.data.type)} of ${action.data.identifier}`
      }
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
  const { identifier, type, state, value, ex_date: date, announced, pay_date: paid, related, flags } = action;
  const { status, cash, subscription_price: subscription } = action;
  return (
    <>
      {flags.length > 0 && <Banner kind="warning" title={flags.join(' ')} />}
      <Facts
        facts={[
          ['State', <Badge kind={STATE_KINDS[state]}>{state}</Badge>],
          ['Security', <a href={nameAddress(identifier)}>{identifier}</a>],
          ['Terms', actionValue(type, value)],
          ['Cash per share', cash === null ? null : figure(cash)],
          ['Subscription price', subscription === null ? null : figure(subscription)],
          ['Ex-date', date],
          ['Announced', announced ?? 'unknown'],
          ['Paid', paid ?? 'unknown'],
          ['Status of the vendor', status ?? 'unknown'],
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
        <Entries label="Effect on indices" entries={effects.map(effectEntry)} />
      )}
    </>
  );
}

const moved = (before: number | null, after: number | null, write: (value: number | null) => string): string =>
  before === after ? write(before) : `${write(before)} → ${write(after)}`;

const effectEntry = (effect: DeskActionEffect): Entry => ({
  key: effect.index_id,
  title: <a href={indexAddress(effect.index_id)}>{effect.index_id}</a>,
  badge: <Badge kind={effect.state === 'coming' ? 'info' : 'plain'}>{effect.state}</Badge>,
  text: (
    <Facts
      facts={[
        ['Weight', moved(effect.weight_before, effect.weight_after, percent)],
        ['Index shares', moved(effect.shares_before, effect.shares_after, figure)],
        ['Divisor', moved(effect.divisor_before, effect.divisor_after, figure)],
      ]}
    />
  ),
});

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
