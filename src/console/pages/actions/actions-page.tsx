import type { DeskAction } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { Choice } from '../../components/choice.js';
import { DecideMany } from '../../components/decide-many.js';
import { EmptyState } from '../../components/empty-state.js';
import { GuideLink } from '../../components/guide-link.js';
import { Metrics } from '../../components/metrics.js';
import { Page } from '../../components/page.js';
import { DateInput } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { health } from '../../state/live.js';
import { parameter, setParameters } from '../../state/place.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { actionValue } from '../../words/actions.js';
import { count } from '../../words/numbers.js';
import { ActionPanel } from './action-panel.js';
import { STATE_KINDS, typeWords } from './action-states.js';
import './actions.css';

type State = DeskAction['state'];
const STATES = Object.keys(STATE_KINDS) as State[]; // Object.keys returns plain strings.

const LISTED_MAX = 1000;

/** Coming and recent corporate actions; each opens to its effect on indices and the decision. */
export function ActionsPage() {
  const chosen = parameter('state') ?? 'all';
  const open = parameter('action');
  const asked = parameter('from');
  const [earlier, setEarlier] = useState<string | null>(null);
  const from = asked ?? earlier;
  const listed = useResource(
    `actions ${from}`,
    (signal) => service.value.call('listActions', { query: { ...(from && { from }), limit: LISTED_MAX }, signal }),
    { keeps: true },
  );
  const last = health.value?.store?.end ?? null;
  const isQuiet = from === null && listed.data?.actions.length === 0;
  // Without any action in the usual weeks, the last year is shown.
  useEffect(() => {
    if (isQuiet && last !== null) setEarlier(daysBefore(last, YEAR_DAYS));
  }, [isQuiet, last]);
  return (
    <Page title="Corporate actions" subtitle={<GuideLink page="desk">How the desk confirms actions</GuideLink>}>
      <Answered resource={listed} what="the corporate actions">
        {({ actions, total }) => (
          <>
            <Counts actions={actions} last={last} />
            <div class="action-filters">
              <Choice
                label="State"
                options={['all', 'flagged', ...STATES].map((value) => ({ value, text: value }))}
                value={chosen}
                onChoose={(value) => setParameters({ state: value === 'all' ? null : value, action: null })}
              />
              <label class="select">
                <span class="quiet">Ex-date from</span>
                <DateInput
                  label="Ex-date from"
                  value={from ?? (last === null ? '' : daysBefore(last, RECENT_DAYS))}
                  least="1900-01-01"
                  most="2999-12-31"
                  onChange={(date) => setParameters({ from: date, action: null })}
                />
              </label>
            </div>
            {asked === null && earlier !== null && actions.length > 0 && (
              <p class="quiet">No action in the weeks around {last}: those of the last year are shown.</p>
            )}
            <Listed actions={actions} chosen={chosen} open={open} last={last} />
            {total > actions.length && (
              <p class="quiet">
                The first {count(actions.length)} of {count(total)}.
              </p>
            )}
          </>
        )}
      </Answered>
      {open !== null && <ActionPanel key={open} id={open} onClose={() => setParameters({ action: null })} />}
    </Page>
  );
}

/** Days before the last session from which actions are listed by default, as in the contract. */
const RECENT_DAYS = 10;
const YEAR_DAYS = 365;

const DAY_MS = 86_400_000;
const daysBefore = (date: string, days: number): string =>
  new Date(Date.parse(date) - days * DAY_MS).toISOString().slice(0, 10);

interface CountsProps {
  readonly actions: readonly DeskAction[];
  /** Last session of the served store. */
  readonly last: string | null;
}

