import { roundValues } from '../../rounded.js';
import { computeDrawdown, rebase, computeReturns } from '#domain/analytics/series.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { VARIANT_BLOCKS } from '#domain/backtest/run-file/schema.js';
import type { ReturnVariant } from '#domain/market/market-data.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { yieldBatches, type Producer } from '../batch.js';
import { createSpan } from '../span.js';

export const produceLevels: Producer<'levels'> = ({ columns, window }, offset) => {
  const days = columns.i32('days');
  const { from, to } = createSpan(days, window);
  const level = columns.f64('level');
  const firstPosition = findLastAtMost(columns.i32('indexDays'), days[0]!);
  const readIndexBlock = (block: Parameters<RunColumns['f64']>[0]): Float64Array =>
    columns.f64(block, firstPosition, firstPosition + days.length);
  const readKnownLevels = (block: Parameters<RunColumns['f64']>[0]): Float64Array =>
    columns.has(block) ? readIndexBlock(block) : new Float64Array(days.length).fill(Number.NaN);
  const readVariant = (name: ReturnVariant): Float64Array => readKnownLevels(VARIANT_BLOCKS[name].level);
  const selectRange = (values: Float64Array): Float64Array => values.subarray(from, to);
  const roundLevels = (values: Float64Array): Float64Array =>
    roundValues(columns, { of: 'level', days: days.subarray(from, to) }, selectRange(values));
  const indexLevel = readIndexBlock('indexLevel');
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
        divisor: selectRange(readIndexBlock(VARIANT_BLOCKS[columns.header.variant].divisor)),
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
