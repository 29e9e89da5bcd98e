import type { Removals } from '#http/removals.js';
import { createClientHandlers } from '#http/routes/clients.js';
import { createClients } from '#services/delivery/clients.js';
import { createDeliverFiles } from '#services/delivery/deliver-files.js';
import { createDeliveryDestinations, type BucketService } from '#services/delivery/delivery-destinations.js';
import { createDeliveryRecords } from '#services/delivery/delivery-records.js';
import { createSenders } from '#services/delivery/senders.js';
import { formatAwsOrigin, chooseKeys } from '#store/s3/keys/choose-source.js';
import { selectAwsSettings } from '../aws-settings.js';
import type { Settings } from '../settings.js';
import type { Core } from './core.js';

/** Composes clients and the delivery of files to them. */
export function composeDelivery({ documents, secrets, artifacts, settings, callbacks }: Core, removals: Removals) {
  const { smtpUrl: url, smtpFrom: from } = settings;
  const mailServer = url === undefined || from === undefined ? undefined : { url, from };
  const destinations = createDeliveryDestinations({
    roots: settings.deliveryRoots,
    hosts: settings.deliveryHosts,
    buckets: settings.deliveryBuckets,
    callbacks: callbacks.destinations,
    hasMail: mailServer !== undefined,
    mailDomains: settings.mailDomains,
    bucketService: (region) => selectBucketService(settings, region),
  });
  const clients = createClients({ documents, secrets, destinations });
  const records = createDeliveryRecords(documents);
  const senders = createSenders({ destinations, post: callbacks.post, mailServer });
  const deliverFiles = createDeliverFiles({ senders, destinations, artifacts });
  return { clients, records, deliver: deliverFiles, handlers: createClientHandlers(clients, records, removals) };
}

function selectBucketService(settings: Settings, region: string | null): BucketService {
  const aws = selectAwsSettings(settings);
  const chosenKeys = chooseKeys(aws);
  const bucketRegion = region ?? chosenKeys.region;
  return { region: bucketRegion, keys: chosenKeys.keys, endpoint: aws.endpoint ?? formatAwsOrigin('s3', bucketRegion) };
}
