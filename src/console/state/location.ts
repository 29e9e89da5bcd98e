import { computed, signal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { isObject, type Json, type JsonObject } from '../words/paths.js';

/** Address of the console. It contains all state that can be shared. */
export interface ConsoleLocation {
  readonly path: string;
  readonly query: URLSearchParams;
}

const read = (): ConsoleLocation => ({ path: location.pathname, query: new URLSearchParams(location.search) });

const currentLocation = signal(read());
export const consoleLocation = computed(() => currentLocation.value);

addEventListener('popstate', () => {
  currentLocation.value = read();
});

/** Opens an address of the console. If `replace` is true, it replaces the current entry of the history. */
export function navigate(address: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const pathBefore = currentLocation.value.path;
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  currentLocation.value = read();
  if (!replace && currentLocation.value.path !== pathBefore) scrollTo(0, 0);
}

/** Returns the address of a page with query parameters. Parameters that are null are left out. */
export function formatAddress(path: string, query: Readonly<Record<string, string | null>> = {}): string {
  const filledParameters = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== null);
  const text = new URLSearchParams(filledParameters).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Returns the address of the current page with changed parameters. */
export function addQuery(changes: Readonly<Record<string, string | null>>): string {
  const { path, query } = currentLocation.value;
  return formatAddress(path, { ...Object.fromEntries(query), ...changes });
}

/** Returns a query parameter of the current address; null if it is absent. */
export function getParameter(name: string): string | null {
  return currentLocation.value.query.get(name);
}

/** Changes query parameters of the address without a new history entry. */
export function setParameters(changes: Readonly<Record<string, string | null>>): void {
  navigate(addQuery(changes), { replace: true });
}

/** Returns true if an address belongs to the console. Addresses of the API and of other sites do not. */
const isOwn = ({ origin, pathname }: URL): boolean =>
  origin === location.origin &&
  (pathname === '/' || (pathname.startsWith('/console') && !pathname.includes('/assets/')));

/** Opens links to other pages of the console without reloading the document. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target !== '' || link.hasAttribute('download')) return;
    const address = new URL(link.href, location.href);
    if (!isOwn(address)) return;
    event.preventDefault();
    // If a part is pinned in an iframe, its links open in the whole window.
    if (parent === globalThis.window) navigate(address.pathname + address.search);
    else parent.location.assign(address.pathname + address.search);
  });
}

/** Maximum length of a text in the address after encoding. Proxies and the service refuse request lines of 16 KB. */
const TEXT_MAX = 12_000;

/** Text that is kept in the address. If it is too long, it is kept only in memory. */
export interface AddressedText {
  readonly text: string | null;
  /** True if the address does not contain the text. */
  readonly isTooLong: boolean;
  put(text: string | null): void;
}

/** Returns the text of an input whose value is a parameter of the address of the page. */
export function useAddressed(name: string): AddressedText {
  const addressText = getParameter(name);
  const [long, setLong] = useState<string | null>(null);
  useEffect(() => {
    if (addressText !== null) setLong(null);
  }, [addressText]);
  return {
    text: long ?? addressText,
    isTooLong: long !== null,
    put(text) {
      const isLong = text !== null && encodeURIComponent(text).length > TEXT_MAX;
      setLong(isLong ? text : null);
      setParameters({ [name]: isLong ? null : text });
    },
  };
}

/** Parses a JSON address parameter; undefined if the text is not valid JSON. */
export function parseJsonParameter(text: string | null): Json | undefined {
  try {
    return text === null ? undefined : (JSON.parse(text) as Json);
  } catch {
    return undefined;
  }
}

/** Keeps an object in the address while it differs from its initial value. */
export function useAddressedObject(name: string, first: JsonObject): readonly [JsonObject, (next: JsonObject) => void] {
  const { text, put } = useAddressed(name);
  const value = useMemo(() => parseJsonParameter(text), [text]);
  return [
    isObject(value) ? value : first,
    (next) => {
      const json = JSON.stringify(next);
      put(json === JSON.stringify(first) ? null : json);
    },
  ];
}

/** Properties of a page: the parameters in its address. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}
