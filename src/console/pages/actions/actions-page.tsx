import type { DeskAction } from '#clients/typescript/divisor.js';
import { useMemo, useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Choice } from '../../components/choice.js';
import { DecideMany } from '../../components/decide-many.js';
import { EmptyState } from '../../components/empty-state.js';
import { GuideLink } from '../../components/guide-link.js';
import { Metrics } from '../../components/metrics.js';
import { Page } from '../../components/page.js';
import { DateInput } from '../../components/range-bar.js';
import { StoreSelect } from '../../components/store-select.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { health } from '../../state/live.js';
import { NamesStore, useNames } from '../../state/names.js';
import { getParameter, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { findStore, getChosenStore } from '../../state/stores.js';
import { isOverdue, isUndecided } from '../../words/actions.js';
import { formatToday, subtractDays } from '../../words/dates.js';
import { formatCount } from '../../words/numbers.js';
import { createColumns } from './action-columns.js';
import { ActionPanel } from './action-panel.js';
import { STATE_KINDS, formatType } from './action-states.js';
import { isHeld, useAffectedIndices } from './affected-indices.js';
import './actions.css';

type State = DeskAction['state'];
const STATES = Object.keys(STATE_KINDS) as State[]; // Object.keys returns plain strings.

/** Filter for actions of securities that an index holds. */
const HELD = 'held';
const FILTER_TEXTS: Readonly<Record<string, string>> = { [HELD]: 'in an index' };

const LISTED_MAX = 1000;

/** Page of the corporate actions around the last session or from a selected date, and of the decisions on them. */
export function ActionsPage() {
  const chosenState = getParameter('state') ?? 'all';
  const openAction = getParameter('action');
  const requestedStart = getParameter('from');
  const store = getChosenStore();
  const servedEnd = health.value?.store?.end ?? null;
  const today = formatToday();
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
              <Counts actions={actions} today={today} />
              <div class="action-filters">
                <Choice
                  label="State"
                  options={['all', HELD, 'flagged', ...STATES].map((value) => ({
                    value,
                    text: FILTER_TEXTS[value] ?? value,
                  }))}
                  value={chosenState}
                  onChoose={(value) => setParameters({ state: value === 'all' ? null : value, action: null })}
                />
                <label class="select">
                  <span class="quiet">Ex-date from</span>
                  <DateInput
                    label="Ex-date from"
                    value={requestedStart ?? findFirstDate(span, last)}
                    least="1900-01-01"
                    most="2999-12-31"
                    onChange={(date) => setParameters({ from: date, action: null })}
                  />
                </label>
                <StoreSelect />
              </div>
              {(span === 'next' || span === 'year') && actions.length > 0 && (
                <p class="quiet">
                  {span === 'next'
                    ? `No action from ${RECENT_DAYS} days before to ${COMING_DAYS} days after ${last}: the next ones are shown.`
                    : `The store has no action after ${last}: those of the last year are shown, the latest first.`}
                </p>
              )}
              <ActionList
                key={span}
                actions={actions}
                chosen={chosenState}
                open={openAction}
                last={last}
                today={today}
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
const YEAR_DAYS = 365;

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
  return findStore(stores, store)?.end ?? null;
}

interface CountsProps {
  readonly actions: readonly DeskAction[];
  /** Current UTC date. */
  readonly today: string;
}

function Counts({ actions, today }: CountsProps) {
  const formatStateCount = (state: State) => formatCount(actions.filter((action) => action.state === state).length);
  const coming = actions.filter(({ ex_date: date }) => date > today).length;
  const flaggedCount = actions.filter(({ flags }) => flags.length > 0).length;
  const overdue = actions.filter((action) => action.state === 'new' && isOverdue(action, today)).length;
  const affected = useAffectedIndices(actions, LISTED_MAX);
  const heldCount = affected && actions.filter((action) => action.state === 'new' && isHeld(action, affected)).length;
  const notes = [
    overdue > 0 ? `${formatCount(overdue)} past the ex-date` : 'no decision yet',
    ...(heldCount === undefined ? [] : [`${formatCount(heldCount)} in an index`]),
  ];
  return (
    <Metrics
      label="Corporate actions by state"
      metrics={[
        {
          term: 'To confirm',
          value: formatStateCount('new'),
          kind: overdue > 0 ? 'down' : '',
          note: notes.join(', '),
        },
        {
          term: 'Amended',
          value: formatStateCount('amended'),
          help: 'The terms changed after the decision',
          note: 'decide again',
        },
        {
          term: 'Flagged',
          value: formatCount(flaggedCount),
          kind: flaggedCount > 0 ? 'down' : '',
          note: 'with a reason to review',
        },
        { term: 'Confirmed', value: formatStateCount('confirmed') },
        { term: 'Rejected', value: formatStateCount('rejected') },
        { term: 'Coming', value: formatCount(coming), note: `after ${today}` },
      ]}
    />
  );
}

interface ActionListProps extends CountsProps {
  /** Last session of the store. */
  readonly last: string | null;
  readonly chosen: string;
  readonly open: string | null;
  /** First listed ex-date. */
  readonly from: string;
  /** True if future actions are listed first. */
  readonly isComing: boolean;
}

function ActionList({ actions, chosen, open, last, today, from, isComing }: ActionListProps) {
  const [selected, setSelected] = useState<readonly string[]>([]);
  const affected = useAffectedIndices(actions, LISTED_MAX);
  const rows = actions.filter((action) => {
    if (chosen === HELD) return affected === undefined || isHeld(action, affected);
    return chosen === 'all' || (chosen === 'flagged' ? action.flags.length > 0 : action.state === chosen);
  });
  const identifiers = useMemo(() => [...new Set(actions.map(({ identifier }) => identifier))], [actions]);
  const names = useNames(identifiers, last ?? undefined);
  if (rows.length === 0)
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
  const keys = selected.filter((key) => rows.some(({ action_id: id }) => id === key));
  return (
    <>
      <Table
        label="corporate actions"
        name="actions"
        columns={createColumns({ rows, names, indices: affected?.indices, today, isComing })}
        rows={sortByUrgency(rows, isComing)}
        getKey={({ action_id: id }) => id}
        searchIn={({ identifier, type }) => `${identifier} ${formatType(type)}`}
        onOpen={({ action_id: id }) => setParameters({ action: id })}
        openKey={open}
        height={620}
        {...(may('data') ? { selection: { keys, onChange: setSelected } } : {})}
      />
      {affected !== undefined && affected.unread > 0 && (
        <p class="quiet">
          The column Indices covers the newest runs; the runs of {formatCount(affected.unread)} other indices were not
          read.
        </p>
      )}
      {keys.length > 0 && (
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
    </>
  );
}

/** Sorts undecided actions before decided ones, then by ex-date: the earliest first if future actions are listed. */
const sortByUrgency = (actions: readonly DeskAction[], isComing: boolean): readonly DeskAction[] =>
  actions.toSorted(
    (a, b) =>
      Number(isUndecided(b)) - Number(isUndecided(a)) ||
      (isComing ? 1 : -1) * a.ex_date.localeCompare(b.ex_date) ||
      a.identifier.localeCompare(b.identifier),
  );

const DECISIONS = [
  { decision: 'confirmed', text: 'Confirm', done: 'confirmed', kind: 'main' },
  { decision: 'rejected', text: 'Reject', done: 'rejected', kind: 'danger' },
] as const;
