import { z } from 'zod';
import { Mapping } from '#domain/documents/mapping.js';
import type { InspectRequest } from '#clients/typescript/divisor.js';
import type { Flag, FlagValues } from '../command-line.js';
import { UsageError } from '../usage-error.js';

/** Answers about the data: the members of a mapping, and the price adjustment. */
export type MappingAnswers = NonNullable<InspectRequest['answers']>;

/** Returns the flag for a member of a mapping or for the price adjustment. */
export const formatFlag = (field: string) => field.replaceAll('_', '-');

/**
 * One flag for each member of a mapping and for the price adjustment. Flags can therefore answer every question of an
 * inspection.
 */
export const READING_FLAGS: Readonly<Record<string, Flag>> = {
  adjustment: {
    type: 'string',
    value: 'none|splits|total',
    help: 'Price basis of CLOSE.',
    choices: ['none', 'splits', 'total'],
  },
  ...Object.fromEntries(
    Object.entries(Mapping.shape).map(([field, schema]): [string, Flag] => [
      formatFlag(field),
      { ...describeFlag(schema.unwrap()), help: schema.description ?? '' },
    ]),
  ),
};

/** Returns the type and placeholder of a member's flag. */
function describeFlag(schema: z.ZodType): Omit<Flag, 'help'> {
  if (schema instanceof z.ZodNullable) {
    const { choices, ...form } = describeFlag(schema.unwrap() as z.ZodType); // a zod schema
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

/** Collects the answers that the flags give. Members without a flag are left out. @throws UsageError */
export function readMappingAnswers(flags: FlagValues): MappingAnswers {
  const readingFlags = ['adjustment', ...Object.keys(Mapping.shape)].flatMap((field) => {
    const text = flags.text(formatFlag(field));
    return text === undefined ? [] : [[field, parseValue(field, text)] as const];
  });
  return Object.fromEntries(readingFlags) as MappingAnswers; // the schema of each member parsed its value
}

/** Parses the value of a member. If the member can be null, `none` means null. */
function parseValue(field: string, text: string): unknown {
  const schema = field in Mapping.shape ? Mapping.shape[field as keyof Mapping].unwrap() : undefined;
  if (schema instanceof z.ZodNullable) return text === 'none' ? null : text;
  if (schema instanceof z.ZodNumber) return Number(text);
  if (schema instanceof z.ZodArray) return text.split(',');
  if (!(schema instanceof z.ZodRecord)) return text;
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const separator = pair.indexOf('=');
      if (separator < 1)
        throw new UsageError(
          `--${formatFlag(field)} must be pairs separated by commas, for example CLOSE=Last, not ${JSON.stringify(pair)}`,
        );
      return [pair.slice(0, separator), pair.slice(separator + 1)];
    }),
  );
}
