import type { TargetType } from '#domain/delivery/target-catalogue.js';
import type { SignedPostSender } from '../operations/send-callback.js';
import type { DeliveryDestinations } from './delivery-destinations.js';
import type { Sender } from './sender.js';
import { createBucketSender } from './targets/bucket.js';
import { createCallbackSender } from './targets/callback.js';
import { createFolderSender } from './targets/folder.js';
import { createMailSender, type MailServer } from './targets/mail.js';
import { sendOverSftp } from './targets/sftp.js';

export type Senders = { readonly [T in TargetType]: Sender<T> };

export interface SenderDependencies {
  readonly destinations: DeliveryDestinations;
  readonly post: SignedPostSender;
  readonly mailServer: MailServer | undefined;
}

/** Creates the sender of each kind of target. */
export const createSenders = ({ destinations, post, mailServer }: SenderDependencies): Senders => ({
  folder: createFolderSender(destinations),
  bucket: createBucketSender(destinations),
  sftp: sendOverSftp,
  callback: createCallbackSender(post),
  mail: createMailSender(mailServer),
});
