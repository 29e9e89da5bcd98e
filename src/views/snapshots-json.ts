import type { Snapshot } from '#domain/backtest/record/schema.js';
import { formatDay } from '#domain/days.js';
import { jsonToken, type JsonWriter } from './json-writer.js';
import { dayText } from './series-json.js';

export function writeSnapshots(json: JsonWriter, identifiers: readonly string[], rebalances: readonly Snapshot[]): void {
  json.raw('[');
  writeSnapshotList(json, identifiers, rebalances);
  json.raw(']');
}

/** Snapshots with commas between them, and before the first where others were written before. */
export function writeSnapshotList(json: JsonWriter, identifiers: readonly string[], rebalances: readonly Snapshot[], others = 0): void {
  if (rebalances.length === 0) return;
  const keys = keysOf(identifiers);
  rebalances.forEach((rebalance, i) => {
    const { columns, weights, uncapped, cap, capped, redistributed, announced } = rebalance;
    json.raw(`${i + others === 0 ? '' : ','}{"date":${dayText(rebalance.date)},"weights":`);
    const from = json.mark();
    writeWeights(json, keys, { columns, weights });
    const to = json.mark();
    json.raw(',"uncapped_weights":');
    if (equal(weights, uncapped)) json.repeat(from, to);
    else writeWeights(json, keys, { columns, weights: uncapped });
    json.raw(`,"cap":${cap === null ? 'null' : String(cap)},"capped":[`);
    json.raw(Array.from(capped, (column) => JSON.stringify(identifiers[column]!)).join(','));
    json.raw('],"redistributed":');
    json.number(redistributed);
    json.raw(`,"announced":${announced === null ? 'null' : `"${formatDay(announced)}"`}}`);
  });
}

const keysKept = new WeakMap<readonly string[], Uint8Array[]>();

/** Every identifier as a key behind a comma. */
function keysOf(identifiers: readonly string[]): Uint8Array[] {
  let keys = keysKept.get(identifiers);
  if (!keys) keysKept.set(identifiers, (keys = identifiers.map((identifier) => jsonToken(`,${JSON.stringify(identifier)}:`))));
  return keys;
}

function writeWeights(json: JsonWriter, keys: readonly Uint8Array[], { columns, weights }: Pick<Snapshot, 'columns' | 'weights'>): void {
  json.raw('{');
  for (let k = 0; k < columns.length; k++) {
    const key = keys[columns[k]!]!;
    json.token(k === 0 ? key.subarray(1) : key);
    json.number(weights[k]!);
  }
  json.raw('}');
}

function equal(a: Float64Array, b: Float64Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
