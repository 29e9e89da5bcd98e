import { useMemo, useState } from 'preact/hooks';
import type { DataDoubt, DataRepair, DataStore, PricesResponse } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button, LinkButton } from '../../components/controls/button.js';
import { Answered, Badge, EmptyState, Wait } from '../../components/feedback.js';
import { SidePanel } from '../../components/layout/dialog.js';
import { Entries, Facts, keepWordsWhole } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { tryAction, type OnRefusal } from '../../state/actions.js';
import { formatAddress, getParameter, navigate, setParameters } from '../../state/location.js';
import { may, notifyChange, service, useResource } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatSecurityAddress, storeAddress } from '../../words/addresses.js';
import { subtractMonths } from '../../words/dates.js';
import {
  countValues,
  formatChange,
  formatCount,
  formatFigure,
  formatPercent,
  writeMinusSigns,
} from '../../words/numbers.js';
import { useAudit } from './store-state.js';
import { describeReadJumps } from './store-words.js';

type WarningKind = DataDoubt['kind'];

interface WarningCause {
  readonly title: string;
  readonly meaning: string;
  readonly action: string;
  /** Recommended action for a store whose prices cannot be overridden. Default: `action`. */
  readonly managed?: string;
}

const COMPARISON_STEPS = {
  action: 'Compare the price with another source, and override it if it is wrong.',
  managed: 'Compare the price with another source, and import the right one if it is wrong.',
};

/** Causes of data warnings, with the meaning and the recommended action. */
const CAUSES: Readonly<Record<WarningKind, WarningCause>> = {
  unexplained_jump: {
    title: 'Unexplained jump',
    meaning: 'The close moves far more than usual, and no corporate action explains it.',
    ...COMPARISON_STEPS,
  },
  missed_split: {
    title: 'Missing split',
    meaning: 'The price steps by the ratio of a split that the corporate actions do not contain, or date differently.',
    action: 'Apply the repair, which adds or corrects the split.',
  },
  currency_flip: {
    title: 'Wrong unit',
    meaning: 'Prices of some days are in another unit of the currency, such as pence instead of pounds.',
    action: 'Apply the repair, which scales these prices.',
  },
  duplicate_bar: {
    title: 'Repeated bars',
    meaning: 'A bar equals that of the day before, including its volume.',
    action: 'Apply the repair, which removes the copy.',
  },
  stale_tail: {
    title: 'Stale prices at the end',
    meaning: 'The last closes are all equal: the security has probably been delisted.',
    action: 'Add the delisting to the corporate actions, or apply the repair.',
  },
  volume_without_trade: {
    title: 'Volume without price',
    meaning: 'Shares were traded, but the close is missing.',
    action: 'Add the close from another source.',
  },
  exchange_rate: {
    title: 'Exchange rate of 0 or less',
    meaning: 'Computations that need this rate are refused.',
    action: 'Correct the rate in the source, and refresh the store.',
  },
  unknown_currency: {
    title: 'Unknown currency',
    meaning: 'No exchange rate is stored for the currency of the security.',
    action: 'Add the rate, or correct the currency of the security.',
  },
  action_terms: {
    title: 'Terms of a corporate action',
    meaning: 'The terms of an action are contradictory or improbable.',
    action: 'Correct the action in the source, and refresh the store.',
  },
  dividend_size: {
    title: 'Size of a dividend',
    meaning: 'The price did not fall by an amount that fits the dividend.',
    action: 'Compare the dividend with another source, or apply the repair.',
  },
  dividend_duplicate: {
    title: 'Duplicate dividend',
    meaning: 'Two similar dividends are a few days apart, and the price fell only once.',
    action: 'Apply the repair, which removes one of them.',
  },
  dividend_not_adjusted: {
    title: 'Dividend not reflected in prices',
    meaning: 'Adjusted prices do not step by the dividend.',
    action: 'Apply the repair, which scales the earlier adjusted prices.',
  },
};

/** Returns the recommended action. If a price can be repaired, it need not be overridden or imported. */
function getAction(kind: WarningKind, isManaged: boolean, hasRepair: boolean): string {
  const { action, managed = action } = CAUSES[kind];
  if (managed !== action && hasRepair)
    return 'Compare the price with another source, and apply the repair if it is wrong.';
  return isManaged ? managed : action;
}

interface WarningCausesProps {
  readonly warnings: readonly DataDoubt[];
  /** Cause whose warnings are listed; null for all. */
  readonly chosen: WarningKind | null;
  /** True for a store that keeps imported or generated prices. These cannot be overridden. */
  readonly isManaged: boolean;
}

