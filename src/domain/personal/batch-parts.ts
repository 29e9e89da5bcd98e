import { z } from 'zod';

/** Accounts of a part: a second or two of work, so that little is lost with a node. */
export const PART_ACCOUNTS = 25;
/** Accounts of a block of results. */
export const BLOCK_ACCOUNTS = 100;
export const PARTS_PER_BLOCK = BLOCK_ACCOUNTS / PART_ACCOUNTS;
/** Accounts of a file of results: it is written at once from memory. */
export const VOLUME_ACCOUNTS = 2000;

/** Consecutive accounts in the file of a batch. */
export const AccountsPart = z.object({
  accounts: z.int(),
  bytes: z.int(),
  /** SHA-256 of the bytes, hex. */
  sha256: z.string(),
  /** Line of the upload in which the part begins; null if the accounts were not sent as lines. */
  line: z.int().nullable(),
});
export type AccountsPart = z.infer<typeof AccountsPart>;

/** Artifact with the accounts of a batch, a line of JSON each, and its parts in order. */
export const AccountsFile = z.object({
  file: z.object({ name: z.string(), bytes: z.int(), sha256: z.string() }),
  parts: z.array(AccountsPart).readonly(),
});
export type AccountsFile = Readonly<z.infer<typeof AccountsFile>>;

/** Accounts of a part as they are solved. */
export interface PartLines {
  /** Lines of JSON, an account each; blank ones are no accounts. */
  readonly text: string;
  /** Position of the first account in the batch. */
  readonly position: number;
  readonly line: number | null;
}
