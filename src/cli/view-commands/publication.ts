import type { PublicKey, Publication } from '#clients/typescript/divisor.js';
import type { JobCommand } from '../job-command.js';
import { formatMembers } from '../job-commands/fields.js';
import { createViewCommand } from './view-command.js';

const INDEX = { name: 'INDEX', help: 'Id of an index.' };

export const publish: JobCommand<Publication> = {
  summary: 'Publish the closes of a stored run that are not published yet, or restate those that differ.',
  words: [INDEX],
  notes:
    'A run that contradicts published closes is refused with RESTATEMENT, and incomplete closes with PARTIAL_CLOSES. Nothing is appended.',
  flags: {
    'run-id': { type: 'string', value: 'RUN', help: 'A kept run. Default: the newest current one.' },
    through: { type: 'string', value: 'DATE', help: 'Last date to publish. Default: that of the run.' },
    restate: { type: 'boolean', help: 'Publish closes that differ again, with --reason.' },
    reason: { type: 'string', value: 'TEXT', help: 'Reason for the log; a restatement requires one.' },
    'allow-partial': {
      type: 'boolean',
      help: 'Publish closes even if constituents have no bar; the log records it.',
    },
  },
  examples: [
    'divisor publish CORE-100 --through 2024-06-28',
    'divisor publish CORE-100 --restate --reason "Late dividend of 2024-06-14"',
  ],
  async submit(client, [index_id = ''], flags) {
    const body = {
      run_id: flags.text('run-id'),
      through: flags.text('through'),
      restate: flags.isSet('restate'),
      reason: flags.text('reason'),
      allow_partial: flags.isSet('allow-partial'),
    };
    return { result: await client.call('publishIndex', { params: { index_id }, body }) };
  },
  show: ({ stale, ...result }) =>
    formatMembers({ ...result, stale: stale?.reasons.join(' ') ?? null }, [
      'published',
      'restated',
      'through',
      'head',
      'run_id',
      'stale',
    ]),
};

export const publishedKeys = createViewCommand({
  summary: 'The public keys that sign the published log of an index; --out writes them for verify-published --key.',
  words: [INDEX],
  flags: {},
  examples: ['divisor publication keys CORE-100', 'divisor publication keys CORE-100 --out keys.json'],
  ask: (client, [index_id = '']) => client.call('getPublishedKeys', { params: { index_id } }),
  records: ({ keys }) => keys,
});

export const rotateKey: JobCommand<PublicKey> = {
  summary: 'Replace the signing key; signatures of earlier keys stay valid.',
  words: [],
  flags: {},
  examples: ['divisor publication rotate'],
  submit: async (client) => ({ result: await client.call('rotateSigningKey', {}) }),
  show: (key) => formatMembers(key, ['key_id']),
};
