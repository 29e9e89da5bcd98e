import type { LevelsView } from '#contract/analytics/analytics.js';
import { computeDrawdown, computeReturns, rebase } from '#domain/analytics/returns.js';
import { type BlockName, VARIANT_BLOCKS } from '#domain/backtest/run-file/blocks.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { parseValidDay } from '#domain/base/time.js';
import { RETURN_VARIANTS, type ReturnVariant } from '#domain/market/market-data.js';
import { type Producer, yieldBatches } from './formats/batch.js';
import { createJsonObject, createSeriesMember, createTextMember, encodeDays, type JsonWriter } from './json/writer.js';
import { createSpan, findPublishedDivisor, readIndexSeries, roundValues } from './run-columns.js';

export const produceLevels: Producer<'levels'> = ({ columns, window }, offset) => {
  const days = columns.i32('days');
  const { from, to } = createSpan(days, window);
  const level = columns.f64('level');
  const readKnownLevels = (block: BlockName): Float64Array =>
    columns.has(block) ? readIndexSeries(columns, block, days) : new Float64Array(days.length).fill(Number.NaN);
  const readVariant = (name: ReturnVariant): Float64Array => readKnownLevels(VARIANT_BLOCKS[name].level);
  const selectRange = (values: Float64Array): Float64Array => values.subarray(from, to);
  const roundLevels = (values: Float64Array): Float64Array =>
    roundValues(columns, { of: 'level', days: days.subarray(from, to) }, selectRange(values));
  const indexLevel = readIndexSeries(columns, 'indexLevel', days);
  return yieldBatches<'levels'>(
    {
      count: to - from,
      columns: {
        date: days.subarray(from, to),
        level: roundLevels(level),
        index_level: roundLevels(rebase(indexLevel, 100)),
        price: roundLevels(readVariant('price')),
        total: roundLevels(readVariant('total')),
        net: roundLevels(readVariant('net')),
        dividend_points: selectRange(readKnownLevels('dividendPoints')),
        net_dividend_points: selectRange(readKnownLevels('netDividendPoints')),
        divisor: selectRange(readIndexSeries(columns, findPublishedDivisor(columns), days)),
        return: selectRange(prependMissing(computeReturns(level))),
        drawdown: selectRange(computeDrawdown(level)),
        costs: selectRange(columns.f64('costs')),
        index_points: roundLevels(indexLevel),
      },
    },
    offset,
  );
};

function prependMissing(returns: Float64Array): Float64Array {
  const paddedReturns = new Float64Array(returns.length + 1);
  paddedReturns[0] = Number.NaN;
  paddedReturns.set(returns, 1);
  return paddedReturns;
}

interface LevelsQuery {
  readonly variant: ReturnVariant | null;
  readonly start: string | null;
  readonly end: string | null;
}

/** Levels of the index of a stored run in points, restricted to a window. */
interface PublishedLevels {
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
export function createIndexLevels(columns: RunColumns, { variant, start, end }: LevelsQuery): PublishedLevels {
  const days = columns.i32('indexDays');
  const from = start === null ? 0 : findFirstAtLeast(days, parseValidDay(start));
  const to = Math.max(from, end === null ? days.length : findLastAtMost(days, parseValidDay(end)) + 1);
  const chosenVariant = variant ?? columns.header.variant;
  const { level, divisor } = findVariantBlocks(columns, chosenVariant);
  return {
    indexId: columns.header.run_id,
    variant: chosenVariant,
    days: days.subarray(from, to),
    levels: columns.f64(level, from, to),
    divisor: columns.f64(divisor, from, to),
  };
}

/** Returns the index levels, rounded to the decimals in the definition. */
export function roundLevels(columns: RunColumns, query: LevelsQuery): PublishedLevels {
  const { days, levels, ...others } = createIndexLevels(columns, query);
  return { ...others, days, levels: roundValues(columns, { of: 'level', days }, levels) };
}

/**
 * Returns the blocks of a return variant of the index.
 * @throws Refusal VARIANT_NOT_AVAILABLE if the run has no prices for the return variant
 */
export function findVariantBlocks(columns: RunColumns, variant: ReturnVariant): (typeof VARIANT_BLOCKS)[ReturnVariant] {
  const blocks = VARIANT_BLOCKS[variant];
  if (columns.has(blocks.level)) return blocks;
  const acceptedVariants = RETURN_VARIANTS.filter((returnVariant) => columns.has(VARIANT_BLOCKS[returnVariant].level));
  throw new Refusal(
    'VARIANT_NOT_AVAILABLE',
    `The run of ${columns.header.run_id} has no ${variant} return: its prices include dividends, and it has ${acceptedVariants.join(', ')}.`,
    { variant, accepted: acceptedVariants },
  );
}

const LEVELS = createJsonObject<LevelsView, PublishedLevels & { readonly dates: Uint8Array }>({
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
export function writeLevels(json: JsonWriter, levels: PublishedLevels): void {
  LEVELS.write(json, { ...levels, dates: encodeDays(levels.days) });
}
