import type { PublicKey, Publication } from '#clients/typescript/divisor.js';
import type { JobCommand } from '../job-command.js';
import { formatMembers } from '../job-commands/fields.js';
import { createViewCommand } from './view-command.js';

const INDEX = { name: 'INDEX', help: 'Id of an index.' };

export const publish: JobCommand<Publication> = {
  summary: 'Publish the closes of a stored run that are not yet published, or restate published closes that differ.',
  words: [INDEX],
  notes:
    'A run with differences from published closes is refused with RESTATEMENT, and incomplete closes are refused with PARTIAL_CLOSES. Nothing is appended.',
  flags: {
    'run-id': { type: 'string', value: 'RUN', help: 'Id of a stored run. Default: the newest run that is current.' },
    through: { type: 'string', value: 'DATE', help: 'Last date to publish. Default: the last date of the run.' },
    restate: { type: 'boolean', help: 'Publish closes with differences again. Requires --reason.' },
    reason: { type: 'string', value: 'TEXT', help: 'Reason, which the log records. A restatement requires a reason.' },
    'allow-partial': {
      type: 'boolean',
      help: 'Publish closes even if constituents have no bar. The log records this.',
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
  summary:
    'Print the public keys that sign the published log of an index. --out writes them for verify-published --key.',
  words: [INDEX],
  flags: {},
  examples: ['divisor publication keys CORE-100', 'divisor publication keys CORE-100 --out keys.json'],
  ask: (client, [index_id = '']) => client.call('getPublishedKeys', { params: { index_id } }),
  records: ({ keys }) => keys,
});

export const rotateKey: JobCommand<PublicKey> = {
  summary: 'Replace the signing key. Signatures of earlier keys stay valid.',
  words: [],
  flags: {},
  examples: ['divisor publication rotate'],
  submit: async (client) => ({ result: await client.call('rotateSigningKey', {}) }),
  show: (key) => formatMembers(key, ['key_id']),
};
