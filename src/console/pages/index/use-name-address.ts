import { useContext } from 'preact/hooks';
import { NamesStore } from '../../state/names.js';
import { formatSecurityAddress } from '../../words/addresses.js';

/** Returns a function that creates the address of a security's page, in the store of the displayed run. */
export function useNameAddress(): (identifier: string) => string {
  const store = useContext(NamesStore) ?? undefined;
  return (identifier) => formatSecurityAddress(identifier, store);
}
