import type { TargetType } from '#domain/delivery/target-catalogue.js';
import type { PostSigned } from '../operations/send-callback.js';
import type { DeliveryPlaces } from './delivery-places.js';
import type { Sender } from './sender.js';
import { bucketSender } from './targets/bucket.js';
import { callbackSender } from './targets/callback.js';
import { folderSender } from './targets/folder.js';
import { mailSender, type MailServer } from './targets/mail.js';
import { sftpSender } from './targets/sftp.js';

export type Senders = { readonly [T in TargetType]: Sender<T> };

export interface SenderDependencies {
  readonly places: DeliveryPlaces;
  readonly post: PostSigned;
  readonly mailServer: MailServer | undefined;
}

/** Creates the sender of each kind of target. */
export const createSenders = ({ places, post, mailServer }: SenderDependencies): Senders => ({
  folder: folderSender(places),
  bucket: bucketSender(places),
  sftp: sftpSender,
  callback: callbackSender(post),
  mail: mailSender(mailServer),
});
