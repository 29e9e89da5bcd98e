import { formatDay } from '#domain/time/days.js';
import type { MarketContent } from '../content/market-content.js';
import { formatBarDay, type SecurityHistory } from './name-history.js';
import type { DataWarning } from './data-warning.js';

/** Number of equal closes at the end of a history from which the price is considered stale. */
const STALE_BARS = 10;

/** Finds bars that are repeated, are constant at the end of a history, or have volume but no price. */
export function* findDoubtfulBars(history: SecurityHistory, content: MarketContent): Generator<DataWarning> {
  yield* listRepeatedBars(history, content);
  yield* findStaleTail(history, content);
  yield* findVolumeWithoutTrade(history, content);
}

function* listRepeatedBars(
  { identifier, position, rows, days }: SecurityHistory,
  { fields, identifiers }: MarketContent,
): Generator<DataWarning> {
  const width = identifiers.length;
  const volume = fields.get('VOLUME');
  const comparedPanels = ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME'].flatMap((name) => fields.get(name) ?? []);
  if (volume === undefined || comparedPanels.length < 3) return;
  for (let b = 1; b < rows.length; b++) {
    const cell = rows[b]! * width + position;
    const previousCell = rows[b - 1]! * width + position;
    if (!(volume[cell]! > 0) || comparedPanels.some((panel) => panel[cell] !== panel[previousCell])) continue;
    const date = formatDay(days[b]!);
    yield {
      id: `duplicate_bar ${identifier} ${date}`,
      kind: 'duplicate_bar',
      identifier,
      date,
      confidence: 0.9,
      message: `The bar repeats that of ${formatDay(days[b - 1]!)}, including its volume of ${volume[cell]}.`,
      evidence: { volume: volume[cell]!, same_as: formatDay(days[b - 1]!) },
      repair: { kind: 'remove_values', identifier, from: date, to: date, columns: [...fields.keys()] },
    };
  }
}

function* findStaleTail(history: SecurityHistory, { fields, identifiers }: MarketContent): Generator<DataWarning> {
  const { identifier, position, rows, close } = history;
  let first = close.length - 1;
  while (first > 0 && close[first - 1] === close[first]) first -= 1;
  const count = close.length - first;
  if (count < STALE_BARS) return;
  const volume = fields.get('VOLUME');
  const tradedBars =
    volume === undefined
      ? 0
      : [...rows.subarray(first + 1)].filter((t) => volume[t * identifiers.length + position]! > 0).length;
  if (tradedBars > count / 2) return;
  const date = formatBarDay(history, first);
  yield {
    id: `stale_tail ${identifier} ${date}`,
    kind: 'stale_tail',
    identifier,
    date,
    confidence: 0.8,
    message: `The last ${count} bars all close at ${close[first]}: the security has probably left the market.`,
    evidence: { bars: count, close: close[first]! },
    repair:
      first + 1 < close.length
        ? {
            kind: 'remove_values',
            identifier,
            from: formatBarDay(history, first + 1),
            to: formatBarDay(history, close.length - 1),
            columns: [...fields.keys()],
          }
        : null,
  };
}

function* findVolumeWithoutTrade(
  { identifier, position }: SecurityHistory,
  { fields, identifiers, dates }: MarketContent,
): Generator<DataWarning> {
  const volume = fields.get('VOLUME');
  const close = fields.get('CLOSE')!;
  if (volume === undefined) return;
  for (let t = 0, cell = position; t < dates.length; t++, cell += identifiers.length) {
    if (!(volume[cell]! > 0) || !Number.isNaN(close[cell])) continue;
    const date = formatDay(dates[t]!);
    yield {
      id: `volume_without_trade ${identifier} ${date}`,
      kind: 'volume_without_trade',
      identifier,
      date,
      confidence: 0.6,
      message: `${volume[cell]} shares were traded but there is no close.`,
      evidence: { volume: volume[cell]! },
      repair: null,
    };
  }
}
