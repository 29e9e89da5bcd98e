import type { ClosuresBody } from '#clients/typescript/divisor.js';
import { readJsonFile } from '../command-line.js';
import { NOTE } from './documents.js';
import { createViewCommand } from './view-command.js';

export const closures = createViewCommand({
  summary: 'List calendars with recorded changes of their sessions.',
  words: [],
  flags: {},
  examples: ['divisor closure list'],
  ask: (client) => client.call('listClosures', {}),
  records: ({ calendars }) =>
    calendars.map((calendarClosures) => ({ ...calendarClosures, changes: calendarClosures.changes.length })),
  columns: ['calendar', 'name', 'version', 'changes', 'updated_at'],
});

export const showClosures = createViewCommand({
  summary: 'Show the recorded changes of a calendar: closures, half days, late openings, additional sessions.',
  words: [{ name: 'CODE', help: 'Code of the calendar.' }],
  flags: {},
  examples: ['divisor closure show XNYS'],
  ask: (client, [calendar_code = '']) => client.call('getClosures', { params: { calendar_code } }),
  records: ({ changes }) => changes,
  columns: ['date', 'session', 'opens', 'closes', 'reason'],
});

export const recordClosures = createViewCommand({
  summary: 'Record the changes of a calendar, and show their effect. They replace all changes recorded before.',
  words: [
    { name: 'CODE', help: 'Code of the calendar.' },
    { name: 'FILE', help: 'Changes as JSON; - reads standard input.' },
  ],
  flags: {
    ...NOTE,
    'dry-run': { type: 'boolean', help: 'Only show the effect of the changes.' },
  },
  examples: [
    'divisor closure put XNYS changes.json --dry-run',
    'divisor closure put XNYS changes.json --note "Notice of the exchange"',
  ],
  async ask(client, [calendar_code = '', file = ''], flags) {
    const document = await readJsonFile<ClosuresBody>(file);
    const body = { ...document, dry_run: flags.isSet('dry-run') ?? false };
    return client.call('putClosures', { params: { calendar_code }, body, note: flags.text('note') });
  },
  records: ({ effect }) =>
    effect.indices.map(({ index_id, before, after, published, unpublished, stale }) => ({
      index_id,
      moved: before.map(({ date }) => date).join(' '),
      to: after.map(({ date }) => date).join(' '),
      published: published.join(' '),
      unpublished: unpublished.join(' '),
      stale: stale.join(' '),
    })),
  columns: ['index_id', 'moved', 'to', 'published', 'unpublished', 'stale'],
  notices: ({ dry_run: isDry, version, effect }) => [
    isDry ? 'Nothing was stored.' : `Stored as version ${version}.`,
    ...formatDates('Sessions lost', effect.removed),
    ...formatDates('Sessions added', effect.added),
    ...formatDates('Other hours', effect.hours),
    ...effect.schedules.flatMap(({ schedule_id: id, ended, missing }) => [
      ...formatDates(`Days of ${id} that end`, ended),
      ...formatDates(`Days of ${id} to backfill`, missing),
    ]),
  ],
});

const formatDates = (label: string, dates: readonly string[]): string[] =>
  dates.length === 0 ? [] : [`${label}: ${dates.join(', ')}.`];
