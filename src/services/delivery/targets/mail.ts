import { createHash } from 'node:crypto';
import { createPath } from '#domain/daily-plans/file-name.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { parseValidDay } from '#domain/time/days.js';
import { loadTransports } from '../load-transports.js';
import { DeliveryFault, readFileName, type OutgoingFile, type SendJob, type Sender } from '../sender.js';
import type { TargetOf } from '#domain/delivery/target-catalogue.js';

export interface MailServer {
  /** `smtp://user:password@host:port` or `smtps://`. */
  readonly url: string;
  /** Sender of every mail. */
  readonly from: string;
}

const CONNECT_MS = 20_000;

/** Sends the files of a day as mail attachments, in as few mails as their sizes allow. */
export const createMailSender =
  (server: MailServer | undefined): Sender<'mail'> =>
  async (job) => {
    if (server === undefined) throw new DeliveryFault('Mail is not configured on this service.', { isFinal: true });
    const [small, large] = splitBySize(job.files);
    for (const file of large)
      await job.failed(
        file,
        new DeliveryFault(`The file is longer than a mail may be (${LIMITS.MAX_MAIL_BYTES} bytes).`, { isFinal: true }),
      );
    const transport = loadTransports().createTransport({
      url: server.url,
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: LIMITS.MAX_DELIVERY_SECONDS * 1000,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const stop = (): void => transport.close();
    job.signal.addEventListener('abort', stop, { once: true });
    try {
      // If the result of an attempt is unknown, the same files are put into the same mail again.
      const uncertainFiles = small.filter((file) => file.isUncertain);
      const otherOutgoingFiles = small.filter((file) => !file.isUncertain);
      for (const batch of [...groupByMail(uncertainFiles), ...groupByMail(otherOutgoingFiles)]) {
        job.signal.throwIfAborted();
        for (const file of batch) await job.begin(file);
        const message = await createMessage(batch, job, server.from);
        const { messageId } = await transport.sendMail(message).catch((failure: unknown) => {
          throw new DeliveryFault(`The mail server did not accept the mail: ${formatReason(failure)}.`, {
            cause: failure,
          });
        });
        for (const file of batch) await job.delivered(file, `Sent in the mail ${messageId}.`);
      }
    } finally {
      job.signal.removeEventListener('abort', stop);
      transport.close();
    }
  };

/** Divides files into those that fit into one mail and those that are too large. */
function splitBySize(files: readonly OutgoingFile[]): [OutgoingFile[], OutgoingFile[]] {
  const isWithinLimit = ({ bytes }: OutgoingFile): boolean => bytes <= LIMITS.MAX_MAIL_BYTES;
  return [files.filter(isWithinLimit), files.filter((file) => !isWithinLimit(file))];
}

function groupByMail(files: readonly OutgoingFile[]): OutgoingFile[][] {
  const batches: OutgoingFile[][] = [];
  let remainingBytes = 0;
  for (const file of files) {
    if (batches.length === 0 || file.bytes > remainingBytes) {
      batches.push([]);
      remainingBytes = LIMITS.MAX_MAIL_BYTES;
    }
    batches.at(-1)!.push(file);
    remainingBytes -= file.bytes;
  }
  return batches;
}

async function createMessage(batch: readonly OutgoingFile[], job: SendJob<TargetOf<'mail'>>, from: string) {
  const { target, client, schedule, date } = job;
  const terms = { file: '', client, schedule, table: '', day: parseValidDay(date) };
  const names = batch.map(({ path }) => readFileName(path));
  const id = createHash('sha256')
    .update([client, target.name, schedule, date, ...batch.map(({ path, sha256 }) => `${path} ${sha256}`)].join('\n'))
    .digest('hex')
    .slice(0, 32);
  return {
    from,
    to: [...target.to],
    subject: createPath(target.subject, terms),
    // Mailboxes recognise a repeated mail by its id.
    messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1).replace(/>$/, '')}>`,
    text: `${names.length === 1 ? 'The file' : 'The files'} of ${schedule} for ${date}:\n\n${batch
      .map(({ path, sha256 }) => `${readFileName(path)}\nSHA-256 ${sha256}\n`)
      .join('\n')}`,
    attachments: await Promise.all(
      batch.map(async (file, k) => ({
        filename: names[k]!,
        content: Buffer.from(await file.content()),
        contentType: file.media,
      })),
    ),
  };
}

function formatReason(failure: unknown): string {
  const { responseCode, code, message } = failure as Error & {
    readonly responseCode?: number;
    readonly code?: string;
  };
  return responseCode === undefined ? (code ?? message) : `it answered ${responseCode}`;
}
