import type { LevelsView } from '#contract/analytics/levels.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { VARIANT_BLOCKS } from '#domain/backtest/run-file/schema.js';
import { parseValidDay } from '#domain/time/days.js';
import { RETURN_VARIANTS, type ReturnVariant } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/numbers/search.js';
import { createJsonObject, createSeriesMember, createTextMember } from './json-object.js';
import type { JsonWriter } from './json-writer.js';
import { roundValues } from './rounded.js';
import { encodeDays } from './series-json.js';

export interface LevelsQuery {
  readonly variant: ReturnVariant | null;
  readonly start: string | null;
  readonly end: string | null;
}

/** Levels of the index of a stored run in points, restricted to a window. */
export interface IndexLevels {
  readonly indexId: string;
  readonly variant: ReturnVariant;
  readonly days: Int32Array;
  readonly levels: Float64Array;
  readonly divisor: Float64Array;
}

/**
 * Returns the levels of the index of a run.
 * @throws Refusal VARIANT_NOT_AVAILABLE if the run has no prices for the return variant
 */
export function createIndexLevels(columns: RunColumns, { variant, start, end }: LevelsQuery): IndexLevels {
  const days = columns.i32('indexDays');
  const from = start === null ? 0 : findFirstAtLeast(days, parseValidDay(start));
  const to = Math.max(from, end === null ? days.length : findLastAtMost(days, parseValidDay(end)) + 1);
  const chosenVariant = variant ?? columns.header.variant;
  const { level, divisor } = VARIANT_BLOCKS[chosenVariant];
  if (!columns.has(level)) throw createNotAvailable(columns, chosenVariant);
  return {
    indexId: columns.header.run_id,
    variant: chosenVariant,
    days: days.subarray(from, to),
    levels: columns.f64(level, from, to),
    divisor: columns.f64(divisor, from, to),
  };
}

/** Returns the index levels, rounded to the decimals in the definition. */
export function roundLevels(columns: RunColumns, query: LevelsQuery): IndexLevels {
  const { days, levels, ...others } = createIndexLevels(columns, query);
  return { ...others, days, levels: roundValues(columns, { of: 'level', days }, levels) };
}

function createNotAvailable(columns: RunColumns, variant: ReturnVariant): Refusal {
  const acceptedVariants = RETURN_VARIANTS.filter((returnVariant) => columns.has(VARIANT_BLOCKS[returnVariant].level));
  return new Refusal(
    'VARIANT_NOT_AVAILABLE',
    `The run of ${columns.header.run_id} has no ${variant} return: its prices include dividends, and it has ${acceptedVariants.join(', ')}.`,
    { variant, accepted: acceptedVariants },
  );
}

const LEVELS = createJsonObject<LevelsView, IndexLevels & { readonly dates: Uint8Array }>({
  index_id: createTextMember(({ indexId }) => indexId),
  variant: createTextMember(({ variant }) => variant),
  levels: createSeriesMember('level', ({ levels, dates }) => ({ dates, values: levels })),
  divisor: createSeriesMember('divisor', ({ divisor, dates }) => ({ dates, values: divisor })),
});

/**
 * Writes a LevelsView as JSON.
 * @throws Refusal NUMERIC_FAILURE
 * @cost 20 ns per number
 */
export function writeLevels(json: JsonWriter, levels: IndexLevels): void {
  LEVELS.write(json, { ...levels, dates: encodeDays(levels.days) });
}
