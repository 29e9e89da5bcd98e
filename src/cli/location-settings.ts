import { resolve } from 'node:path';
import { z } from 'zod';
import { declareSetting, createWholeNumber, type SettingRequirement } from './setting-schemas.js';

const BUCKET_REQUIREMENT: SettingRequirement = { setting: 'artifacts', begins: 's3://' };

/** Settings for results that several machines share: where they are stored and how long. */
export const LOCATION_SETTINGS = {
  artifacts: declareSetting({
    flag: 'artifacts',
    variable: 'DIVISOR_ARTIFACTS',
    otherwise: () => '',
    otherwiseHelp: 'home',
    help: 'Results storage that several machines share, with --database: file:///folder or s3://bucket/prefix.',
    schema: z
      .string()
      .regex(/^((file:\/\/\/|s3:\/\/)[^\s@?#]+)?$/, 'must be like file:///mnt/shared or s3://bucket/prefix')
      .transform((text) => (text === '' ? undefined : text)),
    mayHoldSecret: true,
  }),
  backups: declareSetting({
    flag: 'backups',
    variable: 'DIVISOR_BACKUPS',
    otherwise: () => '',
    otherwiseHelp: 'home/backups',
    help: 'Folder of backups. divisor backup writes to this folder by default, and metrics report the age of its newest backup.',
    schema: z.string().transform((path) => (path === '' ? undefined : resolve(path))),
  }),
  trashHours: declareSetting({
    flag: 'trash-hours',
    variable: 'DIVISOR_TRASH_HOURS',
    otherwise: () => '24',
    help: 'With --artifacts: number of hours for which orphaned results remain in the folder trash. 0 deletes them at once.',
    schema: createWholeNumber(0, 8760),
    needs: { setting: 'artifacts' },
  }),
  readOnly: declareSetting({
    flag: 'read-only',
    variable: 'DIVISOR_READ_ONLY',
    otherwise: () => 'off',
    help: 'With --artifacts: on serves a database and its results read-only, and runs no jobs.',
    schema: z.enum(['on', 'off']).transform((word) => word === 'on'),
    needs: { setting: 'artifacts' },
  }),
  cache: declareSetting({
    flag: 'cache',
    variable: 'DIVISOR_CACHE',
    otherwise: () => '',
    otherwiseHelp: 'home/cache',
    help: 'Folder for cached objects of a bucket. Services on the same machine can share it.',
    schema: z.string().transform((path) => (path === '' ? undefined : resolve(path))),
    needs: BUCKET_REQUIREMENT,
  }),
  cacheMegabytes: declareSetting({
    flag: 'cache-mb',
    variable: 'DIVISOR_CACHE_MB',
    otherwise: () => '10240',
    help: 'Maximum size of the cache, in MiB.',
    schema: createWholeNumber(64, 100_000_000),
    needs: BUCKET_REQUIREMENT,
  }),
};
