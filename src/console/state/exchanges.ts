import { useResource } from './resource.js';
import { service } from './service.js';

/** Returns the calendars, sorted by code. Returns none until they are loaded. */
export function useCalendars() {
  const calendars = useResource('calendars', (signal) => service.value.call('listCalendars', { signal }), {
    follows: false,
  });
  return calendars.data?.calendars ?? [];
}

/** Returns the names of the exchanges by calendar code, sorted by code. */
export const useExchanges = (): ReadonlyMap<string, string> =>
  new Map(useCalendars().map(({ code, name }) => [code, name]));
