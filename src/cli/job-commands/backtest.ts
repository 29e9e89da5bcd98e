import type { BacktestRequest, BacktestRunResult, IndexDocumentBody } from '#clients/typescript/divisor.js';
import { readJsonFile } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { formatTable, formatWhole } from '../terminal.js';
import { AS_KNOWN_FLAGS, readAsKnownOn, BENCHMARK_FLAG, JOB_FLAGS, readJobQuery, formatFigure } from './fields.js';

export const backtest: JobCommand<BacktestRunResult> = {
  summary: 'Backtest a stored index, or a document that is stored first.',
  words: [{ name: 'INDEX', help: 'Id of a stored index.' }],
  flags: {
    document: {
      type: 'string',
      value: 'FILE',
      help: 'Index document that is first stored under the id; - reads standard input.',
    },
    start: { type: 'string', value: 'DATE', help: 'First date. Default: the base date.' },
    end: { type: 'string', value: 'DATE', help: 'Last date. Default: the last date of the data.' },
    capital: { type: 'number', value: 'MONEY', help: 'Initial capital. Default: 1,000,000.' },
    'cost-bps': { type: 'number', value: 'BPS', help: 'Cost per trade in basis points of notional.' },
    ...BENCHMARK_FLAG,
    ...AS_KNOWN_FLAGS,
    ...JOB_FLAGS,
    'if-stale': {
      type: 'boolean',
      help: 'Run only if the stored run is stale; otherwise show the stored result. Omitted flags have the values of the stored run.',
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
      await client.call('putIndex', { params: { index_id }, body: await readJsonFile<IndexDocumentBody>(file) });
    const body: BacktestRequest & { readonly if_stale: boolean } = {
      start: flags.text('start'),
      end: flags.text('end'),
      initial_capital: flags.number('capital'),
      transaction_cost_bps: flags.number('cost-bps'),
      benchmark: flags.text('benchmark'),
      ...readAsKnownOn(flags),
      if_stale: flags.isSet('if-stale') ?? false,
    };
    const query = readJobQuery(flags);
    const answer = await client.call('startBacktest', { params: { index_id }, query, body });
    return 'job_id' in answer ? { job: answer } : { result: answer };
  },
  show: ({ metrics, total_costs }) =>
    formatTable([
      ...Object.entries(metrics).map(([name, value]) => [name, formatFigure(name, value)]),
      ['total_costs', formatWhole(total_costs)],
    ]),
};
