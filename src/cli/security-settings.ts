import { z } from 'zod';
import { isAddressRange } from '#http/client-addresses.js';
import { declare, list } from './setting-schemas.js';

/** Settings that say who may reach the service and what it keeps secret. */
export const SECURITY_SETTINGS = {
  trustedProxies: declare({
    flag: 'trusted-proxies',
    variable: 'DIVISOR_TRUSTED_PROXIES',
    otherwise: () => '',
    help: 'Addresses and ranges, separated by commas, of reverse proxies: their X-Forwarded-For is the address of the client, and their connections are not limited.',
    schema: list(',').pipe(z.array(z.string().refine(isAddressRange, 'must be an address or a range as 10.0.0.0/8'))),
  }),
};
