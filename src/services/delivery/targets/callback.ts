import { createHash } from 'node:crypto';
import type { SignedPostSender } from '../../operations/send-callback.js';
import { DeliveryFault, sendEachFile, readFileName, SENT_MESSAGE, type Sender } from '../sender.js';

/** Sends each file as the body of a signed request. All attempts have the same message id. */
export const createCallbackSender =
  (post: SignedPostSender): Sender<'callback'> =>
  (job) =>
    sendEachFile(job, async (file) => {
      const { client, schedule, date, target, signal } = job;
      await job.begin(file);
      const id = createHash('sha256')
        .update([client, target.name, schedule, date, file.path, file.sha256].join('\n'))
        .digest('hex')
        .slice(0, 32);
      const failure = await post(
        {
          url: target.url,
          id: `file_${id}`,
          body: await file.content(),
          headers: {
            'Content-Type': file.media,
            'Content-Disposition': `attachment; filename="${readFileName(file.path)}"`,
            'Content-Digest': `sha-256=:${Buffer.from(file.sha256, 'hex').toString('base64')}:`,
            'Divisor-Schedule': schedule,
            'Divisor-Date': date,
          },
        },
        signal,
      );
      if (failure !== undefined) throw new DeliveryFault(failure.reason, { isFinal: failure.isFinal });
      return SENT_MESSAGE;
    });
