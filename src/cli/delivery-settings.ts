import { delimiter, resolve } from 'node:path';
import { z } from 'zod';
import { declareSetting, hostPorts, createListSchema } from './setting-schemas.js';

const isMailServer = (text: string): boolean =>
  /^smtps?:\/\//.test(text) && URL.canParse(text) && new URL(text).hostname !== '';

/** Settings that limit where files of schedules may be delivered. */
export const DELIVERY_SETTINGS = {
  deliveryRoots: declareSetting({
    flag: 'delivery-roots',
    variable: 'DIVISOR_DELIVERY_ROOTS',
    otherwise: () => '',
    otherwiseHelp: 'home/delivery',
    help: `Folders to which files can be delivered, separated by "${delimiter}".`,
    schema: createListSchema(delimiter).transform((paths) => paths.map((path) => resolve(path))),
  }),
  deliveryHosts: declareSetting({
    flag: 'delivery-hosts',
    variable: 'DIVISOR_DELIVERY_HOSTS',
    otherwise: () => '',
    help: 'Hosts to which files can be delivered by SFTP, or to buckets with the keys of the client, separated by commas: host for the port of the scheme, or host:port.',
    schema: hostPorts,
  }),
  deliveryBuckets: declareSetting({
    flag: 'delivery-buckets',
    variable: 'DIVISOR_DELIVERY_BUCKETS',
    otherwise: () => '',
    help: 'Buckets to which files can be delivered with the keys of the service, separated by commas: s3://bucket or s3://bucket/prefix.',
    schema: createListSchema(',').pipe(
      z.array(z.string().regex(/^s3:\/\/[^\s@?#]+$/, 'must be like s3://bucket or s3://bucket/prefix')),
    ),
  }),
  smtpUrl: declareSetting({
    variable: 'DIVISOR_SMTP_URL',
    otherwise: () => '',
    help: 'Mail server: smtp://user:password@host:587 or smtps://user:password@host.',
    schema: z
      .string()
      .refine((text) => text === '' || isMailServer(text), 'must be like smtp://user:password@host:587')
      .transform((text) => (text === '' ? undefined : text)),
    isSecret: true,
  }),
  smtpFrom: declareSetting({
    flag: 'smtp-from',
    variable: 'DIVISOR_SMTP_FROM',
    otherwise: () => '',
    help: 'Sender address of mails.',
    schema: z
      .string()
      .regex(/^(?:[^\s@<>]+@[^\s@<>]+)?$/, 'must be an address like indices@desk.example')
      .transform((text) => (text === '' ? undefined : text)),
  }),
  mailDomains: declareSetting({
    flag: 'mail-domains',
    variable: 'DIVISOR_MAIL_DOMAINS',
    otherwise: () => '',
    help: 'Domains to which mails can be sent, separated by commas.',
    schema: createListSchema(','),
  }),
};
