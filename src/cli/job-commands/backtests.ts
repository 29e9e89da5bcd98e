import { DivisorError, type DivisorClient } from '#clients/typescript/divisor.js';
import { EXIT } from '../connection.js';
import type { JobCommand } from '../job-command.js';
import { takenAtStart } from '../taken-at-start.js';
import { table } from '../terminal.js';
import { AS_KNOWN, asKnown, BENCHMARK, CALLBACK, FAIL_ON, failingCodes, statusOfFindings } from './fields.js';

/** What became of one index. */
interface Backtested {
  readonly index_id: string;
  readonly outcome: 'done' | 'current' | 'failed' | 'refused';
  /** Null unless it ran. */
  readonly total_return: number | null;
  /** Why it failed or was refused; null otherwise. */
  readonly error: string | null;
  /** Findings of the run, where it ran, and of its data that no refresh has told. */
  readonly findings: readonly { readonly code: string; readonly message: string }[];
}

export const backtests: JobCommand<readonly Backtested[]> = {
  summary: 'Backtest many stored indices, each as a separate job.',
  notes: 'Interrupted, it leaves the jobs to the service. It ends with 1 when one of them failed or was refused.',
  words: [{ name: 'INDICES', help: 'Ids of stored indices and strategies with commas between them.', isList: true }],
  flags: {
    start: { type: 'string', value: 'DATE', help: 'First date; the base date of each otherwise.' },
    end: { type: 'string', value: 'DATE', help: 'Last date; the latest held otherwise.' },
    capital: { type: 'number', value: 'MONEY', help: 'Initial capital; 1,000,000 otherwise.' },
    'cost-bps': { type: 'number', value: 'BPS', help: 'Cost per trade in basis points of notional.' },
    ...BENCHMARK,
    ...AS_KNOWN,
    ...CALLBACK,
    ...FAIL_ON,
    'if-stale': {
      type: 'boolean',
      help: 'Run only those whose stored run is not what a run would give now, on the terms of that run (dates, capital, costs, benchmark) where no flag says another.',
    },
  },
  examples: ['divisor backtests CORE-100,EVEN-100 --if-stale', 'divisor backtests CORE-100,EVEN-100 --csv'],
  async submit(client, [ids = ''], flags) {
    failingCodes(flags);
    const { backtests: entries } = await client.call('startBacktests', {
      query: { callback: flags.text('callback') },
      body: {
        ids: ids.split(','),
        start: flags.text('start'),
        end: flags.text('end'),
        initial_capital: flags.number('capital'),
        benchmark: flags.text('benchmark'),
        transaction_cost_bps: flags.number('cost-bps'),
        ...asKnown(flags),
        if_stale: flags.isSet('if-stale') ?? false,
      },
    });
    const result: Backtested[] = [];
    for (const { index_id, outcome, job, error } of entries) {
      const nothing = { index_id, total_return: null, error: null, findings: [] };
      if (job !== null) result.push(await finished(client, index_id, job));
      else if (outcome === 'current') result.push({ ...nothing, outcome });
      else result.push({ ...nothing, outcome: 'refused', error: error && `${error.code}: ${error.message}` });
    }
    if (!result.some(({ outcome }) => outcome === 'done')) return { result };
    const taken = await takenAtStart(client);
    return { result: result.map((row) => ({ ...row, findings: [...row.findings, ...taken] })) };
  },
  show: (result) => table([HEADER, ...rowsOf(result).map((row) => row.map((cell) => String(cell ?? '-')))]),
  lines: (result) => ({ event: 'row', records: result, rest: { rows: result.length } }),
  csv: (result) => ({ header: HEADER, rows: rowsOf(result) }),
  exitStatus: (result, flags) =>
    result.some(({ outcome }) => outcome === 'failed' || outcome === 'refused')
      ? EXIT.jobFailed
      : statusOfFindings(
          result.flatMap(({ findings }) => findings),
          flags,
        ),
};

const HEADER = ['index_id', 'outcome', 'total_return', 'error'];

const rowsOf = (result: readonly Backtested[]) =>
  result.map(({ index_id, outcome, total_return, error }) => [index_id, outcome, total_return, error]);

type Job = Parameters<DivisorClient['waitForJob']>[0] & {
  readonly result: {
    readonly metrics: { readonly total_return: number };
    readonly findings: Backtested['findings'];
  } | null;
};

async function finished(client: DivisorClient, index_id: string, job: Job): Promise<Backtested> {
  try {
    const { metrics, findings } = await client.waitForJob(job);
    return { index_id, outcome: 'done', total_return: metrics.total_return, error: null, findings };
  } catch (failure) {
    // A job that failed has no status of HTTP; anything else is not about this index alone.
    if (!(failure instanceof DivisorError) || failure.status !== null) throw failure;
    return { index_id, outcome: 'failed', total_return: null, error: failure.message, findings: [] };
  }
}
