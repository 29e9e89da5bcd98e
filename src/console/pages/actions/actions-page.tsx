import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { DeskAction, DeskActionDetail, DeskActions, DeskDecisionRequest } from '#clients/typescript/divisor.js';
import { Button } from '../../components/controls/button.js';
import { Choice } from '../../components/controls/choice.js';
import { CommentInput, DecideMany, findComment } from '../../components/controls/comment.js';
import { DateInput } from '../../components/controls/range.js';
import { Answered, Badge, type BadgeKind, Banner, EmptyState, Problem, Wait } from '../../components/feedback.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { SidePanel } from '../../components/layout/dialog.js';
import { Facts } from '../../components/layout/facts.js';
import { GuideLink, Page } from '../../components/layout/page.js';
import { MayNot } from '../../components/permission.js';
import { listCompanyColumns } from '../../components/securities.js';
import { StoreSelect } from '../../components/stores.js';
import type { Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { tryAction, useAsking } from '../../state/actions.js';
import { health } from '../../state/live.js';
import { getParameter, setParameters } from '../../state/location.js';
import { type NameFacts, NamesStore, useNames } from '../../state/market.js';
import { may, notifyChange, type Resource, service, useAnswer, useResource } from '../../state/service.js';
import { findStoreOfDocument, getChosenStore } from '../../state/stores.js';
import { showToast } from '../../state/toasts.js';
import { formatActionValue, formatType, isOverdue, isUndecided } from '../../words/actions.js';
import { formatSecurityAddress } from '../../words/addresses.js';
import { countDaysUntil, formatDaysTo, formatMoment, formatToday, subtractDays } from '../../words/dates.js';
import { formatLabel } from '../../words/labels.js';
import {
  countValues,
  formatCount,
  formatFigure,
  formatMoney,
  formatPercent,
  MISSING_TEXT,
} from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { Effects, listLatestSources, Sources } from './action-facts.js';

/** Badge kinds by state. Choices list the states in this order. */
const STATE_KINDS: Readonly<Record<DeskAction['state'], BadgeKind>> = {
  new: 'warning',
  amended: 'bad',
  confirmed: 'good',
  rejected: 'plain',
};

type AffectedIndex = NonNullable<DeskActions['actions'][number]['indices']>[number];

/** Indices that hold the security of an action, by id of the action, in alphabetical order. */
type AffectedIndices = ReadonlyMap<string, readonly AffectedIndex[]>;

interface Affected {
  readonly indices: AffectedIndices;
  /** Number of indices whose runs were not read. */
  readonly unread: number;
}

/** Reads the indices that listed actions affect. The list is shown before they are read. */
function useAffectedIndices(actions: readonly DeskAction[], limit: number): Resource<Affected> {
  const dates = actions.map(({ ex_date: date }) => date).toSorted();
  const [from, to] = [dates[0], dates.at(-1)];
  const store = getChosenStore();
  const key = from === undefined ? null : `affected ${store} ${from} ${to} ${actions.length}`;
  return useResource(key, (signal) => read({ from, to, limit, store_id: store }, signal), {
    keeps: true,
    isLater: true,
  });
}

/** Returns true if an index holds the security of an action. */
const isHeld = ({ action_id: id }: DeskAction, { indices }: Affected): boolean => (indices.get(id)?.length ?? 0) > 0;

interface Period {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly limit: number;
  readonly store_id: string | undefined;
}

async function read(period: Period, signal: AbortSignal): Promise<Affected> {
  const { actions, indices_unread: unread } = await service.value.call('listActions', {
    query: { ...period, indices: true },
    signal,
  });
  const entries = actions.flatMap(({ action_id: id, indices }) =>
    indices === null ? [] : [[id, sortById(indices)] as const],
  );
  return { indices: new Map(entries), unread: unread ?? 0 };
}

/** Sorts indices alphabetically, so that an index is at the same position in all rows. */
const sortById = (indices: readonly AffectedIndex[]): readonly AffectedIndex[] =>
  indices.toSorted((a, b) => a.index_id.localeCompare(b.index_id));

interface ListedActionRows {
  readonly rows: readonly DeskAction[];
  /** Reference data by security. */
  readonly names: ReadonlyMap<string, NameFacts>;
  /** Affected indices by action; undefined until they are read. */
  readonly indices: AffectedIndices | undefined;
  /** Current UTC date. */
  readonly today: string;
  /** True if future actions are listed first. */
  readonly isComing: boolean;
}

/**
 * Returns the columns. A list of past actions has no column for the days from today. If no action has flags
 * or names, there is no column for them.
 */
function createColumns({ rows, names, indices, today, isComing }: ListedActionRows): readonly Column<DeskAction>[] {
  const flagged = rows.some(({ flags }) => flags.length > 0)
    ? COLUMNS
    : COLUMNS.filter(({ id }) => id !== 'flags').map((column) =>
        column.id === 'state' ? { ...column, width: STATE_WIDTH } : column,
      );
  const type = flagged.findIndex(({ id }) => id === 'type');
  const priced = flagged.toSpliced(
    type,
    1,
    // On a phone, the type is part of the terms.
    { ...flagged[type]!, below: 'nothing' },
    termsColumn(names),
    createIndicesColumn(indices),
  );
  const columns = priced.toSpliced(2, 0, ...listCompanyColumns(createCompanyColumn(names), names));
  if (!isComing && rows.every(({ ex_date: date }) => date <= today)) return columns;
  return columns.toSpliced(1, 0, createTimeColumn(today));
}

/** Width of the states without the mark of a flag, in pixels. */
const STATE_WIDTH = 98;

const createCompanyColumn = (names: ReadonlyMap<string, NameFacts>): Column<DeskAction> => ({
  id: 'company',
  title: 'Company',
  width: 150,
  grow: 4,
  priority: 4,
  below: 'text',
  value: ({ identifier }) => names.get(identifier)?.name ?? null,
});

const termsColumn = (names: ReadonlyMap<string, NameFacts>): Column<DeskAction> => {
  const formatTerms = ({ identifier, type, value }: DeskAction): string =>
    formatActionValue(type, value, names.get(identifier)?.currency ?? null).replace(' a share', '');
  return {
    id: 'value',
    title: 'Terms',
    help: 'Per share held: cash, or other shares',
    width: 120,
    grow: 0.5,
    priority: 2,
    show: formatTerms,
    showBelow: (row) => (row.type === 'DIVIDEND' ? '' : `${formatType(row.type)} `) + formatTerms(row),
  };
};

const createIndicesColumn = (indices: AffectedIndices | undefined): Column<DeskAction> => ({
  id: 'indices',
  title: 'Indices',
  help: 'Indices that hold the security, with their weights before the ex-date. Sorts by the largest weight.',
  width: 150,
  ideal: 264,
  grow: 7,
  priority: 3,
  value: ({ action_id: id }) => indices?.get(id)?.reduce((largest, { weight }) => Math.max(largest, weight), 0) ?? null,
  show: ({ action_id: id }) => formatIndices(indices?.get(id)),
  showBelow: ({ action_id: id }) => {
    const [largest] = (indices?.get(id) ?? []).toSorted((a, b) => b.weight - a.weight);
    return largest && `${largest.index_id} ${formatPercent(largest.weight)}`;
  },
  copy: ({ action_id: id }) =>
    indices
      ?.get(id)
      ?.map((index) => index.index_id)
      .join(' ') ?? null,
});

/** Maximum number of indices that are named in a row. */
const NAMED_MAX = 3;

/** Formats the first indices with their weights, and the number of the others. */
function formatIndices(indices: readonly AffectedIndex[] | undefined): ComponentChildren {
  if (indices === undefined) return MISSING_TEXT;
  if (indices.length === 0) return <span class="quiet">none</span>;
  const texts = indices.map(({ index_id: id, weight }) => `${id} ${formatPercent(weight)}`);
  return (
    <span title={texts.join(', ')}>
      {texts.slice(0, NAMED_MAX).join(', ')}
      {texts.length > NAMED_MAX && <span class="quiet"> and {formatCount(texts.length - NAMED_MAX)} more</span>}
    </span>
  );
}

/** Creates a column with the number of days from today to the ex-date, for example `in 12 days`. */
const createTimeColumn = (today: string): Column<DeskAction> => ({
  id: 'when',
  title: 'When',
  help: `Days from today, ${today}`,
  width: 122,
  grow: 0,
  priority: 4,
  value: (row) => countDaysUntil(row.ex_date, today),
  below: 'titled',
  showBelow: (row) =>
    isOverdue(row, today) ? (
      <span class="down">{formatCount(-countDaysUntil(row.ex_date, today))} d overdue</span>
    ) : (
      formatDaysTo(row.ex_date, today)
    ),
  show: (row) => {
    if (isOverdue(row, today))
      return <span class="down">{countValues(-countDaysUntil(row.ex_date, today), 'day')} overdue</span>;
    return <span class={row.ex_date < today ? 'quiet' : ''}>{formatDaysTo(row.ex_date, today)}</span>;
  },
});

const COLUMNS: readonly Column<DeskAction>[] = [
  { id: 'date', title: 'Ex-date', width: 94, grow: 0, value: (row) => row.ex_date },
  { id: 'security', title: 'Security', width: 74, grow: 0, value: ({ identifier }) => identifier },
  { id: 'type', title: 'Type', width: 118, grow: 0, priority: 2, value: ({ type }) => formatType(type) },
  { id: 'announced', title: 'Announced', width: 104, priority: 5, value: ({ announced }) => announced ?? '' },
  { id: 'paid', title: 'Pay date', width: 104, priority: 5, value: (row) => row.pay_date ?? '' },
  {
    id: 'state',
    title: 'State',
    width: 130,
    grow: 0,
    show: ({ state, flags }) => (
      <>
        <Badge kind={STATE_KINDS[state]}>{state}</Badge>{' '}
        {flags.length > 0 && (
          <Badge kind="bad" title={flags.join(' ')}>
            flagged
          </Badge>
        )}
      </>
    ),
  },
  {
    id: 'flags',
    title: 'Flags',
    width: 180,
    grow: 3,
    priority: 5,
    value: ({ flags }) => flags.join(' '),
    show: ({ flags }) => <span title={flags.join(' ')}>{flags.join(' ')}</span>,
  },
];

/** Maximum number of actions in the list. */
const LISTED_MAX = 1000;

/** Days of the list of past actions. */
const YEAR_DAYS = 365;

interface ListedActions {
  readonly actions: readonly DeskAction[];
  /** Last session of the store. */
  readonly last: string | null;
  /** Current UTC date. */
  readonly today: string;
  readonly open: string | null;
  /** First listed ex-date. */
  readonly from: string;
  /** True if future actions are listed first. */
  readonly isComing: boolean;
}

interface ActionListProps extends ListedActions {
  /** Actions that pass the filters. */
  readonly rows: readonly DeskAction[];
  /** Undefined until the indices are read. */
  readonly affected: Affected | undefined;
}

/** Renders a table of actions. Selected actions are decided together. */
function ActionList({ actions, rows, affected, open, last, today, isComing }: ActionListProps) {
  const [selected, setSelected] = useState<readonly string[]>([]);
  const identifiers = useMemo(() => [...new Set(actions.map(({ identifier }) => identifier))], [actions]);
  const names = useNames(identifiers, last ?? undefined);
  const keys = selected.filter((key) => rows.some(({ action_id: id }) => id === key));
  return (
    <>
      {may('data') && (
        <DecideMany
          keys={keys}
          noun="action"
          decisions={DECISIONS}
          decide={(key, decision, comment) =>
            service.value.call('decideAction', {
              params: { action_id: key },
              query: { store_id: getChosenStore() },
              body: { decision, comment },
            })
          }
          onDone={setSelected}
        />
      )}
      <Table
        label="corporate actions"
        name="actions"
        columns={createColumns({ rows, names, indices: affected?.indices, today, isComing })}
        rows={rows}
        getKey={({ action_id: id }) => id}
        searchIn={({ identifier, type }) => `${identifier} ${names.get(identifier)?.name ?? ''} ${formatType(type)}`}
        onOpen={({ action_id: id }) => setParameters({ action: id })}
        openKey={open}
        sort={{ column: 'date', direction: isComing ? 'asc' : 'desc' }}
        height={620}
        {...(may('data') ? { selection: { keys, onChange: setSelected } } : {})}
      />
      {affected !== undefined && affected.unread > 0 && (
        <p class="quiet">
          The column Indices covers the newest runs; the runs of {formatCount(affected.unread)} other indices were not
          read.
        </p>
      )}
    </>
  );
}

const DECISIONS = [
  { decision: 'confirmed', text: 'Confirm', done: 'confirmed', kind: 'main' },
  { decision: 'rejected', text: 'Reject', done: 'rejected', kind: 'danger' },
] as const;

interface ActionPanelProps {
  readonly id: string;
  onClose(): void;
}

/** Renders a corporate action: its terms, its effect on each index, and the decision. */
function ActionPanel({ id, onClose }: ActionPanelProps) {
  const store = getChosenStore();
  const action = useAnswer('getAction', { params: { action_id: id }, query: { store_id: store } });
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
      tryAction(async () => {
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
      <div class="flow gap-3 form-actions">
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

const STATES = Object.keys(STATE_KINDS) as DeskAction['state'][]; // Object.keys returns plain strings.
const STATE_FILTERS = ['any', ...STATES, 'flagged'] as const;
type StateFilter = (typeof STATE_FILTERS)[number];

const isInState = ({ state, flags }: DeskAction, filter: StateFilter): boolean =>
  filter === 'any' || (filter === 'flagged' ? flags.length > 0 : state === filter);

/** Renders the filters of the list with their counts. By default, the list has the actions that concern an index. */
function FilteredActions(listed: ListedActions) {
  const { actions, from, today } = listed;
  const { data: affected, trouble, reload } = useAffectedIndices(actions, LISTED_MAX);
  const scope = getParameter('scope') === 'all' ? 'all' : 'held';
  const state = STATE_FILTERS.find((filter) => filter === getParameter('state')) ?? 'any';
  const heldActions = affected === undefined ? [] : actions.filter((action) => isHeld(action, affected));
  const scopedActions = scope === 'all' ? actions : heldActions;
  const rows = scopedActions.filter((action) => isInState(action, state));
  // Until the indices are read, the actions that concern an index are unknown.
  const isKnown = scope === 'all' || affected !== undefined || actions.length === 0;
  return (
    <>
      {isKnown && <Undecided actions={scopedActions} today={today} />}
      <div class="flow gap-3 filter-bar">
        <Choice
          label="Scope"
          options={[
            { value: 'held', text: 'In an index', ...(affected && { count: heldActions.length }) },
            { value: 'all', text: 'All', count: actions.length },
          ]}
          value={scope}
          onChoose={(value) => setParameters({ scope: value === 'held' ? null : value, action: null })}
        />
        <Choice
          label="State"
          options={STATE_FILTERS.map((value) => ({
            value,
            text: value === 'any' ? 'Any state' : formatLabel(value),
            ...(isKnown && { count: scopedActions.filter((action) => isInState(action, value)).length }),
          }))}
          value={state}
          onChoose={(value) => setParameters({ state: value === 'any' ? null : value, action: null })}
        />
        <label class="inline-line gap-2 select">
          <span class="quiet">Ex-date from</span>
          <DateInput
            label="Ex-date from"
            value={from}
            least="1900-01-01"
            most="2999-12-31"
            onChange={(date) => setParameters({ from: date, action: null })}
          />
        </label>
        <StoreSelect />
      </div>
      {trouble !== null && <Problem trouble={trouble} onRetry={reload} />}
      {!isKnown && trouble === null && <Wait what="the indices that hold the securities" />}
      {isKnown && rows.length > 0 && <ActionList {...listed} rows={rows} affected={affected} />}
      {isKnown && rows.length === 0 && <NoActions {...listed} scoped={scopedActions.length} />}
    </>
  );
}

/** States how many actions of the selected scope need a decision, and how many of them are late. */
function Undecided({ actions, today }: { readonly actions: readonly DeskAction[]; readonly today: string }) {
  const undecided = actions.filter(isUndecided);
  const overdue = undecided.filter((action) => isOverdue(action, today)).length;
  if (undecided.length === 0) return null;
  return (
    <p>
      {countValues(undecided.length, 'action')} to confirm
      {overdue > 0 && (
        <>
          , <strong class="down">{formatCount(overdue)} past the ex-date</strong>
        </>
      )}
    </p>
  );
}

function NoActions({ actions, last, from, scoped }: ListedActions & { readonly scoped: number }) {
  if (actions.length > 0 && scoped === 0)
    return (
      <EmptyState
        title="No action concerns an index"
        action={
          <Button onClick={() => setParameters({ scope: 'all', state: null })}>
            Show all {formatCount(actions.length)} actions
          </Button>
        }
      >
        No index with a run holds one of the securities before its ex-date.
      </EmptyState>
    );
  return (
    <EmptyState
      title={actions.length === 0 ? `No corporate action from ${from} on` : 'No action in this state'}
      action={
        last !== null &&
        from > subtractDays(last, YEAR_DAYS) && (
          <Button onClick={() => setParameters({ from: subtractDays(last, YEAR_DAYS), state: null })}>
            Show the last year
          </Button>
        )
      }
    >
      Actions come with the files of the data store. Confirm or reject each of them here. A schedule can require the
      confirmation before it publishes a close.
    </EmptyState>
  );
}

/** Page of the corporate actions around the last session or from a selected date, and of the decisions on them. */
export function ActionsPage() {
  const openAction = getParameter('action');
  const requestedStart = getParameter('from');
  const store = getChosenStore();
  const servedEnd = health.value?.store?.end ?? null;
  const actionList = useResource(
    `actions ${store} ${requestedStart} ${store === undefined ? servedEnd : ''}`,
    (signal) => load({ store, from: requestedStart, servedEnd }, signal),
    { keeps: true },
  );
  return (
    <Page title="Corporate actions" subtitle={<GuideLink page="desk">How the desk confirms actions</GuideLink>}>
      <NamesStore.Provider value={store ?? null}>
        <Answered resource={actionList} what="the corporate actions">
          {({ actions, total, span, last }) => (
            <>
              {(span === 'next' || span === 'year') && actions.length > 0 && (
                <p class="quiet">
                  {span === 'next'
                    ? `No action from ${RECENT_DAYS} days before to ${COMING_DAYS} days after ${last}: the next ones are shown.`
                    : `The store has no action after ${last}: those of the last year are shown, the latest first.`}
                </p>
              )}
              <FilteredActions
                key={span}
                actions={actions}
                open={openAction}
                last={last}
                today={formatToday()}
                from={requestedStart ?? findFirstDate(span, last)}
                isComing={span === 'usual' || span === 'next'}
              />
              {total > actions.length && (
                <p class="quiet">
                  The first {formatCount(actions.length)} of {formatCount(total)}.
                </p>
              )}
            </>
          )}
        </Answered>
        {openAction !== null && (
          <ActionPanel key={openAction} id={openAction} onClose={() => setParameters({ action: null })} />
        )}
      </NamesStore.Provider>
    </Page>
  );
}

/** Default range of the contract in days before and after the last session, and the length of the fallback range. */
const RECENT_DAYS = 10;
const COMING_DAYS = 90;

/** Returns the first ex-date of a default range. Returns an empty text if no store is served. */
function findFirstDate(span: Span | 'asked', last: string | null): string {
  if (last === null) return '';
  const { from } = { from: subtractDays(last, RECENT_DAYS), ...(span !== 'asked' && DATE_SPANS[span](last)) };
  return from;
}

/**
 * Default date ranges, in the order in which they are tried: the range of the contract, the next ten years, and the
 * last year.
 */
const DATE_SPANS = {
  usual: () => ({}),
  next: (last) => ({ from: subtractDays(last, -1), to: subtractDays(last, -10 * YEAR_DAYS) }),
  year: (last) => ({ from: subtractDays(last, YEAR_DAYS) }),
} as const satisfies Record<string, (last: string) => { readonly from?: string; readonly to?: string }>;

type Span = keyof typeof DATE_SPANS;

interface ActionsQuery {
  /** Data store; undefined for the served store. */
  readonly store: string | undefined;
  readonly from: string | null;
  /** Last session of the served store. */
  readonly servedEnd: string | null;
}

/** Lists the actions from a date. If no date is given, lists the actions of the first default range that has any. Also returns the last session of the store. */
async function load({ store, from, servedEnd }: ActionsQuery, signal: AbortSignal) {
  const last = store === undefined ? servedEnd : await readEnd(store, signal);
  const list = (dates: { readonly from?: string; readonly to?: string }) =>
    service.value.call('listActions', { query: { ...dates, store_id: store, limit: LISTED_MAX }, signal });
  if (from !== null) return { ...(await list({ from })), span: 'asked' as const, last };
  for (const span of ['usual', 'next'] as const) {
    const actions = await list(last === null ? {} : DATE_SPANS[span](last));
    if (last === null || actions.actions.length > 0) return { ...actions, span, last };
  }
  return { ...(await list(DATE_SPANS.year(last ?? ''))), span: 'year' as const, last }; // without a last session, the loop returns the first list
}

async function readEnd(store: string, signal: AbortSignal): Promise<string | null> {
  const { stores } = await service.value.call('listStores', { signal });
  return findStoreOfDocument(stores, store)?.end ?? null;
}
