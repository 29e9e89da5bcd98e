import { z } from 'zod';
import { isAddressRange } from '#services/operations/address-ranges.js';
import { memoryBudget } from '#jobs/memory-budget.js';
import { declare, list, PANEL_MEGABYTES, whole } from './setting-schemas.js';

/** Heap of a reading process, DuckDB's own memory, code and threads, MiB. */
const READER_BASE_MEGABYTES = 3072;
/** A store is in a reading process as it is read and as it is handed over. */
const PANELS_IN_READER = 2;
const READER_SHARE_MAX = 0.75;

function readerMegabytes(): number {
  const most = memoryBudget(READER_SHARE_MAX) / 2 ** 20;
  return Math.floor(
    Math.max(1024, Math.min(most, READER_BASE_MEGABYTES + PANELS_IN_READER * Number(PANEL_MEGABYTES.otherwise()))),
  );
}

/** Settings that say who may reach the service and what it keeps secret. */
export const SECURITY_SETTINGS = {
  readerMegabytes: declare({
    flag: 'reader-memory-mb',
    variable: 'DIVISOR_READER_MEMORY_MB',
    otherwise: () => String(readerMegabytes()),
    otherwiseHelp: 'three quarters of the memory, at most 3072 and twice the panels',
    help: 'Private memory, in MiB, that the system holds each reading process to (Linux).',
    schema: whole(256, 100_000_000),
  }),
  tenancy: declare({
    flag: 'tenancy',
    variable: 'DIVISOR_TENANCY',
    otherwise: () => 'none',
    help: 'How ids outside the prefixes of a key are answered: none refuses them with 403, prefix as absent with 404.',
    schema: z.enum(['none', 'prefix']),
  }),
  trustedProxies: declare({
    flag: 'trusted-proxies',
    variable: 'DIVISOR_TRUSTED_PROXIES',
    otherwise: () => '',
    help: 'Addresses and ranges, separated by commas, of reverse proxies: their X-Forwarded-For is the address of the client, and their connections are not limited.',
    schema: list(',').pipe(z.array(z.string().refine(isAddressRange, 'must be an address or a range as 10.0.0.0/8'))),
  }),
};
