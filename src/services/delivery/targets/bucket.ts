import { createHash } from 'node:crypto';
import { isUnavailable, Refusal } from '#domain/refusals/refusal.js';
import { ArtifactStoreFault } from '#store/access/artifact-fault.js';
import { createS3Client } from '#store/s3/s3-client.js';
import type { DeliveryDestinations } from '../delivery-destinations.js';
import {
  computeChecksum,
  DeliveryFault,
  sendEachFile,
  PRESENT_MESSAGE,
  REPLACED_MESSAGE,
  SENT_MESSAGE,
  type Sender,
} from '../sender.js';

/** Time limits of a request. They are short, because the rounds of a day try again. */
const REQUEST_LIMITS = { patienceMs: 4000, answerMs: 60_000 };

/** Writes each file as an object. An object becomes visible only when it is complete. */
export const createBucketSender =
  (destinations: Pick<DeliveryDestinations, 'createAccess'>): Sender<'bucket'> =>
  async (job) => {
    const { target, secret } = job;
    const client = createS3Client(destinations.createAccess(target, secret), REQUEST_LIMITS);
    await sendEachFile(job, async (file) => {
      try {
        const result = await client.look(file.path);
        const isPresent = result?.sha256 === file.sha256 && result.bytes === file.bytes;
        await job.begin(file);
        if (!isPresent) await client.put(file.path, await file.content(), file.sha256);
        if (target.checksum) await putChecksum(client, file);
        if (result === undefined) return SENT_MESSAGE;
        return isPresent ? PRESENT_MESSAGE : REPLACED_MESSAGE;
      } catch (failure) {
        throw toFault(failure);
      }
    });
  };

async function putChecksum(
  client: ReturnType<typeof createS3Client>,
  file: { readonly path: string; readonly sha256: string },
): Promise<void> {
  const content = new TextEncoder().encode(computeChecksum(file));
  const sha256 = createHash('sha256').update(content).digest('hex');
  const name = `${file.path}.sha256`;
  if ((await client.look(name))?.sha256 !== sha256) await client.put(name, content, sha256);
}

function toFault(failure: unknown): unknown {
  const isStoreFault = failure instanceof ArtifactStoreFault || (failure instanceof Refusal && isUnavailable(failure));
  return isStoreFault ? new DeliveryFault(failure.message, { cause: failure }) : failure;
}
