import { useState } from 'preact/hooks';
import type { Approval, DataStore, PriceOverrides } from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { LinkButton } from '../../components/controls/button.js';
import { CommentInput } from '../../components/controls/comment.js';
import { Answered, EmptyState, Problem } from '../../components/feedback.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { GuideLink, Section } from '../../components/layout/page.js';
import { type Column, createNumericColumn } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { attempt } from '../../state/actions.js';
import { addQuery, getParameter, setParameters } from '../../state/location.js';
import { may, notifyChange, service, type Trouble, useResource } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatApprovalAddress } from '../../words/addresses.js';
import { formatMoment, isDate } from '../../words/dates.js';
import { formatChange, formatDecimal, formatFigure, formatMoney } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { usePendingApprovals } from '../approvals/requests.js';

/** Request to override a price that other persons have not decided yet. */
type PendingOverride = Omit<Approval, 'facts'> & OverrideFacts;

type OverrideFacts = Extract<Approval['facts'], { readonly kind: 'override' }>;

/**
 * Renders the requested overrides of a store that wait for other persons. Renders nothing if overrides need no
 * approval.
 */
function PendingOverrides({ store }: { readonly store: string }) {
  const pending = usePendingApprovals();
  const rule = pending.data?.rules.find(({ action }) => action === 'override');
  if (pending.data === undefined || rule === undefined) return null;
  const rows = pending.data.approvals.flatMap(({ facts, ...approval }): PendingOverride[] =>
    facts?.kind === 'override' && facts.store_id === store ? [{ ...approval, ...facts }] : [],
  );
  return (
    <Section title="Waiting for approval" aside={`an override needs ${rule.persons} persons`}>
      <Table
        label="requested overrides"
        name="requested"
        columns={COLUMNS}
        rows={rows}
        getKey={({ approval_id: id }) => String(id)}
        formatAddress={({ approval_id: id }) => formatApprovalAddress(id)}
        height={220}
        empty="No override waits for approval."
      />
    </Section>
  );
}

const COLUMNS: readonly Column<PendingOverride>[] = [
  {
    id: 'request',
    title: 'Request',
    width: 88,
    value: ({ approval_id: id }) => id,
    show: ({ approval_id: id }) => (
      <a href={formatApprovalAddress(id)} tabIndex={-1}>
        Approval {id}
      </a>
    ),
  },
  { id: 'security', title: 'Security', width: 84, value: ({ identifier }) => identifier },
  { id: 'session', title: 'Session', width: 104, value: ({ date }) => date },
  createNumericColumn({
    id: 'before',
    title: 'Price now',
    width: 92,
    priority: 2,
    of: ({ before }) => before,
    write: (value) => formatDecimal(value, 4),
  }),
  {
    id: 'price',
    title: 'Requested',
    width: 100,
    align: 'right',
    value: ({ price }) => price,
    show: ({ price }) => (price === null ? 'withdrawal' : formatDecimal(price, 4)),
  },
  createNumericColumn({
    id: 'change',
    title: 'Change',
    width: 84,
    priority: 4,
    of: ({ change }) => change,
    write: formatChange,
  }),
  {
    id: 'agreed',
    title: 'Agreed',
    width: 84,
    priority: 2,
    value: ({ persons, missing }) => `${persons - missing} of ${persons}`,
    showBelow: ({ persons, missing }) => `${persons - missing} of ${persons} agreed`,
  },
  {
    id: 'author',
    title: 'Author',
    width: 90,
    priority: 5,
    below: 'titled',
    value: ({ requested_by: author }) => author,
  },
  {
    id: 'at',
    title: 'Time',
    width: 172,
    priority: 7,
    below: 'nothing',
    value: ({ requested_at: at }) => at,
    show: ({ requested_at: at }) => formatMoment(at),
  },
  { id: 'reason', title: 'Reason', width: 140, grow: 1, priority: 3, lines: 2, value: ({ reason }) => reason },
];

type Override = PriceOverrides['overrides'][number];

/** Renders the price overrides of a store, and a form for a new override. */
export function Overrides({ store }: { readonly store: DataStore }) {
  const { store_id: id, managed } = store;
  const overrideList = useResource(`overrides ${id}`, (signal) =>
    service.value.call('listPriceOverrides', { params: { store_id: id }, signal }),
  );
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  if (managed)
    return (
      <EmptyState
        title="Prices of this store are corrected by an import"
        action={
          may('data') && (
            <>
              <LinkButton href="/console/data/import">Import</LinkButton>{' '}
              <LinkButton href={addQuery({ tab: 'doubts' })}>Warnings with a repair</LinkButton>
            </>
          )
        }
      >
        An override replaces a price of a connected folder or database. This store keeps imported or generated prices:
        import the corrected rows with “If the id exists: replace”.
      </EmptyState>
    );
  /** @returns true if the change is stored */
  const send = async (location: PriceLocation, price: number | null, reason: string) => {
    setTrouble(null);
    const body = { ...location, price, reason };
    const answer = await attempt(
      () => service.value.call('overridePrice', { params: { store_id: id }, body }),
      setTrouble,
    );
    if (answer === undefined) {
      notifyChange(); // the service may have stored a request for approval
      return false;
    }
    const when = answer.job_id === null ? 'The next refresh applies it.' : 'A refresh applies it now.';
    showToast('good', `${price === null ? 'The override was withdrawn' : 'The price was overridden'}. ${when}`);
    notifyChange();
    return true;
  };
  return (
    <>
      <p>
        The files or the database of the vendor are not changed. Every read of the store has the price of the override
        until it is withdrawn; indices with the security become stale.{' '}
        <GuideLink page="schedules">Price overrides</GuideLink>
      </p>
      <Section title="Overrides in force" aside={`prices in ${store.currency ?? 'the currency of each security'}`}>
        <Answered resource={overrideList} what="the overrides">
          {({ overrides }) => (
            <Table
              label="price overrides"
              name="overrides"
              columns={createColumns(send)}
              rows={overrides}
              getKey={({ identifier, date }) => `${identifier} ${date}`}
              sort={{ column: 'date', direction: 'desc' }}
              height={420}
              empty="No override: every price is that of the source."
            />
          )}
        </Answered>
      </Section>
      <PendingOverrides store={id} />
      {may('data') && (
        <Section title="New override">
          {trouble !== null && <Problem trouble={trouble} />}
          <NewOverride store={store} trouble={trouble} send={send} />
        </Section>
      )}
    </>
  );
}

