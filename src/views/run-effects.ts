import { EFFECT_WIDTH } from '#domain/backtest/run-file/effects.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { SHORT_CASH_WIDTH } from '#domain/backtest/run-file/short-cash.js';
import { DETACHMENT_WIDTH, DISTRIBUTION_WIDTH } from '#domain/backtest/run-file/distributions.js';
import { NO_EFFECT, type SessionEffect } from '#domain/index-mathematics/session-effect.js';

/** Effect of an event on a security of a run. */
export interface RunEffect {
  /** Position of the security in the run. The next field is the position of the date. */
  readonly name: number;
  readonly at: number;
  readonly effect: SessionEffect;
  /**
   * Effect on a short position. A short position pays gross dividends. Equals `effect` if no tax is withheld or if no
   * short position was held.
   */
  readonly onShort: SessionEffect;
}

/**
 * Returns the effects of a stored run in the stored order. Effects that are stored only as distributions, or only as
 * payments of short positions, come last.
 */
export function listRunEffects(columns: RunColumns): RunEffect[] {
  const shortCashByKey = readShortCash(columns);
  const distributionByKey = listDistributions(columns);
  const detachedByKey = readDetachments(columns);
  const storedEffects = readStoredEffects(columns).map(({ name, at, effect }): RunEffect => {
    const key = computeKey(columns, { name, at });
    const { special, income, onShort } = distributionByKey.get(key) ?? NOTHING_PAID;
    const detached = detachedByKey.get(key)?.detached ?? 0;
    const cash = shortCashByKey.get(key)?.cash;
    for (const paid of [shortCashByKey, distributionByKey, detachedByKey]) paid.delete(key);
    const securityEffect = { ...effect, special, income, detached };
    const hasOwnEffect = cash !== undefined || onShort !== income;
    return {
      name,
      at,
      effect: securityEffect,
      onShort: hasOwnEffect ? { ...securityEffect, cash: cash ?? effect.cash, income: onShort } : securityEffect,
    };
  });
  const otherRunEffects = Array.from(
    distributionByKey.values(),
    ({ name, at, special, income, onShort }): RunEffect => {
      const key = computeKey(columns, { name, at });
      const effect = { ...NO_EFFECT, special, income, detached: detachedByKey.get(key)?.detached ?? 0 };
      detachedByKey.delete(key);
      return { name, at, effect, onShort: onShort === income ? effect : { ...effect, income: onShort } };
    },
  );
  const shortEffects = Array.from(shortCashByKey.values(), ({ name, at, cash }) => ({
    name,
    at,
    effect: NO_EFFECT,
    onShort: { ...NO_EFFECT, cash },
  }));
  const detachedEffects = Array.from(detachedByKey.values(), ({ name, at, detached }): RunEffect => {
    const effect = { ...NO_EFFECT, detached };
    return { name, at, effect, onShort: effect };
  });
  return [...storedEffects, ...otherRunEffects, ...shortEffects, ...detachedEffects];
}

function readStoredEffects(columns: RunColumns): Omit<RunEffect, 'onShort'>[] {
  const rows = columns.f64('effects');
  return Array.from({ length: rows.length / EFFECT_WIDTH }, (_, i) => {
    const [name, at, ratio, cash, rights, subscription] = rows.subarray(i * EFFECT_WIDTH, (i + 1) * EFFECT_WIDTH);
    return {
      name: name!,
      at: at!,
      effect: { ...NO_EFFECT, ratio: ratio!, cash: cash!, rights: rights!, subscription: subscription! },
    };
  });
}

interface Distribution extends Pick<RunEffect, 'name' | 'at'> {
  readonly special: number;
  readonly income: number;
  readonly onShort: number;
}

const NOTHING_PAID: Pick<Distribution, 'special' | 'income' | 'onShort'> = { special: 0, income: 0, onShort: 0 };

/** Returns the distributions that are not reinvested in the paying security. */
function listDistributions(columns: RunColumns): Map<number, Distribution> {
  const distributionByKey = new Map<number, Distribution>();
  if (!columns.has('distributions')) return distributionByKey;
  const rows = columns.f64('distributions');
  for (let row = 0; row < rows.length; row += DISTRIBUTION_WIDTH) {
    const [name, at, special, income, onShort] = rows.subarray(row, row + DISTRIBUTION_WIDTH);
    const result = { name: name!, at: at!, special: special!, income: income!, onShort: onShort! };
    distributionByKey.set(computeKey(columns, result), result);
  }
  return distributionByKey;
}

function readDetachments(
  columns: RunColumns,
): Map<number, Pick<RunEffect, 'name' | 'at'> & { readonly detached: number }> {
  const rows = columns.has('detachments') ? columns.f64('detachments') : new Float64Array(0);
  return new Map(
    Array.from({ length: rows.length / DETACHMENT_WIDTH }, (_, row) => {
      const [name, at, detached] = rows.subarray(row * DETACHMENT_WIDTH, (row + 1) * DETACHMENT_WIDTH);
      return [computeKey(columns, { name: name!, at: at! }), { name: name!, at: at!, detached: detached! }];
    }),
  );
}

interface ShortCash extends Pick<RunEffect, 'name' | 'at'> {
  readonly cash: number;
}

function readShortCash(columns: RunColumns): Map<number, ShortCash> {
  const shortCashByKey = new Map<number, ShortCash>();
  if (!columns.has('shortCash')) return shortCashByKey;
  const rows = columns.f64('shortCash');
  for (let row = 0; row < rows.length; row += SHORT_CASH_WIDTH) {
    const result = { name: rows[row]!, at: rows[row + 1]!, cash: rows[row + 2]! };
    shortCashByKey.set(computeKey(columns, result), result);
  }
  return shortCashByKey;
}

function computeKey({ header }: RunColumns, { name, at }: Pick<RunEffect, 'name' | 'at'>): number {
  return at * header.names.length + name;
}
