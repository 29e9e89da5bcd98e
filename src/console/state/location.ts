import { computed, signal } from '@preact/signals';

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
