import { useResource } from './resource.js';
import { service } from './service.js';

/** Returns the names of the exchanges by calendar code, sorted by code. */
export function useExchanges(): ReadonlyMap<string, string> {
  const calendars = useResource('calendars', (signal) => service.value.call('listCalendars', { signal }), {
    follows: false,
  });
  return new Map((calendars.data?.calendars ?? []).map(({ code, name }) => [code, name]));
}
