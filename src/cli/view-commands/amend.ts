import type { IndexDocumentBody, SavedIndex } from '#clients/typescript/divisor.js';
import { readJsonFile } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { UsageError } from '../usage-error.js';
import { NOTE } from './documents.js';
import { formatSavedText } from './indices.js';

/** Appends an amendment to a stored definition. Fails if the definition was changed since it was read. */
export const amend: JobCommand<SavedIndex> = {
  summary: 'Change the methodology of an index from a date. The earlier history does not change.',
  words: [
    { name: 'INDEX', help: 'Id of a stored index.' },
    { name: 'FILE', help: 'Changed members as a JSON merge patch of the definition; - reads standard input.' },
  ],
  flags: {
    from: {
      type: 'string',
      value: 'DATE',
      help: 'Date of the change (required). It applies from the first review on or after this date.',
    },
    announced: { type: 'string', value: 'DATE', help: 'Date on which clients were informed.' },
    reason: {
      type: 'string',
      value: 'TEXT',
      help: 'Reason, for the methodology. It is also the note if --note is omitted.',
    },
    rebalance: { type: 'boolean', help: 'Rebalance on the first session on or after the date.' },
    ...NOTE,
  },
  examples: [
    'divisor index amend CORE-100 changes.json --from 2026-03-20 --announced 2026-02-16 --reason "Cap lowered to 5%"',
  ],
  async submit(client, [index_id = '', file = ''], flags) {
    const effectiveFrom = flags.text('from');
    if (effectiveFrom === undefined) throw new UsageError('divisor index amend requires --from');
    const reason = flags.text('reason');
    const announcementDate = flags.text('announced');
    const amendment = {
      effective_from: effectiveFrom,
      ...(announcementDate !== undefined && { announced: announcementDate }),
      ...(reason !== undefined && { reason }),
      ...(flags.isSet('rebalance') === true && { rebalance: true }),
      changes: await readJsonFile<Record<string, unknown>>(file),
    };
    const { answer, etag } = await client.callWithEtag('getIndex', { params: { index_id } });
    const { amendments = [], ...definition } = answer;
    const body = {
      ...definition,
      amendments: [...amendments, amendment].toSorted((a, b) => (a.effective_from < b.effective_from ? -1 : 1)),
    } as IndexDocumentBody; // The service validates the changes.
    const note = flags.text('note') ?? reason;
    const request = { params: { index_id }, body, note, ifMatch: etag ?? undefined };
    return { result: await client.call('putIndex', request) };
  },
  show: formatSavedText,
};
