import type { DeskAction } from '#clients/typescript/divisor.js';
import { Button } from '../../components/button.js';
import { Choice } from '../../components/choice.js';
import { EmptyState } from '../../components/empty-state.js';
import { Problem } from '../../components/problem.js';
import { DateInput } from '../../components/range-bar.js';
import { StoreSelect } from '../../components/store-select.js';
import { Wait } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { isOverdue, isUndecided } from '../../words/actions.js';
import { formatLabel } from '../../words/labels.js';
import { subtractDays } from '../../words/dates.js';
import { countValues, formatCount } from '../../words/numbers.js';
import { ActionList } from './action-list.js';
import { STATE_KINDS } from './action-states.js';
import { isHeld, useAffectedIndices } from './affected-indices.js';
import { LISTED_MAX, YEAR_DAYS, type ListedActions } from './listed-actions.js';

const STATES = Object.keys(STATE_KINDS) as DeskAction['state'][]; // Object.keys returns plain strings.
const STATE_FILTERS = ['any', ...STATES, 'flagged'] as const;
type StateFilter = (typeof STATE_FILTERS)[number];

const isInState = ({ state, flags }: DeskAction, filter: StateFilter): boolean =>
  filter === 'any' || (filter === 'flagged' ? flags.length > 0 : state === filter);

/** Renders the filters of the list with their counts. By default, the list has the actions that concern an index. */
export function FilteredActions(listed: ListedActions) {
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
      <div class="filter-bar">
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
        <label class="select">
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
