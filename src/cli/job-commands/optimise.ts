import type { ConstraintSetBody, OptimisationRunRequest, OptimisationRunResult } from '#clients/typescript/divisor.js';
import { readJsonFile } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { JOB_FLAGS, readJobQuery, formatMembers } from './fields.js';

export const optimise: JobCommand<OptimisationRunResult> = {
  summary: 'Optimise the weights of an index under a stored constraint set.',
  words: [
    { name: 'INDEX', help: 'Id of the target index.' },
    { name: 'CONSTRAINT_SET', help: 'Id of a stored constraint set.' },
  ],
  flags: {
    ...JOB_FLAGS,
    constraints: {
      type: 'string',
      value: 'FILE',
      help: 'Constraint set document that is first stored under the id; - reads standard input.',
    },
    objective: {
      type: 'string',
      value: 'TYPE',
      help: 'Objective of the weights. Default: minimum tracking error.',
    },
    request: {
      type: 'string',
      value: 'FILE',
      help: 'Further fields of the request as JSON (objective with parameters, expected_returns, costs); - reads standard input.',
    },
    'as-of': {
      type: 'string',
      value: 'DATE',
      help: 'Rebalance whose weights are the target. Default: the latest rebalance.',
    },
    start: { type: 'string', value: 'DATE', help: 'Start of the risk window.' },
    end: { type: 'string', value: 'DATE', help: 'End of the risk window.' },
  },
  examples: [
    'divisor optimise CORE-100 limits',
    'divisor optimise CORE-100 limits --constraints limits.json --out weights.json',
    'divisor optimise CORE-100 limits --objective min_variance',
  ],
  async submit(client, [index = '', set = ''], flags) {
    const file = flags.text('constraints');
    if (file !== undefined)
      await client.call('putConstraintSet', {
        params: { constraint_set_id: set },
        body: await readJsonFile<ConstraintSetBody>(file),
      });
    const request = flags.text('request');
    const objective = flags.text('objective');
    const body = {
      ...(request === undefined ? {} : await readJsonFile<Partial<OptimisationRunRequest>>(request)),
      ...(objective === undefined ? {} : { objective: objective as NonNullable<OptimisationRunRequest['objective']> }), // The service validates it.
      index_id: index,
      constraint_set_id: set,
      as_of: flags.text('as-of'),
      start: flags.text('start'),
      end: flags.text('end'),
    };
    return { job: await client.call('startOptimisation', { query: readJobQuery(flags), body }) };
  },
  show: (run) =>
    formatMembers(run, [
      'run_id',
      'converged',
      'heuristic',
      'holdings',
      'iterations',
      'objective_type',
      'objective_value',
      'volatility',
      'tracking_error',
      'turnover',
      'solver_message',
    ]),
};
