import type { DeskAction } from '#clients/typescript/divisor.js';
import { useMemo, useState } from 'preact/hooks';
import { DecideMany } from '../../components/decide-many.js';
import { Table } from '../../components/table/table.js';
import { setParameters } from '../../state/location.js';
import { useNames } from '../../state/names.js';
import { may } from '../../state/principal.js';
import { service } from '../../state/service.js';
import { getChosenStore } from '../../state/stores.js';
import { formatType } from '../../words/actions.js';
import { formatCount } from '../../words/numbers.js';
import { createColumns } from './action-columns.js';
import type { Affected } from './affected-indices.js';
import type { ListedActions } from './listed-actions.js';

interface ActionListProps extends ListedActions {
  /** Actions that pass the filters. */
  readonly rows: readonly DeskAction[];
  /** Undefined until the indices are read. */
  readonly affected: Affected | undefined;
}

/** Renders a table of actions. Selected actions are decided together. */
export function ActionList({ actions, rows, affected, open, last, today, isComing }: ActionListProps) {
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
