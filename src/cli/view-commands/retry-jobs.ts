import { UsageError } from '../usage-error.js';
import { requireKind } from './job-kind-word.js';
import { createViewCommand } from './view-command.js';

/** Matches a date. It means midnight UTC at the start of the day. */
const DATE = /^\d{4}-\d{2}-\d{2}$/;

export const retryJobs = createViewCommand({
  summary: 'Queue failed jobs again, each with its stored input.',
  words: [],
  flags: {
    failed: { type: 'boolean', help: 'Select failed jobs (required).' },
    kind: { type: 'string', value: 'KINDS', help: 'Only jobs of these kinds, separated by commas.' },
    since: {
      type: 'string',
      value: 'TIME',
      help: 'Only jobs that failed at or after this time: a date, or a time with an offset. Default: no limit.',
    },
    limit: { type: 'number', value: 'N', help: 'Maximum number of jobs, the newest first. Default: 500.' },
  },
  examples: ['divisor jobs retry --failed --kind backtest,sweep --since 2024-06-28'],
  async ask(client, _words, flags) {
    if (!flags.isSet('failed')) throw new UsageError('divisor jobs retry requires --failed');
    const sinceTime = flags.text('since');
    const kinds = flags.text('kind')?.split(',');
    const body = {
      kinds: kinds && (await Promise.all(kinds.map((text) => requireKind('--kind', text)))),
      since: sinceTime !== undefined && DATE.test(sinceTime) ? `${sinceTime}T00:00:00Z` : sinceTime,
      limit: flags.number('limit'),
    };
    return client.call('retryJobs', { body });
  },
  records: ({ retried, refused }) => [
    ...retried.map((job_id) => ({ job_id, outcome: 'queued', message: null })),
    ...refused.map(({ job_id, code, message }) => ({ job_id, outcome: code, message })),
  ],
  notices: ({ is_complete: isComplete }) => (isComplete ? [] : ['More failed jobs match: run the command again.']),
});
