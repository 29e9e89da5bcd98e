import { useResource } from './resource.js';
import { service } from './service.js';

/** Names of exchanges by the code of their calendar, in the order of the codes. */
export function useExchanges(): ReadonlyMap<string, string> {
  const calendars = useResource('calendars', (signal) => service.value.call('listCalendars', { signal }), {
    follows: false,
  });
  return new Map((calendars.data?.calendars ?? []).map(({ code, name }) => [code, name]));
}
