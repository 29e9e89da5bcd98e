import { z } from 'zod';
import { bucket } from './targets/bucket.js';
import { callback } from './targets/callback.js';
import { folder } from './targets/folder.js';
import { mail } from './targets/mail.js';
import { sftp } from './targets/sftp.js';

/** All kinds of targets. The build fails if a kind has no sender (`src/services/delivery/senders.ts`). */
export const TARGET_CATALOGUE = { folder, bucket, sftp, callback, mail } as const;

export type TargetType = keyof typeof TARGET_CATALOGUE;

/** Target of a client by its type. */
export type TargetOf<T extends TargetType> = z.infer<(typeof TARGET_CATALOGUE)[T]['schema']>;

export const Target = z.discriminatedUnion('type', [
  folder.schema,
  bucket.schema,
  sftp.schema,
  callback.schema,
  mail.schema,
]);
export type Target = z.infer<typeof Target>;

/**
 * Returns the address to which a stored secret belongs. If the address or the user of a target changes, the secret must
 * be entered again.
 */
export function findSecretOwner(target: Target): string {
  if (target.type === 'sftp') return `${target.url} ${target.host_key}`;
  if (target.type === 'bucket') return [target.url, target.endpoint, target.access_key_id].join(' ');
  return '';
}

export const readSecret = (target: Target): string | null => ('secret' in target ? target.secret : null);