/** Renders the causes of the data warnings, the most frequent cause first. A cause opens its warnings. */
function WarningCauses({ warnings, chosen, isManaged }: WarningCausesProps) {
  const kinds = [...new Set(warnings.map(({ kind }) => kind))].map((kind) => {
    const kindWarnings = warnings.filter((warning) => warning.kind === kind);
    return {
      kind,
      found: kindWarnings.length,
      repairable: kindWarnings.filter(({ repair }) => repair !== null).length,
    };
  });
  const entries = kinds
    .toSorted((a, b) => b.found - a.found)
    .map(({ kind, found, repairable }) => ({
      key: kind,
      title: CAUSES[kind].title,
      badge: <Badge kind="warning">{formatCount(found)}</Badge>,
      aside:
        kinds.length > 1 ? (
          <Button
            aria-pressed={chosen === kind}
            onClick={() => setParameters({ cause: chosen === kind ? null : kind, doubt: null })}
          >
            {chosen === kind ? 'Show all causes' : `Show ${countValues(found, 'warning')}`}
          </Button>
        ) : undefined,
      text: (
        <>
          {CAUSES[kind].meaning} {getAction(kind, isManaged, repairable > 0)}{' '}
          <span class="quiet">
            {repairable === 0 ? 'No repair is proposed.' : `${formatCount(repairable)} with a repair.`}
          </span>
        </>
      ),
    }));
  return <Entries label="Causes" entries={entries} />;
}

/** Months shown before and after the suspect day. */
const AROUND_MONTHS = 4;

type FormatValue = (value: number) => string;

const formatTimes: FormatValue = (value) => `${formatFigure(value)} times`;

/** Labels and number formats of evidence. Prices are shown as they are stored. */
const EVIDENCE_LABELS: Readonly<Record<string, readonly [label: string, written?: FormatValue]>> = {
  before: ['Previous close'],
  close: ['Close on the day'],
  move: ['Return on the day', formatPercent],
  usual_move: ['Typical daily return', formatPercent],
  other_move: ['Return on the other day', formatPercent],
  market_move: ['Return of the market', formatPercent],
  besides_market: ['Return relative to the market', formatPercent],
  ratio: ['Split ratio'],
  next_moves_over_usual: ['Later moves relative to typical moves', formatTimes],
  volume_over_usual: ['Volume relative to typical volume', formatTimes],
  back_at: ['Price after recovery'],
  back_on: ['Date of recovery'],
  volume: ['Volume, shares', formatCount],
  same_as: ['Identical to'],
  bars: ['Bars', formatCount],
  amount: ['Amount per share'],
  other_amount: ['Other amount per share'],
  other_date: ['Other date'],
  yield: ['Dividend yield', formatPercent],
  due: ['Expected step'],
  step: ['Step of adjusted closes'],
  unit: ['Unit factor'],
};

function createEvidenceFact(name: string, value: number | string): readonly [string, string] {
  const [label = `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`, written = formatFigure] =
    EVIDENCE_LABELS[name] ?? [];
  return [label, typeof value === 'string' ? value : written(value)];
}

interface WarningDetailProps {
  readonly warning: DataDoubt;
  readonly store: DataStore;
  readonly isChosen: boolean;
  onChoose(isIn: boolean): void;
}

/** Returns the id of the store for a request. Returns undefined for the served store. */
const findOtherStore = ({ active, store_id: id }: DataStore): string | undefined => (active ? undefined : id);

/** Renders a data warning: its message, the prices around it, its evidence and the proposed repair. */
function WarningDetail({ warning, store, isChosen, onChoose }: WarningDetailProps) {
  const { message, evidence, repair, confidence } = warning;
  return (
    <>
      <p>{writeMinusSigns(message)}</p>
      <WarningChart warning={warning} store={store} />
      <Facts
        facts={[
          ['Confidence', formatPercent(confidence, 0)],
          ...Object.entries(evidence).map(([name, value]) => createEvidenceFact(name, value)),
          ['Repair', repair === null ? 'none: the data does not determine the correct value' : repairText(repair)],
        ]}
      />
      {repair !== null && may('data') && (
        <label class="check">
          <input
            type="checkbox"
            class="doubt-pick"
            checked={isChosen}
            onChange={(event) => onChoose(event.currentTarget.checked)}
          />
          Apply this repair
        </label>
      )}
      <WarningRemedies warning={warning} store={store} />
    </>
  );
}

/**
 * Renders links to the security and to the ways to correct its price. Prices of a connected store are overridden, those
 * of another store are imported.
 */
function WarningRemedies({ warning, store }: Pick<WarningDetailProps, 'warning' | 'store'>) {
  const { identifier, date } = warning;
  const [from, to] = findPeriod(date);
  const address = formatAddress(formatSecurityAddress(identifier), { store: findOtherStore(store) ?? null, from, to });
  return (
    <div class="flow gap-3 form-actions">
      <LinkButton href={address}>Open {identifier} around this day</LinkButton>
      {store.managed ? (
        <LinkButton href="/console/data/import">Import the correct price</LinkButton>
      ) : (
        <LinkButton
          href={formatAddress(storeAddress(store.store_id), { tab: 'overrides', security: identifier, date })}
        >
          Override the price
        </LinkButton>
      )}
    </div>
  );
}

