import type { DataDoubt, DataRepair, DataStore, PricesResponse } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Chart } from '../../components/chart/chart.js';
import type { Line } from '../../components/chart/series.js';
import { Facts } from '../../components/facts.js';
import { Answered } from '../../components/wait.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { nameAddress } from '../../words/addresses.js';
import { monthsBefore } from '../../words/dates.js';
import { count, figure, percent } from '../../words/numbers.js';

/** Months shown before the doubted day, and as many after it. */
const AROUND_MONTHS = 4;

type Written = (value: number) => string;

const times: Written = (value) => `${figure(value)} times`;

/** What evidence is called, and how its figure is written; prices stand as the store has them. */
const EVIDENCE: Readonly<Record<string, readonly [label: string, written?: Written]>> = {
  before: ['Close before'],
  close: ['Close of the day'],
  move: ['Move of the day', percent],
  usual_move: ['Usual move of a day', percent],
  other_move: ['Move on the other day', percent],
  market_move: ['Move of the market', percent],
  besides_market: ['Move besides the market', percent],
  ratio: ['Ratio of the split'],
  next_moves_over_usual: ['Moves after it, of the usual ones', times],
  volume_over_usual: ['Volume, of the usual one', times],
  back_at: ['Back at'],
  back_on: ['Back on'],
  volume: ['Volume, shares', count],
  same_as: ['The same as on'],
  bars: ['Bars', count],
  amount: ['Amount a share'],
  other_amount: ['Other amount a share'],
  other_date: ['Other date'],
  yield: ['Yield of the dividend', percent],
  due: ['Step that was due'],
  step: ['Step of adjusted closes'],
  unit: ['Factor between units'],
};

function evidenceFact(name: string, value: number | string): readonly [string, string] {
  const [label = `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`, written = figure] =
    EVIDENCE[name] ?? [];
  return [label, typeof value === 'string' ? value : written(value)];
}

interface DoubtDetailProps {
  readonly doubt: DataDoubt;
  readonly store: DataStore;
  readonly isChosen: boolean;
  onChoose(isIn: boolean): void;
}

/** One doubt: its sentence, the prices around it, its evidence, and the repair to take. */
export function DoubtDetail({ doubt, store, isChosen, onChoose }: DoubtDetailProps) {
  const { message, evidence, repair, confidence, identifier } = doubt;
  return (
    <>
      <p>{message}</p>
      <DoubtChart doubt={doubt} store={store} />
      <Facts
        facts={[
          ['Certain', percent(confidence, 0)],
          ...Object.entries(evidence).map(([name, value]) => evidenceFact(name, value)),
          ['Repair', repair === null ? 'the data does not say what is right' : repairText(repair)],
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
          Take this repair
        </label>
      )}
      {store.active && (
        <p>
          <a href={nameAddress(identifier)}>All of {identifier}</a>
        </p>
      )}
    </>
  );
}

function DoubtChart({ doubt, store }: Pick<DoubtDetailProps, 'doubt' | 'store'>) {
  const { identifier, date, repair } = doubt;
  const start = monthsBefore(date, AROUND_MONTHS);
  const end = monthsBefore(date, -AROUND_MONTHS);
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
      what={store.active ? `the prices of ${identifier}` : `the prices of ${identifier}, for which the store is read`}
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
    const mended = repaired(dates, values, repair);
    const stored: Line = { id: 'close', label: 'CLOSE as stored', values, colour: 1 };
    return mended === null
      ? [stored]
      : [stored, { id: 'repaired', label: 'with the repair', values: mended, colour: 2, isDashed: true }];
  }, [view, repair]);
  const marks = useMemo(() => [{ date, label: 'the doubted day', address: nameAddress(view.identifier) }], [date]);
  return (
    <div class="doubt-chart">
      <Chart
        label={`CLOSE of ${view.identifier} around ${date}`}
        dates={dates}
        lines={lines}
        height={220}
        marks={marks}
      />
    </div>
  );
}

/** What is drawn of a repair of prices; null where it changes none. The service applies it, this is for the eye. */
function repaired(
  dates: readonly string[],
  values: readonly (number | null)[],
  repair: DataRepair | null,
): readonly (number | null)[] | null {
  if (repair === null || (repair.kind !== 'scale' && repair.kind !== 'remove_values')) return null;
  if (!repair.columns.includes('CLOSE')) return null;
  return values.map((value, t) => {
    const isIn = dates[t]! >= repair.from && dates[t]! <= repair.to; // Both are as long.
    if (!isIn || value === null) return value;
    return repair.kind === 'scale' ? value * repair.factor : null;
  });
}

/** A repair in words. */
export function repairText(repair: DataRepair): string {
  switch (repair.kind) {
    case 'scale':
      return `multiply ${repair.columns.join(', ')} by ${figure(repair.factor)}, ${daysOf(repair)}`;
    case 'remove_values':
      return `remove ${repair.columns.join(', ')}, ${daysOf(repair)}`;
    case 'insert_action':
      return `add the ${actionText(repair.action)}`;
    case 'replace_action':
      return repair.ex_date === undefined
        ? `set the ${actionText(repair.action)} to ${figure(repair.value)}`
        : `move the ${actionText(repair.action)} to ${repair.ex_date}`;
    case 'remove_action':
      return `remove the ${actionText(repair.action)}`;
  }
}

const daysOf = ({ from, to }: { readonly from: string; readonly to: string }): string =>
  from === to ? from : `${from} to ${to}`;

type Action = Extract<DataRepair, { kind: 'insert_action' }>['action'];

const actionText = ({ type, value, ex_date: date }: Action): string =>
  `${type.toLowerCase().replaceAll('_', ' ')} of ${figure(value)} on ${date}`;
