import { EFFECT_WIDTH } from '#domain/backtest/run-file/effects.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { SHORT_CASH_WIDTH } from '#domain/backtest/run-file/short-cash.js';
import type { SessionEffect } from '#domain/market/session-effects.js';

/** An event of a name of a run on one of its dates. */
export interface RunEffect {
  /** Positions in the names and in the dates of the run. */
  readonly name: number;
  readonly at: number;
  readonly effect: SessionEffect;
  /** The same on a short position, which pays dividends whole; no other where nothing is withheld or none was held. */
  readonly onShort: SessionEffect;
}

/** The effects of a stored run, in the order they are stored; at last those of which only short positions knew. */
export function runEffects(columns: RunColumns): RunEffect[] {
  const rows = columns.f64('effects');
  const whole = shortCash(columns);
  const effects: RunEffect[] = [];
  for (let row = 0; row < rows.length; row += EFFECT_WIDTH) {
    const name = rows[row]!;
    const at = rows[row + 1]!;
    const effect = {
      ratio: rows[row + 2]!,
      cash: rows[row + 3]!,
      rights: rows[row + 4]!,
      subscription: rows[row + 5]!,
    };
    const key = keyOf(columns, { name, at });
    const paid = whole.get(key);
    effects.push({ name, at, effect, onShort: paid ? { ...effect, cash: paid.cash } : effect });
    whole.delete(key);
  }
  const none = { ratio: 1, cash: 0, rights: 0, subscription: 0 };
  return [
    ...effects,
    ...Array.from(whole.values(), ({ name, at, cash }) => ({ name, at, effect: none, onShort: { ...none, cash } })),
  ];
}

interface ShortCash extends Pick<RunEffect, 'name' | 'at'> {
  readonly cash: number;
}

function shortCash(columns: RunColumns): Map<number, ShortCash> {
  const paid = new Map<number, ShortCash>();
  if (!columns.has('shortCash')) return paid;
  const rows = columns.f64('shortCash');
  for (let row = 0; row < rows.length; row += SHORT_CASH_WIDTH) {
    const found = { name: rows[row]!, at: rows[row + 1]!, cash: rows[row + 2]! };
    paid.set(keyOf(columns, found), found);
  }
  return paid;
}

function keyOf({ header }: RunColumns, { name, at }: Pick<RunEffect, 'name' | 'at'>): number {
  return at * header.names.length + name;
}