/** Returns the period of prices that are shown around a day. */
const findPeriod = (date: string): readonly [from: string, to: string] => [
  subtractMonths(date, AROUND_MONTHS),
  subtractMonths(date, -AROUND_MONTHS),
];

/** Renders the prices around the suspect day: as they are stored, and as they would be after the repair. */
function WarningChart({ warning, store }: Pick<WarningDetailProps, 'warning' | 'store'>) {
  const { identifier, date, repair } = warning;
  const [start, end] = findPeriod(date);
  const prices = useResource(`prices ${store.store_id} ${store.content_hash} ${identifier} ${start} ${end}`, (signal) =>
    service.value.call('getPrices', {
      params: { identifier },
      query: { start, end, columns: ['CLOSE'], ...(store.active ? {} : { store_id: store.store_id }) },
      signal,
    }),
  );
  return (
    <Answered
      resource={prices}
      what={store.active ? `the prices of ${identifier}` : `the prices of ${identifier} (the store is being read)`}
    >
      {(view) => <Prices view={view} date={date} repair={repair} />}
    </Answered>
  );
}

interface PricesProps {
  readonly view: PricesResponse;
  readonly date: string;
  readonly repair: DataRepair | null;
}

function Prices({ view, date, repair }: PricesProps) {
  const { index, data } = view.prices;
  const dates = useMemo(() => index.map(String), [view]);
  const lines = useMemo(() => {
    const values = data.map(([value]) => value as number | null);
    const repairedValues = previewRepair(dates, values, repair);
    const storedLine: Line = { id: 'close', label: 'Close as stored', values, colour: 1 };
    return repairedValues === null
      ? [storedLine]
      : [storedLine, { id: 'repaired', label: 'with the repair', values: repairedValues, colour: 2, isDashed: true }];
  }, [view, repair]);
  const flags = useMemo(() => [{ date, label: 'Warning', isWritten: true }], [date]);
  return (
    <div class="pile gap-2">
      <Chart
        label={`CLOSE of ${view.identifier} around ${date}`}
        dates={dates}
        lines={lines}
        height={220}
        flags={flags}
        restAt={date}
      />
    </div>
  );
}

/**
 * Computes a price repair for the chart. Returns null if the repair changes no prices. Only the service applies a
 * repair.
 */
function previewRepair(
  dates: readonly string[],
  values: readonly (number | null)[],
  repair: DataRepair | null,
): readonly (number | null)[] | null {
  if (repair === null || (repair.kind !== 'scale' && repair.kind !== 'remove_values')) return null;
  if (!repair.columns.includes('CLOSE')) return null;
  return values.map((value, t) => {
    const isIn = dates[t]! >= repair.from && dates[t]! <= repair.to; // dates and values have the same length
    if (!isIn || value === null) return value;
    return repair.kind === 'scale' ? value * repair.factor : null;
  });
}

function repairText(repair: DataRepair): string {
  switch (repair.kind) {
    case 'scale':
      return `multiply ${repair.columns.join(', ')} by ${formatFigure(repair.factor)}, ${formatDays(repair)}`;
    case 'remove_values':
      return `remove ${repair.columns.join(', ')}, ${formatDays(repair)}`;
    case 'insert_action':
      return `add the ${formatAction(repair.action)}`;
    case 'replace_action':
      return repair.ex_date === undefined
        ? `set the ${formatAction(repair.action)} to ${formatFigure(repair.value)}`
        : `move the ${formatAction(repair.action)} to ${repair.ex_date}`;
    case 'remove_action':
      return `remove the ${formatAction(repair.action)}`;
  }
}

const formatDays = ({ from, to }: { readonly from: string; readonly to: string }): string =>
  from === to ? from : `${from} to ${to}`;

type Action = Extract<DataRepair, { kind: 'insert_action' }>['action'];

const formatAction = ({ type, value, ex_date: date }: Action): string =>
  `${type.toLowerCase().replaceAll('_', ' ')} of ${formatFigure(value)} on ${date}`;

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
    <div class="stack gap-5">
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
    <div class="flow spread warning-bar">
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
        <div class="flow gap-3 form-actions">
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

const MOVE_COLUMN: Column<DataDoubt> = {
  id: 'move',
  title: 'Move',
  help: 'Change of the close',
  width: 84,
  priority: 4,
  value: findMove,
  write: formatChange,
};

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
    const importResult = await tryAction(
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
    { id: 'date', title: 'Date', width: 96 },
    {
      id: 'kind',
      title: 'Warning',
      width: 176,
      priority: 2,
      value: ({ kind }) => CAUSES[kind].title,
      show: ({ kind }) => <Badge kind="warning">{CAUSES[kind].title}</Badge>,
    },
    {
      id: 'confidence',
      title: 'Confidence',
      help: CONFIDENCE_HELP,
      width: 80,
      write: (value) => formatPercent(value, 0),
    },
    MOVE_COLUMN,
    {
      id: 'message',
      title: 'Description',
      width: 240,
      grow: 10,
      priority: 3,
      lines: 2,
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
