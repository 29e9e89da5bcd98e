import type { DataDoubt, DataStore } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Badge } from '../../components/badge.js';
import { EmptyState } from '../../components/empty-state.js';
import { keepWordsWhole } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { SidePanel } from '../../components/side-panel.js';
import { Table } from '../../components/table/table.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered, Wait } from '../../components/wait.js';
import { attempt, type OnRefusal } from '../../state/actions.js';
import { navigate, getParameter, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { notifyChange } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatSecurityAddress, storeAddress } from '../../words/addresses.js';
import { formatChange, formatCount, countValues, formatPercent, writeMinusSigns } from '../../words/numbers.js';
import { describeReadJumps } from './read-jumps.js';
import { useAudit } from './use-audit.js';
import { CAUSES, WarningCauses } from './warning-causes.js';
import {
  WarningChart,
  WarningDetail,
  WarningRemedies,
  findOtherStore,
  repairText,
  type WarningDetailProps,
} from './warning-detail.js';

/**
 * Renders the probable errors in the data of a store with their evidence. Selected repairs are written to a new store.
 */
export function DataWarnings({ store }: { readonly store: DataStore }) {
  const audit = useAudit(store);
  return (
    <Answered resource={audit} what="the audit, which reads every price">
      {({ doubts: warnings, total }) =>
        warnings.length === 0 ? (
          <EmptyState title="No data warnings">
            The audit found no unexplained jumps, missing splits, repeated bars or dividends of the wrong size.{' '}
            {describeReadJumps(store.findings ?? [], [])}
          </EmptyState>
        ) : (
          <WarningList store={store} warnings={warnings} total={total} />
        )
      }
    </Answered>
  );
}

interface WarningListProps {
  readonly store: DataStore;
  readonly warnings: readonly DataDoubt[];
  readonly total: number;
}

function WarningList(props: WarningListProps) {
  const { store, warnings } = props;
  const chosenIds: ReadonlySet<string> = new Set(getParameter('repairs')?.split(','));
  const openWarning = getParameter('doubt');
  const shownWarning = warnings.find(({ id }) => id === openWarning);
  const cause = warnings.find(({ kind }) => kind === getParameter('cause'))?.kind ?? null;
  const repairable = warnings.filter(({ repair }) => repair !== null);
  const choose = (ids: readonly string[], isIn: boolean) => {
    const otherIds = [...chosenIds].filter((id) => !ids.includes(id));
    const nextIds = isIn ? [...otherIds, ...ids] : otherIds;
    setParameters({ repairs: nextIds.length === 0 ? null : nextIds.join() });
  };
  return (
    <div class="data-part">
      <WarningBar {...props} repairable={repairable} chosen={chosenIds} onChoose={choose} />
      <WarningCauses warnings={warnings} chosen={cause} isManaged={store.managed} />
      <Table
        label="data warnings"
        name="doubts"
        columns={selectNeeded(createColumns(chosenIds, choose, findOtherStore(store)), warnings)}
        rows={cause === null ? warnings : warnings.filter(({ kind }) => kind === cause)}
        getKey={({ id }) => id}
        onOpen={({ id }) => setParameters({ doubt: id })}
        openKey={openWarning}
        searchIn={({ kind, identifier, message, date }) => `${identifier} ${kind} ${date} ${message}`}
        sort={{ column: 'confidence', direction: 'desc' }}
        height={620}
      />
      {shownWarning === undefined ? (
        <FirstWarning warning={findSurest(warnings)} store={store} />
      ) : (
        <OpenWarning
          warning={shownWarning}
          store={store}
          isChosen={chosenIds.has(shownWarning.id)}
          onChoose={(isIn) => choose([shownWarning.id], isIn)}
        />
      )}
    </div>
  );
}

interface WarningBarProps extends WarningListProps {
  readonly repairable: readonly DataDoubt[];
  /** Ids of the warnings with a chosen repair. */
  readonly chosen: ReadonlySet<string>;
  onChoose(ids: readonly string[], isIn: boolean): void;
}

/** Renders the number of warnings, the meaning of a repair, and the button that applies the chosen repairs. */
function WarningBar({ store, warnings, total, repairable, chosen, onChoose }: WarningBarProps) {
  return (
    <div class="doubt-bar">
      <p>
        {countValues(total, 'warning')}, {formatCount(repairable.length)} with a repair
        {total > warnings.length && `; the ${formatCount(warnings.length)} with the highest confidence are shown`}
      </p>
      <p class="quiet">
        The audit compares each price with the market, its volume and the corporate actions nearby. Warnings block
        nothing and need no answer. {total === warnings.length && describeReadJumps(store.findings ?? [], warnings)}
        {repairable.length > 0 && ` Repairs are written to a new store${store.active ? ', which is then served' : ''}.`}
      </p>
      {may('data') && repairable.length > 0 && (
        <div class="form-actions">
          <label>
            <input
              type="checkbox"
              class="doubt-pick"
              checked={chosen.size === repairable.length}
              onChange={(event) =>
                onChoose(
                  repairable.map(({ id }) => id),
                  event.currentTarget.checked,
                )
              }
            />
            All repairs
          </label>
          <Repair store={store} chosen={[...chosen]} />
        </div>
      )}
    </div>
  );
}

