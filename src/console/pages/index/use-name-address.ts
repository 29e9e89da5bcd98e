import { useContext } from 'preact/hooks';
import { NamesStore } from '../../state/names.js';
import { formatSecurityAddress } from '../../words/addresses.js';

/**
 * Returns a function that creates the address of a security. The page shows the security in the store of the run on
 * this page.
 */
export function useNameAddress(): (identifier: string) => string {
  const store = useContext(NamesStore) ?? undefined;
  return (identifier) => formatSecurityAddress(identifier, store);
}
