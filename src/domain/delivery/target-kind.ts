import { z } from 'zod';
import { checkPathPattern } from '../daily-plans/file-name.js';

/** Kind of target. The code that writes to it is in `src/services/delivery/targets/`. */
export interface TargetKind<T> {
  readonly schema: z.ZodType<T>;
  /** Sentence for the guide and the contract. */
  readonly help: string;
  /** Description of the secret of a target; undefined for a kind without a secret. */
  readonly secret: string | undefined;
}

/** Returns a kind of target and keeps its literal types. */
export const defineTargetKind = <const K extends TargetKind<unknown>>(kind: K): K => kind;

const TABLES_MAX = 32;
const SECRET_LENGTH_MAX = 20_000;

/** Tables whose files a target receives, named as in export steps; `report` is the output of a render step. */
export const FileTables = z
  .array(z.string().min(1).max(64))
  .min(1)
  .max(TABLES_MAX)
  .nullable()
  .default(null)
  .meta({ example: ['closing', 'report'] });

/** Members of every kind of target. */
export const targetFields = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, {
      error: 'must be 1 to 32 lower-case letters, digits and dashes, such as ftp-main',
    })
    .meta({ description: 'Name of the target, unique among the targets of the client.', example: 'house' }),
  tables: FileTables.meta({
    description:
      'Tables whose files are sent to the target. `report` is a rendered report. Default: all files that the client can receive.',
  }),
};

/** Members of a kind of target that stores files under names. */
export const storedFields = {
  path: z
    .string()
    .min(1)
    .max(400)
    .default('{file}')
    .superRefine((pattern, context) => {
      const problem = checkPathPattern(pattern);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    })
    .meta({
      description:
        'Path below the address: folders, and a name with {file} (the name of the file), {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}.',
      example: '{date:YYYY}/{file}',
    }),
  checksum: z.boolean().default(true).meta({
    description: 'True writes a file NAME.sha256 after each file, in the format of sha256sum.',
  }),
};

/** Secret, which is stored encrypted and never shown. */
export const secretField = z.string().min(1).max(SECRET_LENGTH_MAX).nullable().default(null).meta({ writeOnly: true });

/** Returns the schema of an address with one of several URL schemes. */
export const defineAddress = (schemes: readonly string[], problemOf: (url: URL) => string | undefined) =>
  z
    .string()
    .max(1000)
    .superRefine((text, context) => {
      const url = URL.canParse(text) ? new URL(text) : undefined;
      const isKnown = url !== undefined && schemes.includes(url.protocol.slice(0, -1));
      const problem = isKnown
        ? (describeCredentials(url) ?? problemOf(url))
        : `must be an address that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`;
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    });

const describeCredentials = ({ password, search, hash }: URL): string | undefined => {
  if (password !== '') return 'must not contain a password; the password is the secret of the target';
  return search === '' && hash === '' ? undefined : 'must have no query and no fragment';
};
