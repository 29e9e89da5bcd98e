import type { DeskActionDetail, DeskDecisionRequest } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { findComment, CommentInput } from '../../components/comment-input.js';
import { Facts } from '../../components/facts.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { MayNot } from '../../components/may-not.js';
import { Problem } from '../../components/problem.js';
import { SidePanel } from '../../components/side-panel.js';
import { Answered } from '../../components/wait.js';
import { attempt } from '../../state/actions.js';
import { useNames } from '../../state/names.js';
import { may } from '../../state/principal.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { useAsking } from '../../state/refusals.js';
import { service } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { getChosenStore } from '../../state/stores.js';
import { formatActionValue, formatType } from '../../words/actions.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatLabel } from '../../words/labels.js';
import { formatFigure, formatMoney } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { STATE_KINDS } from './action-states.js';
import { Effects } from './effects.js';
import { listLatestSources, Sources } from './sources.js';

interface ActionPanelProps {
  readonly id: string;
  onClose(): void;
}

/** Renders a corporate action: its terms, its effect on each index, and the decision. */
export function ActionPanel({ id, onClose }: ActionPanelProps) {
  const store = getChosenStore();
  const action = useResource(`action ${store} ${id}`, (signal) =>
    service.value.call('getAction', { params: { action_id: id }, query: { store_id: store }, signal }),
  );
  return (
    <SidePanel
      title={
        action.data === undefined ? 'Corporate action' : `${formatType(action.data.type)} of ${action.data.identifier}`
      }
      onClose={onClose}
    >
      <Answered resource={action} what="the corporate action">
        {(detail) => (
          <>
            <Terms action={detail} />
            <Decision action={detail} />
            <Effects effects={detail.effects} />
            <History action={detail} />
          </>
        )}
      </Answered>
    </SidePanel>
  );
}

/** Renders the terms of an action in the store, and in other sources. */
function Terms({ action }: { readonly action: DeskActionDetail }) {
  const { identifier, ex_date: date } = action;
  const { name = null, currency = null } = useNames([identifier], date).get(identifier) ?? {};
  return (
    <>
      <ActionFacts action={action} name={name} currency={currency} />
      <h3>Sources</h3>
      <Sources terms={action} sources={listLatestSources(action.decisions)} currency={currency} />
    </>
  );
}

interface ActionFactsProps {
  readonly action: DeskActionDetail;
  /** Name of the company; null if unknown. */
  readonly name: string | null;
  /** Currency of the prices of the security; null if unknown. */
  readonly currency: string | null;
}

function ActionFacts({ action, name, currency }: ActionFactsProps) {
  const { identifier, type, state, value, ex_date: date, announced, pay_date: paid, related, flags } = action;
  const { status, cash, subscription_price: subscription, decisions } = action;
  const decision = decisions.at(-1);
  return (
    <>
      {flags.length > 0 && <Banner kind="warning" title={flags.join(' ')} />}
      <Facts
        facts={[
          ['State', <Badge kind={STATE_KINDS[state]}>{state}</Badge>],
          ...(decision === undefined ? [] : [formatDecision(decision)]),
          [
            'Security',
            <>
              {name !== null && `${name} `}
              <a href={formatSecurityAddress(identifier, getChosenStore())}>{identifier}</a>
            </>,
          ],
          ['Terms', formatActionValue(type, value, currency)],
          ['Cash per share', cash === null ? null : formatMoney(formatFigure(cash), currency)],
          ['Subscription price', subscription === null ? null : formatMoney(formatFigure(subscription), currency)],
          ['Ex-date', date],
          ['Announced', announced ?? 'unknown'],
          ['Pay date', paid ?? 'unknown'],
          ['Vendor status', status ?? 'unknown'],
          ['Related security', related],
        ]}
      />
    </>
  );
}

/** Returns the label of a decision, for example `Confirmed by`, with its author and time. */
const formatDecision = ({ decision, author, at }: DeskActionDetail['decisions'][number]) =>
  [`${formatLabel(decision)} by`, `${author}, ${formatMoment(at)}`] as const;

function Decision({ action: { action_id: id, state, decisions } }: { readonly action: DeskActionDetail }) {
  const [comment, setComment] = useState('');
  // The decisions of the API are plain JSON.
  const [request, setRequest] = useState({ sources: listLatestSources(decisions) } as unknown as JsonObject);
  const { trouble, ask } = useAsking();
  if (!may('data')) return <MayNot scope="data" what="decide" />;
  const decide = (decision: DeskDecisionRequest['decision']) =>
    void ask('', (onRefusal) =>
      attempt(async () => {
        // The service validates the sources.
        const body = { ...request, decision, comment: findComment(comment) } as DeskDecisionRequest;
        await service.value.call('decideAction', {
          params: { action_id: id },
          query: { store_id: getChosenStore() },
          body,
        });
        showToast('good', `The action is ${decision}.`);
        setComment('');
        notifyChange();
      }, onRefusal),
    );
  return (
    <>
      <details>
        <summary>Values of other sources</summary>
        <SchemaForm
          schema="DeskDecisionRequest"
          names={['sources']}
          changes={SOURCE_FIELDS}
          value={request}
          findings={trouble?.findings ?? []}
          onChange={setRequest}
        />
      </details>
      <CommentInput value={comment} onChange={setComment} />
      <div class="form-actions">
        {state !== 'confirmed' && (
          <Button kind="main" onClick={() => decide('confirmed')}>
            Confirm
          </Button>
        )}
        {state !== 'rejected' && (
          <Button kind="danger" onClick={() => decide('rejected')}>
            Reject
          </Button>
        )}
        {state !== 'new' && <Button onClick={() => decide('reopened')}>Reopen</Button>}
      </div>
      {trouble !== null && <Problem trouble={trouble} />}
    </>
  );
}

const SOURCE_FIELDS = {
  sources: { label: 'Other sources' },
  'sources.name': { label: 'Source' },
  'sources.value': { help: 'As in the data store: an amount per share, or a ratio.' },
  'sources.ex_date': { label: 'Ex-date', help: null },
};

function History({ action: { decisions } }: { readonly action: DeskActionDetail }) {
  return (
    <>
      <h3>Decisions</h3>
      {decisions.length === 0 && <p class="quiet">No decision yet.</p>}
      <ul>
        {decisions.map(({ at, author, decision, comment, sources }) => (
          <li key={at}>
            {formatMoment(at)}: {author} {decision}
            {comment !== null && `: ${comment}`}
            {sources.length > 0 && ` (compared: ${sources.map(({ name }) => name).join(', ')})`}
          </li>
        ))}
      </ul>
    </>
  );
}
