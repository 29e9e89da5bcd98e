import { z } from 'zod';
import { Mapping } from '#domain/documents/mapping.js';
import type { InspectRequest } from '#clients/typescript/divisor.js';
import type { Flag, FlagValues } from '../command-line.js';
import { UsageError } from '../usage-error.js';

/** What is said of the reading of data: members of a mapping, and the adjustment. */
export type Answers = NonNullable<InspectRequest['answers']>;

/** The flag that says a member of a mapping, or the adjustment. */
export const flagOf = (field: string) => field.replaceAll('_', '-');

/** A flag for each member of a mapping, and the adjustment: what an inspection may ask, they answer. */
export const READING: Readonly<Record<string, Flag>> = {
  adjustment: {
    type: 'string',
    value: 'none|splits|total',
    help: 'Price basis of CLOSE.',
    choices: ['none', 'splits', 'total'],
  },
  ...Object.fromEntries(
    Object.entries(Mapping.shape).map(([field, schema]): [string, Flag] => [
      flagOf(field),
      { ...formOf(schema.unwrap()), help: schema.description ?? '' },
    ]),
  ),
};

/** How the value of a member is written. */
function formOf(schema: z.ZodType): Omit<Flag, 'help'> {
  if (schema instanceof z.ZodNullable) {
    const { choices, ...form } = formOf(schema.unwrap() as z.ZodType); // of a schema of zod
    return choices === undefined ? form : { ...form, value: `${form.value}|none`, choices: [...choices, 'none'] };
  }
  if (schema instanceof z.ZodEnum) {
    const choices = schema.options.map(String);
    return { type: 'string', value: choices.map((choice) => (choice === ' ' ? "' '" : choice)).join('|'), choices };
  }
  if (schema instanceof z.ZodNumber) return { type: 'number', value: 'N' };
  if (schema instanceof z.ZodRecord) return { type: 'string', value: 'A=B,C=D' };
  return { type: 'string', value: schema instanceof z.ZodArray ? 'A,B' : 'TEXT' };
}

/** What the flags say; a member that no flag says is not there. @throws UsageError */
export function answersOf(flags: FlagValues): Answers {
  const given = ['adjustment', ...Object.keys(Mapping.shape)].flatMap((field) => {
    const text = flags.text(flagOf(field));
    return text === undefined ? [] : [[field, valueOf(field, text)] as const];
  });
  return Object.fromEntries(given) as Answers; // each by the schema of its member
}

/** The value that a text says of a member; `none` is null where null is one. */
function valueOf(field: string, text: string): unknown {
  const schema = field in Mapping.shape ? Mapping.shape[field as keyof Mapping].unwrap() : undefined;
  if (schema instanceof z.ZodNullable) return text === 'none' ? null : text;
  if (schema instanceof z.ZodNumber) return Number(text);
  if (schema instanceof z.ZodArray) return text.split(',');
  if (!(schema instanceof z.ZodRecord)) return text;
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1)
        throw new UsageError(
          `--${flagOf(field)} is pairs with commas between them, as CLOSE=Last; not ${JSON.stringify(pair)}`,
        );
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
