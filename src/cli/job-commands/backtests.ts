import { DivisorError, type DivisorClient } from '#clients/typescript/divisor.js';
import { EXIT } from '../connection.js';
import type { JobCommand } from '../job-command.js';
import { listStartFindings } from '../taken-at-start.js';
import { formatTable } from '../terminal.js';
import {
  AS_KNOWN_FLAGS,
  readAsKnownOn,
  BENCHMARK_FLAG,
  JOB_FLAGS,
  readJobQuery,
  FAIL_ON_FLAGS,
  parseFailingCodes,
  computeFindingsStatus,
} from './fields.js';

/** Outcome of one index. */
interface BacktestOutcome {
  readonly index_id: string;
  readonly outcome: 'done' | 'current' | 'failed' | 'refused';
  /** Null if the index did not run. */
  readonly total_return: number | null;
  /** Reason of a failure or refusal; null otherwise. */
  readonly error: string | null;
  /** Findings of the run. Findings of its data are included if no refresh has reported them. */
  readonly findings: readonly { readonly code: string; readonly message: string }[];
}

export const backtests: JobCommand<readonly BacktestOutcome[]> = {
  summary: 'Backtest many stored indices, each as a separate job.',
  notes: 'The jobs continue in the service if the command is interrupted. Exit status 1: a job failed or was refused.',
  words: [{ name: 'INDICES', help: 'Ids of stored indices and strategies, separated by commas.', isList: true }],
  flags: {
    start: { type: 'string', value: 'DATE', help: 'First date. Default: the base date of each index.' },
    end: { type: 'string', value: 'DATE', help: 'Last date. Default: the last date of the data.' },
    capital: { type: 'number', value: 'MONEY', help: 'Initial capital. Default: 1,000,000.' },
    'cost-bps': { type: 'number', value: 'BPS', help: 'Cost per trade in basis points of notional.' },
    ...BENCHMARK_FLAG,
    ...AS_KNOWN_FLAGS,
    ...JOB_FLAGS,
    ...FAIL_ON_FLAGS,
    'if-stale': {
      type: 'boolean',
      help: 'Run only indices with a stale run. Omitted flags (dates, capital, costs, benchmark) have the values of each stored run.',
    },
  },
  examples: ['divisor backtests CORE-100,EVEN-100 --if-stale', 'divisor backtests CORE-100,EVEN-100 --csv'],
  async submit(client, [ids = ''], flags) {
    parseFailingCodes(flags);
    const { backtests: entries } = await client.call('startBacktests', {
      query: readJobQuery(flags),
      body: {
        ids: ids.split(','),
        start: flags.text('start'),
        end: flags.text('end'),
        initial_capital: flags.number('capital'),
        benchmark: flags.text('benchmark'),
        transaction_cost_bps: flags.number('cost-bps'),
        ...readAsKnownOn(flags),
        if_stale: flags.isSet('if-stale') ?? false,
      },
    });
    const result: BacktestOutcome[] = [];
    for (const { index_id, outcome, job, error } of entries) {
      const emptyOutcome = { index_id, total_return: null, error: null, findings: [] };
      if (job !== null) result.push(await awaitBacktest(client, index_id, job));
      else if (outcome === 'current') result.push({ ...emptyOutcome, outcome });
      else result.push({ ...emptyOutcome, outcome: 'refused', error: error && `${error.code}: ${error.message}` });
    }
    if (!result.some(({ outcome }) => outcome === 'done')) return { result };
    const findings = await listStartFindings(client);
    return { result: result.map((row) => ({ ...row, findings: [...row.findings, ...findings] })) };
  },
  show: (result) => formatTable([HEADER, ...listRows(result).map((row) => row.map((cell) => String(cell ?? '-')))]),
  lines: (result) => ({ event: 'row', records: result, rest: { rows: result.length } }),
  csv: (result) => ({ header: HEADER, rows: listRows(result) }),
  exitStatus: (result, flags) =>
    result.some(({ outcome }) => outcome === 'failed' || outcome === 'refused')
      ? EXIT.jobFailed
      : computeFindingsStatus(
          result.flatMap(({ findings }) => findings),
          flags,
        ),
};

const HEADER = ['index_id', 'outcome', 'total_return', 'error'];

const listRows = (result: readonly BacktestOutcome[]) =>
  result.map(({ index_id, outcome, total_return, error }) => [index_id, outcome, total_return, error]);

type Job = Parameters<DivisorClient['waitForJob']>[0] & {
  readonly result: {
    readonly metrics: { readonly total_return: number };
    readonly findings: BacktestOutcome['findings'];
  } | null;
};

async function awaitBacktest(client: DivisorClient, index_id: string, job: Job): Promise<BacktestOutcome> {
  try {
    const { metrics, findings } = await client.waitForJob(job);
    return { index_id, outcome: 'done', total_return: metrics.total_return, error: null, findings };
  } catch (failure) {
    // A failed job has no HTTP status. Any other failure would also affect the other indices.
    if (!(failure instanceof DivisorError) || failure.status !== null) throw failure;
    return { index_id, outcome: 'failed', total_return: null, error: failure.message, findings: [] };
  }
}
