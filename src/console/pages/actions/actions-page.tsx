import type { DeskAction } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Select } from '../../components/choice.js';
import { EmptyState } from '../../components/empty-state.js';
import { GuideLink } from '../../components/guide-link.js';
import { Page } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { parameter, setParameters } from '../../state/place.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { figure } from '../../words/numbers.js';
import { ActionPanel } from './action-panel.js';
import { STATE_KINDS } from './action-states.js';

type State = DeskAction['state'];
const STATES = Object.keys(STATE_KINDS) as State[]; // Object.keys returns plain strings.

/** Coming and recent corporate actions; each opens to its effect on indices and the decision. */
export function ActionsPage() {
  const chosen = parameter('state') ?? 'all';
  const state = STATES.find((known) => known === chosen);
  const flagged = chosen === 'flagged';
  const open = parameter('action');
  const listed = useResource(
    `actions ${chosen}`,
    (signal) => service.value.call('listActions', { query: { ...(state && { state }), flagged, limit: 1000 }, signal }),
    { keeps: true },
  );
  return (
    <Page
      title="Corporate actions"
      subtitle={<GuideLink page="desk">How the desk confirms actions</GuideLink>}
      actions={
        <Select
          label="State"
          isLabelShown
          options={['all', 'flagged', ...STATES].map((value) => ({ value, text: value }))}
          value={chosen}
          onChoose={(value) => setParameters({ state: value === 'all' ? null : value, action: null })}
        />
      }
    >
      <Answered resource={listed} what="the corporate actions">
        {({ actions }) =>
          actions.length === 0 ? (
            <EmptyState title="No action">
              No corporate action of the data store is in this state, from 10 days before the last session to 90 days
              after it.
            </EmptyState>
          ) : (
            <Table
              label="corporate actions"
              name="actions"
              columns={COLUMNS}
              rows={actions}
              keyOf={({ action_id: id }) => id}
              searchIn={({ identifier, type }) => `${identifier} ${type}`}
              sort={{ column: 'date', direction: 'asc' }}
              onOpen={({ action_id: id }) => setParameters({ action: id })}
              openKey={open}
              height={620}
            />
          )
        }
      </Answered>
      {open !== null && <ActionPanel key={open} id={open} onClose={() => setParameters({ action: null })} />}
    </Page>
  );
}

const COLUMNS: readonly Column<DeskAction>[] = [
  { id: 'date', title: 'Ex-date', width: 104, value: (row) => row.ex_date },
  { id: 'security', title: 'Security', width: 110, value: ({ identifier }) => identifier },
  { id: 'type', title: 'Type', width: 150, value: ({ type }) => type.toLowerCase().replaceAll('_', ' ') },
  numeric({ id: 'value', title: 'Value', width: 96, of: ({ value }) => value, write: figure }),
  {
    id: 'state',
    title: 'State',
    width: 104,
    value: ({ state }) => state,
    show: ({ state }) => <Badge kind={STATE_KINDS[state]}>{state}</Badge>,
  },
  { id: 'flags', title: 'Flags', width: 180, grow: 3, priority: 2, value: ({ flags }) => flags.join(' ') },
];
