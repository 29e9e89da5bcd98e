import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { check, furthest, type Check } from './check.js';

/** What each rebalance applied, against what it started from and its cap. */
export function rebalanceChecks(columns: RunColumns): Check[] {
  const { names, rebalances, has_index_weights: hasIndexWeights, run_id: runId, index_id: indexId } = columns.header;
  const H = names.length;
  const targets = columns.f64('targets');
  const raw = columns.f64('raw');
  const isCapped = columns.u8('capped');
  const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);
  return rebalances.flatMap(({ date, at, cap, redistributed }, r) => {
    const applied = targets.subarray(r * H, (r + 1) * H);
    const uncapped = raw.subarray(r * H, (r + 1) * H);
    const invested = sum(applied);
    const moved = uncapped.reduce((total, u, i) => total + Math.max(0, invested * u - applied[i]!), 0);
    const largest = applied.reduce((most, weight) => Math.max(most, weight), 0);
    // A strategy follows its index into cash; an index always has names.
    const isNone = invested === 0 && uncapped.every((weight) => weight === 0);
    const atCap = furthest();
    if (cap !== null) for (let i = 0; i < H; i++) if (isCapped[r * H + i] === 1) atCap.note(applied[i]!, invested * cap);
    // What a strategy holds depends on its tolerance and its costs.
    const isHeld = runId === indexId && at >= 0 && rebalances[r + 1]?.at !== at;
    const held = furthest();
    if (isHeld) columns.f64(hasIndexWeights ? 'indexWeights' : 'weights', at * H, (at + 1) * H).forEach((weight, i) => held.note(weight, applied[i]!));
    return [
      check({ name: `rebalance ${date}: weights`, meaning: 'Applied weights sum to what is invested.', left: invested, right: Math.min(1, invested) }),
      check({ name: `rebalance ${date}: uncapped weights`, meaning: 'Weights before capping sum to 1, or there are none.', left: sum(uncapped), right: isNone ? 0 : 1 }),
      check({ name: `rebalance ${date}: redistributed`, meaning: 'What was moved is what names lost to the cap.', left: moved, right: invested * redistributed }),
      ...(isHeld ? [check({ name: `rebalance ${date}: held`, meaning: 'What the index holds at the close is what was applied; the sides are of the name furthest from it.', ...held.sides() })] : []),
      ...(cap === null
        ? []
        : [
            check({ name: `rebalance ${date}: cap`, meaning: 'No weight exceeds the cap.', left: Math.max(largest, cap), right: cap }),
            check({ name: `rebalance ${date}: capped names`, meaning: 'Names held at the cap weigh as much as it, of what is invested; the sides are of the one furthest from it.', ...atCap.sides() }),
          ]),
    ];
  });
}
