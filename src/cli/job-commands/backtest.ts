import type { BacktestRequest, BacktestRunResult, IndexDocumentBody } from '#clients/typescript/divisor.js';
import { jsonFile } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { table, whole } from '../terminal.js';
import { AS_KNOWN, asKnown, BENCHMARK, CALLBACK, figure } from './fields.js';

export const backtest: JobCommand<BacktestRunResult> = {
  summary: 'Backtest a stored index, or a document that is stored first.',
  words: [{ name: 'INDEX', help: 'Id of a stored index.' }],
  flags: {
    document: {
      type: 'string',
      value: 'FILE',
      help: 'Index document to store under the id first; - reads standard input.',
    },
    start: { type: 'string', value: 'DATE', help: 'First date; the base date otherwise.' },
    end: { type: 'string', value: 'DATE', help: 'Last date; the latest held otherwise.' },
    capital: { type: 'number', value: 'MONEY', help: 'Initial capital; 1,000,000 otherwise.' },
    'cost-bps': { type: 'number', value: 'BPS', help: 'Cost per trade in basis points of notional.' },
    ...BENCHMARK,
    ...AS_KNOWN,
    ...CALLBACK,
    'if-stale': {
      type: 'boolean',
      help: 'Run only when the stored run is not what a run would give now, on its terms where no flag says another; show its result otherwise.',
    },
  },
  examples: [
    'divisor backtest CORE-100 --cost-bps 5',
    'divisor backtest CORE-100 --document core.json --start 2015-01-02 --out run.json',
    'divisor backtest CORE-100 | jq \'select(.event == "result").result.metrics\'',
  ],
  async submit(client, [index_id = ''], flags) {
    const file = flags.text('document');
    if (file !== undefined)
      await client.call('putIndex', { params: { index_id }, body: await jsonFile<IndexDocumentBody>(file) });
    const body: BacktestRequest & { readonly if_stale: boolean } = {
      start: flags.text('start'),
      end: flags.text('end'),
      initial_capital: flags.number('capital'),
      transaction_cost_bps: flags.number('cost-bps'),
      benchmark: flags.text('benchmark'),
      ...asKnown(flags),
      if_stale: flags.isSet('if-stale') ?? false,
    };
    const query = { callback: flags.text('callback') };
    const answer = await client.call('startBacktest', { params: { index_id }, query, body });
    return 'job_id' in answer ? { job: answer } : { result: answer };
  },
  show: ({ metrics, total_costs }) =>
    table([
      ...Object.entries(metrics).map(([name, value]) => [name, figure(name, value)]),
      ['total_costs', whole(total_costs)],
    ]),
};