interface PriceLocation {
  readonly identifier: string;
  readonly date: string;
}

/** Sends a change. @returns true if it is stored */
type SendOverride = (location: PriceLocation, price: number | null, reason: string) => Promise<boolean>;

const FIELDS: readonly FieldSpec[] = [
  { name: 'identifier', label: 'Security', kind: 'text', isRequired: true },
  { name: 'date', label: 'Session', kind: 'date', isRequired: true },
  {
    name: 'price',
    label: 'Price',
    kind: 'number',
    isRequired: true,
    help: 'Close in place of that of the source, in the same currency.',
  },
];

interface NewOverrideProps {
  readonly store: DataStore;
  readonly trouble: Trouble | null;
  readonly send: SendOverride;
}

function NewOverride({ store, trouble, send }: NewOverrideProps) {
  const [given, setGiven] = useState<JsonObject>({
    identifier: getParameter('security') ?? '',
    date: getParameter('date') ?? '',
  });
  const [reason, setReason] = useState('');
  const needsApproval = usePendingApprovals().data?.rules.some(({ action }) => action === 'override') === true;
  const identifier = String(given['identifier'] ?? '');
  const date = String(given['date'] ?? '');
  const price = typeof given['price'] === 'number' ? given['price'] : null;
  const isReady = identifier !== '' && isDate(date) && price !== null && reason.trim() !== '';
  const act = async () => {
    if (!(await send({ identifier, date }, price, reason))) return;
    setGiven({ identifier: '', date: '' });
    setReason('');
    setParameters({ security: null, date: null });
  };
  return (
    <section class="form-card" aria-label="Override a price">
      <FieldGrid>
        {FIELDS.map((spec) => (
          <Field
            key={spec.name}
            spec={spec}
            value={given[spec.name]}
            findings={(trouble?.findings ?? []).filter(({ path }) => path === spec.name)}
            onChange={(value) => setGiven({ ...given, [spec.name]: value })}
          />
        ))}
      </FieldGrid>
      {identifier !== '' && isDate(date) && <Present store={store} place={{ identifier, date }} price={price} />}
      <CommentInput label="Reason, with the source of the price" isRequired value={reason} onChange={setReason} />
      <div class="form-actions">
        <ActionButton kind="main" disabled={!isReady} act={act}>
          {needsApproval ? 'Request the override' : 'Override the price'}
        </ActionButton>
      </div>
    </section>
  );
}

interface PresentProps {
  readonly store: DataStore;
  readonly place: PriceLocation;
  readonly price: number | null;
}

/** Renders the current close, which the override replaces. */
function Present({ store, place: { identifier, date }, price }: PresentProps) {
  const close = useResource(`close ${store.store_id} ${store.content_hash} ${identifier} ${date}`, async (signal) => {
    const query = { start: date, end: date, columns: ['CLOSE'], store_id: store.store_id };
    const { prices } = await service.value.call('getPrices', { params: { identifier }, query, signal });
    return (prices.data[0]?.[0] ?? null) as number | null; // the column CLOSE contains numbers
  });
  if (close.data === undefined) return null;
  if (close.data === null) return <p class="quiet">{identifier} has no close on that session.</p>;
  return (
    <p>
      The close is {formatMoney(formatFigure(close.data), store.currency)} now
      {price === null ? '' : `: ${formatChange(price / close.data - 1)}`}.
    </p>
  );
}

const createColumns = (send: SendOverride): readonly Column<Override>[] => [
  { id: 'identifier', title: 'Security', width: 90, grow: 1, value: ({ identifier }) => identifier },
  { id: 'date', title: 'Session', width: 100, value: ({ date }) => date },
  {
    id: 'price',
    title: 'Price',
    width: 84,
    align: 'right',
    priority: 2,
    value: ({ price }) => price,
    show: ({ price }) => formatDecimal(price, 4),
  },
  {
    id: 'source',
    title: 'Of the source',
    help: 'Close of the source at the time of the override',
    width: 100,
    align: 'right',
    priority: 3,
    value: ({ source_price: price }) => price,
    show: ({ source_price: price }) => formatDecimal(price, 4),
  },
  {
    id: 'reason',
    title: 'Reason',
    width: 160,
    grow: 3,
    priority: 3,
    lines: 2,
    value: ({ reason }) => reason,
    show: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  { id: 'author', title: 'Author', width: 90, priority: 4, below: 'nothing', value: ({ author }) => author },
  {
    id: 'at',
    title: 'Time',
    width: 172,
    priority: 5,
    below: 'nothing',
    value: ({ at }) => at,
    show: ({ at }) => formatMoment(at),
  },
  {
    id: 'withdraw',
    title: '',
    width: 96,
    align: 'right',
    value: () => null,
    show: ({ identifier, date }) =>
      may('data') && (
        <ActionButton
          kind="bare"
          aria-label={`Withdraw the override of ${identifier} on ${date}`}
          act={() => send({ identifier, date }, null, 'Withdrawn in the console')}
        >
          Withdraw
        </ActionButton>
      ),
  },
];
