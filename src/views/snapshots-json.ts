import type { RebalanceSnapshot } from '#contract/analytics/record.js';
import type { StaleFillPayload } from '#contract/analytics/prices.js';
import type { Snapshot } from '#domain/backtest/record/schema.js';
import { sumMovedWeight } from '#domain/books/moved-weight.js';
import { formatDay } from '#domain/time/days.js';
import {
  createJsonObject,
  createNumberMember,
  createTextMember,
  createValueMember,
  createWrittenMember,
} from './json-object.js';
import type { JsonWriter } from './json-writer.js';

/** A snapshot with the identifiers of its securities. */
interface SnapshotSource {
  readonly snapshot: Snapshot;
  readonly identifiers: readonly string[];
  /** Identifiers as JSON keys, each with a leading comma and a trailing colon. */
  readonly keys: readonly string[];
  /** Range of the applied weights in the written text. */
  written: { readonly from: number; readonly to: number };
}

export const SNAPSHOT = createJsonObject<RebalanceSnapshot, SnapshotSource>({
  date: createTextMember(({ snapshot }) => formatDay(snapshot.date)),
  schedule_dates: {
    ...createValueMember(({ snapshot: { date, also } }: SnapshotSource) => [date, ...also].map(formatDay)),
    // Version 0.1.0 did not store further dates.
    older: ({ date }) => [String(date)],
  },
  weights: createWrittenMember((json, source) => {
    const from = json.mark();
    writeWeights(json, source, source.snapshot.weights);
    source.written = { from, to: json.mark() };
  }),
  uncapped_weights: createWrittenMember((json, source) => {
    const {
      snapshot: { weights, uncapped },
      written,
    } = source;
    if (areEqual(weights, uncapped)) json.repeat(written.from, written.to);
    else writeWeights(json, source, uncapped);
  }),
  cap: createValueMember(({ snapshot }) => snapshot.cap),
  capped: createValueMember(({ snapshot, identifiers }) =>
    Array.from(snapshot.capped, (column) => identifiers[column]!),
  ),
  redistributed: createNumberMember(({ snapshot }) => computeRedistributed(snapshot)),
  stale_fills: {
    write: (json, { snapshot: { staleFills }, identifiers }) => writeStaleFills(json, identifiers, staleFills),
    // Version 0.1.0 did not detect stale fills.
    older: () => [],
  },
  announced: createValueMember(({ snapshot: { announced } }) => (announced === null ? null : formatDay(announced))),
  target_weights: {
    ...createWrittenMember<RebalanceSnapshot['target_weights'], SnapshotSource>((json, source) => {
      const { columns, targets, targetColumns } = source.snapshot;
      writeMap(json, source, targetColumns ?? columns, hasDrifted(source.snapshot) ? targets : null);
    }),
    older: () => null,
  },
  reference_date: {
    ...createValueMember(({ snapshot: { reference } }: SnapshotSource) =>
      reference === null ? null : formatDay(reference),
    ),
    older: () => null,
  },
  pricing_date: {
    ...createValueMember(({ snapshot: { priced } }: SnapshotSource) => (priced === null ? null : formatDay(priced))),
    older: () => null,
  },
  review: {
    ...createValueMember(({ snapshot: { reviews } }: SnapshotSource) => reviews?.[0] ?? null),
    older: () => null,
  },
  reviews: { ...createValueMember(({ snapshot: { reviews } }: SnapshotSource) => reviews), older: () => null },
  phase: { ...createValueMember(({ snapshot: { phase } }: SnapshotSource) => phase), older: () => null },
  index_shares: {
    ...createWrittenMember<RebalanceSnapshot['index_shares'], SnapshotSource>((json, source) =>
      writeMap(json, source, source.snapshot.columns, source.snapshot.shares),
    ),
    older: () => null,
  },
  weighting_factor: {
    ...createWrittenMember<RebalanceSnapshot['weighting_factor'], SnapshotSource>(writeFactors),
    older: () => null,
  },
  cause: { ...createValueMember(({ snapshot: { cause } }: SnapshotSource) => cause), older: () => null },
});

/** Returns true if the applied weights are the decided ones at the prices of the effective close. */
const hasDrifted = ({ weights, columns, targets, targetColumns }: Snapshot): boolean =>
  targets !== null && !(columns.length === targetColumns?.length && areEqual(weights, targets));

/** Returns the weight that the cap moved, from the weights of the snapshot. The stored one is of the decided weights. */
const computeRedistributed = (snapshot: Snapshot): number =>
  hasDrifted(snapshot) ? sumMovedWeight(snapshot.uncapped, snapshot.weights) : snapshot.redistributed;

interface FillSource {
  readonly identifier: string;
  readonly lastBar: number;
  readonly age: number;
}

const FILL = createJsonObject<StaleFillPayload, FillSource>({
  identifier: createTextMember(({ identifier }) => identifier),
  last_bar: createTextMember(({ lastBar }) => formatDay(lastBar)),
  sessions_old: createNumberMember(({ age }) => age),
});

function writeStaleFills(json: JsonWriter, identifiers: readonly string[], fills: Snapshot['staleFills']): void {
  json.raw('[');
  fills?.columns.forEach((column, i) => {
    if (i > 0) json.raw(',');
    FILL.write(json, { identifier: identifiers[column]!, lastBar: fills.lastBars[i]!, age: fills.ages[i]! });
  });
  json.raw(']');
}

export function writeSnapshots(
  json: JsonWriter,
  identifiers: readonly string[],
  rebalances: readonly Snapshot[],
): void {
  const keys = listKeys(identifiers);
  json.raw('[');
  rebalances.forEach((snapshot, i) => {
    if (i > 0) json.raw(',');
    SNAPSHOT.write(json, { snapshot, identifiers, keys, written: { from: 0, to: 0 } });
  });
  json.raw(']');
}

const keysCache = new WeakMap<readonly string[], readonly string[]>();

/** Encodes identifiers as JSON keys, each with a leading comma and a trailing colon. */
function listKeys(identifiers: readonly string[]): readonly string[] {
  let keys = keysCache.get(identifiers);
  if (!keys) keysCache.set(identifiers, (keys = identifiers.map((identifier) => `,${JSON.stringify(identifier)}:`)));
  return keys;
}

function writeWeights(json: JsonWriter, { keys, snapshot: { columns } }: SnapshotSource, weights: Float64Array): void {
  json.raw('{');
  json.members(keys, columns, weights);
  json.raw('}');
}

/** Writes numbers by identifier; null if there are none. */
function writeMap(json: JsonWriter, { keys }: SnapshotSource, columns: Int32Array, values: Float64Array | null): void {
  if (values === null) json.raw('null');
  else {
    json.raw('{');
    json.members(keys, columns, values);
    json.raw('}');
  }
}

/**
 * Writes factors by identifier. A security without a share count has null. If no security has a factor, writes null.
 */
function writeFactors(json: JsonWriter, source: SnapshotSource): void {
  const { columns, factors } = source.snapshot;
  const isKnownPrice = (factor: number): boolean => factor !== 0;
  if (factors === null || factors.every(isKnownPrice)) writeMap(json, source, columns, factors);
  else if (!factors.some(isKnownPrice)) json.raw('null');
  else {
    const entries = Array.from(factors, (factor, k) => [
      source.identifiers[columns[k]!]!,
      isKnownPrice(factor) ? factor : null,
    ]);
    json.value(Object.fromEntries(entries));
  }
}

function areEqual(a: Float64Array, b: Float64Array): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
