import { EFFECT_WIDTH } from '#domain/backtest/run-file/effects.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { SessionEffect } from '#domain/market/growth.js';

/** What happened to a name of a run on one of its dates. */
export interface RunEffect {
  /** Positions in the names and in the dates of the run. */
  readonly name: number;
  readonly at: number;
  readonly effect: SessionEffect;
}

/** The effects of a stored run, in the order they are stored. */
export function runEffects(columns: RunColumns): RunEffect[] {
  const rows = columns.f64('effects');
  const effects: RunEffect[] = [];
  for (let row = 0; row < rows.length; row += EFFECT_WIDTH) {
    effects.push({
      name: rows[row]!,
      at: rows[row + 1]!,
      effect: { ratio: rows[row + 2]!, cash: rows[row + 3]!, rights: rows[row + 4]!, subscription: rows[row + 5]! },
    });
  }
  return effects;
}
