import { expect, test } from 'vitest';
import { createLiveCalendars } from '#domain/calendars/exchange-calendars.js';
import { parseValidDay } from '#domain/base/time.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { followClosures } from '#services/indices/calendars.js';
import type { DocumentStore } from '#store/port.js';

const createClosure = (date: string) => [{ id: 'XNYS', changes: [{ date, session: 'closed', reason: 'Storm' }] }];

test('of two concurrently read changes the newer one is applied, however long the first read takes', async () => {
  let endFirst = (): void => {};
  const first = new Promise<void>((resolve) => (endFirst = resolve));
  const heardCalendars: string[] = [];
  let announce: (event: { calendar: string }) => void = () => {};
  let reads = 0;
  const documents = {
    async list() {
      if (reads++ > 0) return { documents: createClosure('2024-03-06') };
      await first;
      return { documents: createClosure('2024-03-05') };
    },
    lastNumber: async () => 1,
    get: async () => undefined,
    subscribe(_type: string, listener: typeof announce) {
      announce = listener;
    },
  } as unknown as DocumentStore; // only the members that are used
  const calendars = followClosures(documents, createLiveCalendars(openCalendars()), () =>
    heardCalendars.push('failed'),
  );
  const stop = calendars.onFollowed((code) => heardCalendars.push(code));
  announce({ calendar: 'XNYS' });
  const second = calendars.follow();
  endFirst();
  await second;
  expect(heardCalendars).toEqual(['XNYS']);
  const isSession = (date: string) => calendars.get('XNYS')!.isSession(parseValidDay(date));
  expect([isSession('2024-03-05'), isSession('2024-03-06')]).toEqual([true, false]);
  stop();
  announce({ calendar: 'XNYS' });
  await calendars.follow();
  expect(heardCalendars).toEqual(['XNYS']);
});
