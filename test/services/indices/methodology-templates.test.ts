import { expect, test } from 'vitest';
import { readMethodologies } from '#cli/methodology-files.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { createMethodologyTemplates } from '#services/indices/methodology-templates.js';

const refuseCall = (): never => {
  throw new Error('no store is served');
};

test('templates that were prepared step by step are those that a request checks at once', () => {
  let reads = 0;
  const some = readMethodologies().slice(0, 3);
  const input = {
    read: () => (reads++, some),
    calendars: openCalendars(),
    markets: { current: () => undefined, require: refuseCall },
    jobs: { query: refuseCall },
  };
  const templates = createMethodologyTemplates(input);
  expect([...templates.prepare()]).toHaveLength(some.length);
  const listed = templates.list();
  expect(reads).toBe(1);
  expect(listed.templates.map(({ id }) => id)).toEqual(some.map(({ id }) => id));
  expect(listed).toEqual(createMethodologyTemplates(input).list());
});
