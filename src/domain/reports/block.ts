import { z } from 'zod';
import { Id } from '../schema/shape.js';

/** Common fields of all blocks of a report. */
export const blockFields = {
  title: z.string().max(200).nullable().default(null).meta({ description: 'Title that is printed above the block.' }),
  index_id: Id.nullable().default(null).meta({ description: 'Index (or strategy) whose latest run the block shows.' }),
  width: z
    .enum(['full', 'half'])
    .default('full')
    .meta({ description: 'Width of the block. Two consecutive half blocks are placed next to each other.' }),
};

/** Use of a stored run by a block: never, only if the block has an index, or always. */
export type RunUse = 'never' | 'if-bound' | 'always';

/** Kind of block: its fields in a template, and the data that it needs. `#views/report/blocks` draws it. */
export interface BlockKind<S extends z.ZodObject = z.ZodObject> {
  readonly help: string;
  readonly schema: S;
  /** Complete valid block, as an example. */
  readonly example: Readonly<Record<string, unknown>>;
  runUse(block: z.output<S>): RunUse;
  /** Members that only some blocks of the kind use, with their condition. */
  readonly readers?: Readonly<Record<string, Readers>>;
}

/** Condition under which a member has an effect: values of another member. */
export interface Readers {
  readonly member: string;
  readonly of: readonly string[];
}

/** Returns the names of a catalogue, in order, for an enumeration. */
export function listNames<T extends object>(catalogue: T): [keyof T & string, ...(keyof T & string)[]] {
  return Object.keys(catalogue) as [keyof T & string, ...(keyof T & string)[]]; // catalogues are not empty
}

/** Returns the names of a catalogue with their meanings, as a description. */
export function listMeanings(catalogue: Readonly<Record<string, string>>): string {
  return Object.entries(catalogue)
    .map(([name, meaning]) => `\`${name}\`: ${meaning}`)
    .join('; ');
}

/** Returns a kind of block and keeps the literal types of its schema. */
export function defineBlockKind<S extends z.ZodObject>(entry: BlockKind<S>): BlockKind<S> {
  return entry;
}
