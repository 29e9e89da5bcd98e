import { useContext } from 'preact/hooks';
import { isOtherStore } from '../../state/live.js';
import { NamesStore } from '../../state/names.js';
import { formatSecurityAddress } from '../../words/addresses.js';

/**
 * Returns a function that creates the address of a security. The page shows the security in the store of the run on
 * this page.
 */
export function useNameAddress(): (identifier: string) => string {
  const store = useContext(NamesStore);
  return (identifier) => formatSecurityAddress(identifier, isOtherStore(store) ? store : undefined);
}