const CONFIDENCE_HELP =
  'Estimated probability that the data is wrong. A missing split: from the prices, volumes and shares outstanding. Other kinds: one value each, such as 40% for a large move that does not jump back and 70% for one that does.';

/** Columns that are hidden if no repair is proposed. */
const REPAIR_COLUMNS: ReadonlySet<string> = new Set(['repair', 'mend']);

/** Returns the columns without those that would be empty for all warnings. */
function selectNeeded(
  columns: readonly Column<DataDoubt>[],
  warnings: readonly DataDoubt[],
): readonly Column<DataDoubt>[] {
  const hasRepair = warnings.some(({ repair }) => repair !== null);
  const hasMove = warnings.some((warning) => findMove(warning) !== null);
  return columns.filter(({ id }) => (hasRepair || !REPAIR_COLUMNS.has(id)) && (hasMove || id !== 'move'));
}

/** Returns the change of the price at a warning, as a fraction; null if the evidence has none. */
const findMove = ({ evidence }: DataDoubt): number | null =>
  typeof evidence['move'] === 'number' ? evidence['move'] : null;

const MOVE_COLUMN: Column<DataDoubt> = createNumericColumn({
  id: 'move',
  title: 'Move',
  help: 'Change of the close',
  width: 84,
  priority: 4,
  of: findMove,
  write: formatChange,
});

/** Returns the warning with the highest confidence, which is the first row of the table. */
const findSurest = (warnings: readonly DataDoubt[]): DataDoubt =>
  warnings.reduce((surest, one) => (one.confidence > surest.confidence ? one : surest));

/** Renders the prices around a warning until the user opens another warning. */
const FirstWarning = ({ warning, store }: Pick<WarningDetailProps, 'warning' | 'store'>) => (
  <Section title={`${warning.identifier} on ${warning.date}`} aside="a row opens its prices and evidence">
    <WarningChart warning={warning} store={store} />
    <WarningRemedies warning={warning} store={store} />
  </Section>
);

const OpenWarning = (props: WarningDetailProps) => (
  <SidePanel
    title={`${props.warning.identifier} on ${props.warning.date}`}
    onClose={() => setParameters({ doubt: null })}
  >
    <WarningDetail {...props} />
  </SidePanel>
);

/** Renders the form that writes a new store with the selected repairs. The store on this page does not change. */
function Repair({ store, chosen }: { readonly store: DataStore; readonly chosen: readonly string[] }) {
  const [isWriting, setWriting] = useState(false);
  const write = async (onRefusal: OnRefusal) => {
    setWriting(true);
    const importResult = await attempt(
      () =>
        service.value.call('repairStore', {
          params: { store_id: store.store_id },
          body: { doubts: chosen, activate: store.active },
        }),
      onRefusal,
    );
    setWriting(false);
    if (importResult === undefined) return;
    showToast('good', `${importResult.store.name} was written with ${countValues(chosen.length, 'repair')}.`);
    notifyChange();
    navigate(storeAddress(importResult.store.store_id));
  };
  return (
    <>
      <ActionButton kind="main" disabled={isWriting || chosen.length === 0} act={write}>
        {chosen.length === 0 ? 'Apply repairs' : `Apply ${countValues(chosen.length, 'repair')}`}
      </ActionButton>
      {isWriting && <Wait what="the new store" />}
    </>
  );
}

function createColumns(
  chosen: ReadonlySet<string>,
  choose: (ids: readonly string[], isIn: boolean) => void,
  store: string | undefined,
): readonly Column<DataDoubt>[] {
  return [
    {
      id: 'repair',
      title: '',
      width: 44,
      value: () => null,
      show: ({ id, repair, identifier, date }) =>
        repair !== null &&
        may('data') && (
          <input
            type="checkbox"
            class="doubt-pick"
            aria-label={`Repair ${identifier} on ${date}`}
            checked={chosen.has(id)}
            onChange={(event) => choose([id], event.currentTarget.checked)}
          />
        ),
    },
    {
      id: 'name',
      title: 'Security',
      width: 96,
      value: ({ identifier }) => identifier,
      show: ({ identifier }) => <a href={formatSecurityAddress(identifier, store)}>{identifier}</a>,
    },
    { id: 'date', title: 'Date', width: 96, value: ({ date }) => date },
    {
      id: 'kind',
      title: 'Warning',
      width: 176,
      priority: 2,
      value: ({ kind }) => CAUSES[kind].title,
      show: ({ kind }) => <Badge kind="warning">{CAUSES[kind].title}</Badge>,
    },
    createNumericColumn({
      id: 'confidence',
      title: 'Confidence',
      help: CONFIDENCE_HELP,
      width: 80,
      of: ({ confidence }) => confidence,
      write: (value) => formatPercent(value, 0),
    }),
    MOVE_COLUMN,
    {
      id: 'message',
      title: 'Description',
      width: 240,
      grow: 10,
      priority: 3,
      lines: 2,
      value: ({ message }) => message,
      show: ({ message }) => keepWordsWhole(writeMinusSigns(message)),
    },
    {
      id: 'mend',
      title: 'Repair',
      width: 180,
      grow: 2,
      priority: 4,
      lines: 2,
      value: ({ repair }) => (repair === null ? null : repairText(repair)),
      show: ({ repair }) =>
        repair === null ? <span class="quiet">none proposed</span> : keepWordsWhole(repairText(repair)),
    },
  ];
}