function Counts({ actions, last }: CountsProps) {
  const countOf = (state: State) => count(actions.filter((action) => action.state === state).length);
  const coming = actions.filter(({ ex_date: date }) => last !== null && date > last).length;
  const flagged = actions.filter(({ flags }) => flags.length > 0).length;
  return (
    <Metrics
      label="Corporate actions by state"
      metrics={[
        { term: 'To confirm', value: countOf('new'), note: 'no decision yet' },
        {
          term: 'Amended',
          value: countOf('amended'),
          help: 'The terms changed after the decision',
          note: 'decide again',
        },
        { term: 'Flagged', value: count(flagged), kind: flagged > 0 ? 'down' : '', note: 'with a reason to review' },
        { term: 'Confirmed', value: countOf('confirmed') },
        { term: 'Rejected', value: countOf('rejected') },
        { term: 'Coming', value: count(coming), note: last === null ? '' : `after ${last}` },
      ]}
    />
  );
}

interface ListedProps extends CountsProps {
  readonly chosen: string;
  readonly open: string | null;
}

function Listed({ actions, chosen, open, last }: ListedProps) {
  const [selected, setSelected] = useState<readonly string[]>([]);
  const rows = actions.filter(
    ({ state, flags }) => chosen === 'all' || (chosen === 'flagged' ? flags.length > 0 : state === chosen),
  );
  if (rows.length === 0)
    return (
      <EmptyState
        title={actions.length === 0 ? 'No corporate action in these weeks' : 'No action in this state'}
        action={
          last !== null && (
            <Button onClick={() => setParameters({ from: daysBefore(last, YEAR_DAYS), state: null })}>
              Show the last year
            </Button>
          )
        }
      >
        The desk lists actions of the served store from 10 days before its last session to 90 days after it. Each is
        confirmed or rejected before it takes effect.
      </EmptyState>
    );
  const keys = selected.filter((key) => rows.some(({ action_id: id }) => id === key));
  return (
    <>
      <Table
        label="corporate actions"
        name="actions"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ action_id: id }) => id}
        searchIn={({ identifier, type }) => `${identifier} ${typeWords(type)}`}
        sort={{ column: 'date', direction: 'desc' }}
        onOpen={({ action_id: id }) => setParameters({ action: id })}
        openKey={open}
        height={620}
        {...(may('data') ? { selection: { keys, onChange: setSelected } } : {})}
      />
      {keys.length > 0 && (
        <DecideMany
          keys={keys}
          noun="action"
          decisions={DECISIONS}
          decide={(key, decision, comment) =>
            service.value.call('decideAction', { params: { action_id: key }, body: { decision, comment } })
          }
          onDone={setSelected}
        />
      )}
    </>
  );
}

const DECISIONS = [
  { decision: 'confirmed', text: 'Confirm', done: 'confirmed', kind: 'main' },
  { decision: 'rejected', text: 'Reject', done: 'rejected', kind: 'danger' },
] as const;

const COLUMNS: readonly Column<DeskAction>[] = [
  { id: 'date', title: 'Ex-date', width: 104, value: (row) => row.ex_date },
  { id: 'security', title: 'Security', width: 110, value: ({ identifier }) => identifier },
  { id: 'type', title: 'Type', width: 150, value: ({ type }) => typeWords(type) },
  {
    id: 'value',
    title: 'Terms',
    width: 140,
    align: 'right',
    priority: 2,
    value: ({ value }) => value,
    show: ({ type, value }) => actionValue(type, value),
  },
  { id: 'announced', title: 'Announced', width: 104, priority: 5, value: ({ announced }) => announced ?? '' },
  { id: 'paid', title: 'Paid', width: 104, priority: 5, value: (row) => row.pay_date ?? '' },
  {
    id: 'state',
    title: 'State',
    width: 104,
    value: ({ state }) => state,
    show: ({ state }) => <Badge kind={STATE_KINDS[state]}>{state}</Badge>,
  },
  {
    id: 'flags',
    title: 'Flags',
    width: 180,
    grow: 3,
    priority: 4,
    value: ({ flags }) => flags.join(' '),
    show: ({ flags }) => <span title={flags.join(' ')}>{flags.join(' ')}</span>,
  },
];
