import { BlockList, isIP } from 'node:net';

/** Function that returns true if an address belongs to a given set of addresses. */
export type IsAddressOf = (address: string) => boolean;

const getFamily = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Returns true if a text is an address or a range of addresses, such as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [address = '', bits, more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/**
 * Returns a function that tests whether an address is in one of the ranges. An IPv4 address in IPv6 form matches the
 * IPv4 ranges.
 * @param ranges addresses and ranges that `isAddressRange` accepts
 */
export function createAddressCheck(ranges: readonly string[]): IsAddressOf {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(address, getFamily(address));
    else list.addSubnet(address, Number(bits), getFamily(address));
  }
  return (address) => isIP(address) !== 0 && list.check(address, getFamily(address));
}
