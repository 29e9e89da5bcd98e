import type { DataDoubt, DataStore } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { Section } from '../../components/page.js';
import { SidePanel } from '../../components/side-panel.js';
import { Table } from '../../components/table/table.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Answered, Wait } from '../../components/wait.js';
import { attempt, type OnRefusal } from '../../state/actions.js';
import { go, parameter, setParameters } from '../../state/place.js';
import { may } from '../../state/principal.js';
import { notifyChange, useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { say } from '../../state/toasts.js';
import { storeAddress } from '../../words/addresses.js';
import { count, countValues, percent } from '../../words/numbers.js';
import { DoubtChart, DoubtDetail, repairText } from './doubt-detail.js';

/** Probable errors in a store, each with its evidence; selected repairs are written into a new store. */
export function Doubts({ store }: { readonly store: DataStore }) {
  const id = store.store_id;
  const audit = useResource(
    `audit ${id} ${store.content_hash}`,
    (signal) => service.value.call('auditStore', { params: { store_id: id }, signal }),
    { follows: false },
  );
  return (
    <Answered resource={audit} what="the audit, which reads every price">
      {({ doubts, total }) =>
        doubts.length === 0 ? (
          <EmptyState title="No data warnings">
            The audit found no unexplained jumps, missing splits, repeated bars or dividends of the wrong size.
          </EmptyState>
        ) : (
          <DoubtList store={store} doubts={doubts} total={total} />
        )
      }
    </Answered>
  );
}

interface DoubtListProps {
  readonly store: DataStore;
  readonly doubts: readonly DataDoubt[];
  readonly total: number;
}

function DoubtList({ store, doubts, total }: DoubtListProps) {
  const picked = parameter('repairs');
  const chosen: ReadonlySet<string> = new Set(picked === null ? [] : picked.split(','));
  const open = parameter('doubt');
  const shown = doubts.find(({ id }) => id === open);
  const repairable = doubts.filter(({ repair }) => repair !== null);
  const choose = (ids: readonly string[], isIn: boolean) => {
    const next = new Set(chosen);
    for (const id of ids) {
      if (isIn) next.add(id);
      else next.delete(id);
    }
    setParameters({ repairs: next.size === 0 ? null : [...next].join() });
  };
  return (
    <div class="data-part">
      <div class="doubt-bar">
        <p>
          {countValues(total, 'warning')}, {count(repairable.length)} with a repair
          {total > doubts.length && `; the ${count(doubts.length)} with the highest confidence are shown`}
        </p>
        <p class="quiet">
          The overview lists every close that moves by more than half. A warning here also considers the market, the
          volume and corporate actions nearby.
        </p>
        {may('data') && repairable.length > 0 && (
          <div class="form-actions">
            <label>
              <input
                type="checkbox"
                class="doubt-pick"
                checked={chosen.size === repairable.length}
                onChange={(event) =>
                  choose(
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
      {shown === undefined && <Foremost doubt={foremostOf(doubts)} store={store} />}
      <Table
        label="doubts"
        name="doubts"
        columns={columnsOf(chosen, choose)}
        rows={doubts}
        keyOf={({ id }) => id}
        onOpen={({ id }) => setParameters({ doubt: id })}
        openKey={open}
        searchIn={({ kind, identifier, message, date }) => `${identifier} ${kind} ${date} ${message}`}
        sort={{ column: 'confidence', direction: 'desc' }}
        height={620}
      />
      {shown !== undefined && (
        <SidePanel title={`${shown.identifier} on ${shown.date}`} onClose={() => setParameters({ doubt: null })}>
          <DoubtDetail
            doubt={shown}
            store={store}
            isChosen={chosen.has(shown.id)}
            onChoose={(isIn) => choose([shown.id], isIn)}
          />
        </SidePanel>
      )}
    </div>
  );
}

/** Returns the warning with the highest confidence. */
const foremostOf = (doubts: readonly DataDoubt[]): DataDoubt =>
  doubts.reduce((first, doubt) => (doubt.confidence > first.confidence ? doubt : first));

/** Renders the prices around the warning with the highest confidence; the others open in their rows. */
function Foremost({ doubt, store }: { readonly doubt: DataDoubt; readonly store: DataStore }) {
  const { identifier, date, kind, message, confidence, id } = doubt;
  return (
    <Section
      title={`${KINDS[kind]}: ${identifier} on ${date}`}
      aside={
        <>
          confidence {percent(confidence, 0)}
          <Button onClick={() => setParameters({ doubt: id })}>Evidence</Button>
        </>
      }
    >
      <p>{message}</p>
      <DoubtChart doubt={doubt} store={store} />
    </Section>
  );
}

/** Writes a store with the chosen repairs. The displayed store is unchanged. */
function Repair({ store, chosen }: { readonly store: DataStore; readonly chosen: readonly string[] }) {
  const [isWriting, setWriting] = useState(false);
  const write = async (onRefusal: OnRefusal) => {
    setWriting(true);
    const made = await attempt(
      () =>
        service.value.call('repairStore', {
          params: { store_id: store.store_id },
          body: { doubts: chosen, activate: store.active },
        }),
      onRefusal,
    );
    setWriting(false);
    if (made === undefined) return;
    say('good', `${made.store.name} was written with ${countValues(chosen.length, 'repair')}.`);
    notifyChange();
    go(storeAddress(made.store.store_id));
  };
  return (
    <>
      <ActionButton kind="main" disabled={isWriting || chosen.length === 0} act={write}>
        {chosen.length === 0
          ? 'Select repairs'
          : `Write a store with ${countValues(chosen.length, 'repair')}${store.active ? ', and serve it' : ''}`}
      </ActionButton>
      {isWriting && <Wait what="the new store" />}
    </>
  );
}

const KINDS: Readonly<Record<DataDoubt['kind'], string>> = {
  unexplained_jump: 'Unexplained jump',
  missed_split: 'Missing split',
  currency_flip: 'Wrong unit',
  duplicate_bar: 'Repeated bars',
  stale_tail: 'Stale prices at the end',
  volume_without_trade: 'Volume without price',
  exchange_rate: 'Exchange rate of 0 or less',
  unknown_currency: 'Unknown currency',
  action_terms: 'Terms of a corporate action',
  dividend_size: 'Size of a dividend',
  dividend_duplicate: 'Duplicate dividend',
  dividend_not_adjusted: 'Dividend not reflected in prices',
};

function columnsOf(
  chosen: ReadonlySet<string>,
  choose: (ids: readonly string[], isIn: boolean) => void,
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
    { id: 'name', title: 'Security', width: 96, value: ({ identifier }) => identifier },
    { id: 'date', title: 'Date', width: 96, value: ({ date }) => date },
    {
      id: 'kind',
      title: 'Warning',
      width: 176,
      priority: 2,
      value: ({ kind }) => KINDS[kind],
      show: ({ kind }) => <Badge kind="warning">{KINDS[kind]}</Badge>,
    },
    numeric({
      id: 'confidence',
      title: 'Confidence',
      help: 'Confidence of the audit',
      width: 80,
      of: ({ confidence }) => confidence,
      write: (value) => percent(value, 0),
    }),
    {
      id: 'message',
      title: 'Description',
      width: 240,
      grow: 6,
      priority: 3,
      value: ({ message }) => message,
      show: ({ message }) => <span title={message}>{message}</span>,
    },
    {
      id: 'mend',
      title: 'Repair',
      width: 120,
      grow: 1,
      priority: 4,
      value: ({ repair }) => (repair === null ? null : repairText(repair)),
      show: ({ repair }) =>
        repair === null ? (
          <span class="quiet">none proposed</span>
        ) : (
          <span title={repairText(repair)}>{repairText(repair)}</span>
        ),
    },
  ];
}
