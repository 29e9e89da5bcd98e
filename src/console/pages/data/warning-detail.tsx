import type { DataDoubt, DataRepair, DataStore, PricesResponse } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { LinkButton } from '../../components/button.js';
import { Chart } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { Facts } from '../../components/facts.js';
import { Answered } from '../../components/wait.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatAddress } from '../../state/location.js';
import { formatSecurityAddress, storeAddress } from '../../words/addresses.js';
import { subtractMonths } from '../../words/dates.js';
import { formatCount, formatFigure, formatPercent, writeMinusSigns } from '../../words/numbers.js';

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

export interface WarningDetailProps {
  readonly warning: DataDoubt;
  readonly store: DataStore;
  readonly isChosen: boolean;
  onChoose(isIn: boolean): void;
}

/** Returns the id of the store for a request. Returns undefined for the served store. */
export const findOtherStore = ({ active, store_id: id }: DataStore): string | undefined => (active ? undefined : id);

/** Renders a data warning: its message, the prices around it, its evidence and the proposed repair. */
export function WarningDetail({ warning, store, isChosen, onChoose }: WarningDetailProps) {
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
export function WarningRemedies({ warning, store }: Pick<WarningDetailProps, 'warning' | 'store'>) {
  const { identifier, date } = warning;
  const [from, to] = findPeriod(date);
  const address = formatAddress(formatSecurityAddress(identifier), { store: findOtherStore(store) ?? null, from, to });
  return (
    <div class="form-actions">
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
export function WarningChart({ warning, store }: Pick<WarningDetailProps, 'warning' | 'store'>) {
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
    <div class="doubt-chart">
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

/** Describes a repair in words. */
export function repairText(repair: DataRepair): string {
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
