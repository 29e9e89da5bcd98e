import { delimiter, resolve } from 'node:path';
import { z } from 'zod';
import { declare, hostPorts, createListSchema } from './setting-schemas.js';

const isMailServer = (text: string): boolean =>
  /^smtps?:\/\//.test(text) && URL.canParse(text) && new URL(text).hostname !== '';

/** Settings for the destinations that files of schedules may be delivered to. */
export const DELIVERY_SETTINGS = {
  deliveryRoots: declare({
    flag: 'delivery-roots',
    variable: 'DIVISOR_DELIVERY_ROOTS',
    otherwise: () => '',
    otherwiseHelp: 'home/delivery',
    help: `Folders, separated by "${delimiter}", that files may be delivered to.`,
    schema: createListSchema(delimiter).transform((paths) => paths.map((path) => resolve(path))),
  }),
  deliveryHosts: declare({
    flag: 'delivery-hosts',
    variable: 'DIVISOR_DELIVERY_HOSTS',
    otherwise: () => '',
    help: 'Hosts, separated by commas, that files may be delivered to by SFTP and to buckets with their own keys: host for the port of the scheme, or host:port.',
    schema: hostPorts,
  }),
  deliveryBuckets: declare({
    flag: 'delivery-buckets',
    variable: 'DIVISOR_DELIVERY_BUCKETS',
    otherwise: () => '',
    help: 'Buckets, separated by commas, that files may be delivered to with the keys of the service: s3://bucket or s3://bucket/prefix.',
    schema: createListSchema(',').pipe(
      z.array(z.string().regex(/^s3:\/\/[^\s@?#]+$/, 'must be like s3://bucket or s3://bucket/prefix')),
    ),
  }),
  smtpUrl: declare({
    variable: 'DIVISOR_SMTP_URL',
    otherwise: () => '',
    help: 'Mail server: smtp://user:password@host:587 or smtps://user:password@host.',
    schema: z
      .string()
      .refine((text) => text === '' || isMailServer(text), 'must be like smtp://user:password@host:587')
      .transform((text) => (text === '' ? undefined : text)),
    isSecret: true,
  }),
  smtpFrom: declare({
    flag: 'smtp-from',
    variable: 'DIVISOR_SMTP_FROM',
    otherwise: () => '',
    help: 'Address that mail comes from.',
    schema: z
      .string()
      .regex(/^(?:[^\s@<>]+@[^\s@<>]+)?$/, 'must be an address like indices@desk.example')
      .transform((text) => (text === '' ? undefined : text)),
  }),
  mailDomains: declare({
    flag: 'mail-domains',
    variable: 'DIVISOR_MAIL_DOMAINS',
    otherwise: () => '',
    help: 'Domains, separated by commas, that may receive mail.',
    schema: createListSchema(','),
  }),
};
