import type { TargetOf, TargetType } from '#domain/delivery/target-catalogue.js';
import type { ErrorCode } from '#domain/refusals/refusal.js';

/** File for a target. */
export interface OutgoingFile {
  /** Path at the target: folders and a name. */
  readonly path: string;
  /** Media type. */
  readonly media: string;
  readonly bytes: number;
  readonly sha256: string;
  /** True if an attempt was started and its result is unknown. */
  readonly isUncertain: boolean;
  content(): Promise<Uint8Array>;
}

/** Files for one target, and their outcomes. */
export interface SendJob<T> {
  readonly target: T;
  readonly secret: string | undefined;
  readonly client: string;
  readonly schedule: string;
  readonly date: string;
  readonly files: readonly OutgoingFile[];
  readonly signal: AbortSignal;
  /** Records the start of an attempt before anything is sent. */
  begin(file: OutgoingFile): Promise<void>;
  delivered(file: OutgoingFile, message: string): Promise<void>;
  failed(file: OutgoingFile, fault: DeliveryFault): Promise<void>;
}

/**
 * Function that sends files to one kind of target and reports each result. A file is not sent if the target already has
 * it with the same content.
 * @throws DeliveryFault if the target cannot be used; every file without a result has then failed
 */
export type Sender<T extends TargetType> = (job: SendJob<TargetOf<T>>) => Promise<void>;

/** Error of a target, or of one file at a target. */
export class DeliveryFault extends Error {
  override readonly name = 'DeliveryFault';
  /** True if an attempt can succeed only after somebody changes something. */
  readonly isFinal: boolean;
  readonly code = 'DELIVERY_FAILED' satisfies ErrorCode;

  constructor(
    message: string,
    { isFinal = false, cause }: { readonly isFinal?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.isFinal = isFinal;
  }
}

/** Returns the last part of a path. */
export const readFileName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
export const readFolder = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** Returns a temporary name for a file that is being written. Readers do not look for such names. */
export const formatPartName = ({ path, sha256 }: Pick<OutgoingFile, 'path' | 'sha256'>): string =>
  `.${readFileName(path)}.${sha256.slice(0, 12)}.part`;

/** Returns the content of the file NAME.sha256, in the format that `sha256sum --check` reads. */
export const computeChecksum = ({ path, sha256 }: Pick<OutgoingFile, 'path' | 'sha256'>): string =>
  `${sha256}  ${readFileName(path)}\n`;

export const SENT_MESSAGE = 'Delivered.';
export const REPLACED_MESSAGE = 'Delivered in place of another version.';
export const PRESENT_MESSAGE = 'The same file was there already.';

/** Delivers the files one after another. If one file fails, the next files are still delivered. */
export async function sendEachFile<T>(
  { files, signal, delivered, failed }: SendJob<T>,
  send: (file: OutgoingFile) => Promise<string>,
): Promise<void> {
  for (const file of files) {
    signal.throwIfAborted();
    try {
      await delivered(file, await send(file));
    } catch (failure) {
      if (!(failure instanceof DeliveryFault) || signal.aborted) throw failure;
      await failed(file, failure);
    }
  }
}
