import { raiseToPower } from '#kernels/power.js';
import { runAccount, type AccountBacktest } from '#domain/personal/run-account.js';
import { parseValidDay } from '#domain/time/days.js';
import type { Task } from '#jobs/tasks.js';
import type { AccountBacktestInput } from '#jobs/tasks/personal.js';
import { createQuestionComposer } from '../input/index-composer.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';
import { copyOutput, writeOutputs } from '../output/task-outputs.js';

/** Number of days per year in annual returns. */
const YEAR_DAYS = 365.25;

/** Runs one account over the history of an index: an AccountBacktestView as JSON. */
export const runAccountBacktest: Task<'account-backtest'> = async (input, control) => {
  const { documents, models, indexId, request } = input;
  const market = openCachedMarket(input.market);
  const lastDay = request.end === null ? (market.dates.at(-1) ?? 0) : parseValidDay(request.end);
  const accountBacktest = await runOnEngine((engine) =>
    runAccount({
      composer: createQuestionComposer(
        { market, documents, models, until: lastDay, engine },
        { report: () => control.report(0) },
      ),
      parent: indexId,
      request,
      report: (fraction) => control.report(fraction),
    }),
  );
  const view = copyOutput(JSON.stringify(createView(input, accountBacktest, market.contentHash)));
  return writeOutputs(input.outputs, { view });
};

function createView(
  { indexId, backtestId, request, engineVersion }: AccountBacktestInput,
  accountBacktest: AccountBacktest,
  hash: string,
) {
  const [first, last] = [accountBacktest.sessions[0]!, accountBacktest.sessions.at(-1)!];
  const sum = (kind: string): number =>
    accountBacktest.entries.reduce((total, entry) => (entry.kind === kind ? total + entry.amount : total), 0);
  const valueAfterTax = last.value - last.accrued_tax;
  const years = (parseValidDay(last.date) - parseValidDay(first.date)) / YEAR_DAYS;
  const startCosts = accountBacktest.entries.filter(({ kind, date }) => kind === 'cost' && date === first.date);
  const startValue = first.value - startCosts.reduce((total, { amount }) => total + amount, 0);
  return {
    backtest_id: backtestId,
    index_id: indexId,
    account_id: request.account.account_id,
    start: first.date,
    end: last.date,
    final_value: last.value,
    final_value_after_tax: valueAfterTax,
    annual_return_after_tax: years > 0 ? raiseToPower(Math.max(0, valueAfterTax) / startValue, 1 / years) - 1 : 0,
    tax_paid: 0 - sum('tax'),
    costs: 0 - sum('cost'),
    dividends: sum('dividend'),
    largest_gap:
      accountBacktest.rebalances.length === 0 ? null : Math.max(...accountBacktest.rebalances.map(({ gap }) => gap)),
    ...accountBacktest,
    store_content_hash: hash,
    engine_version: engineVersion,
  };
}
