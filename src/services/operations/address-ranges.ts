import { BlockList, isIP } from 'node:net';

/** Returns true if an address belongs to a set. */
export type IsAddressOf = (address: string) => boolean;

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Tests that a text is an address or a range of addresses, as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [address = '', bits, more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/**
 * The addresses of some ranges; one of IPv4 written as one of IPv6 is found in the ranges of IPv4.
 * @param ranges addresses and ranges, each as `isAddressRange` accepts it
 */
export function addressesOf(ranges: readonly string[]): IsAddressOf {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
}
