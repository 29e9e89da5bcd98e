import type { AccountBacktestRequest, AccountBacktestView } from '#clients/typescript/divisor.js';
import { readJsonFile } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { formatPercent, alignRight, formatTable } from '../terminal.js';

const HEADER = ['date', 'value', 'cash', 'accrued_tax'] as const;

export const account: JobCommand<AccountBacktestView> = {
  summary: 'Run one account with tax lots over the history of an index, after tax.',
  words: [
    { name: 'INDEX', help: 'Index that the account follows.' },
    { name: 'FILE', help: 'Request as JSON: account, risk_model, start and so on.' },
  ],
  flags: {
    id: { type: 'string', value: 'ID', help: 'Id of the backtest. Default: the id in the file, or a generated id.' },
  },
  examples: ['divisor account CORE-40 account.json', 'divisor account CORE-40 account.json --csv > sessions.csv'],
  async submit(client, [index_id = '', file = ''], flags) {
    const request = await readJsonFile<AccountBacktestRequest>(file);
    const id = flags.text('id');
    const body = { ...request, ...(id !== undefined && { backtest_id: id }) };
    return { job: await client.call('backtestAccount', { params: { index_id }, body }) };
  },
  show: (view) =>
    formatTable([
      ['sessions', alignRight(String(view.sessions.length))],
      ['rebalances', alignRight(String(view.rebalances.length))],
      ['annual return after tax', alignRight(formatPercent(view.annual_return_after_tax))],
      ['final value after tax', alignRight(view.final_value_after_tax.toFixed(2))],
      ['tax paid', alignRight(view.tax_paid.toFixed(2))],
      ['costs', alignRight(view.costs.toFixed(2))],
      ['largest gap', alignRight(view.largest_gap === null ? '-' : view.largest_gap.toExponential(1))],
    ]),
  csv: ({ sessions }) => ({
    header: HEADER,
    rows: sessions.map((session) => HEADER.map((name) => session[name])),
  }),
};
