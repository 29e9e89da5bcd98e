import { z } from 'zod';
import { Id } from '../schema/shape.js';

/** Fields that every block of a report has. */
export const blockFields = {
  title: z.string().max(200).nullable().default(null).meta({ description: 'Printed above the block.' }),
  index_id: Id.nullable()
    .default(null)
    .meta({ description: 'Index (or strategy) whose latest run the block shows when it is rendered.' }),
  width: z
    .enum(['full', 'half'])
    .default('full')
    .meta({ description: 'Two halves that follow each other stand side by side.' }),
};

/** Whether a block draws from a stored run: never, when it has one, or always. */
export type RunUse = 'never' | 'if-bound' | 'always';

/**
 * One kind of block: what a template may say of it, and what it needs to be drawn. How it is drawn stands in
 * `#views/report/blocks`.
 */
export interface BlockKind<S extends z.ZodObject = z.ZodObject> {
  readonly help: string;
  readonly schema: S;
  /** A complete valid block. */
  readonly example: Readonly<Record<string, unknown>>;
  runUse(block: z.output<S>): RunUse;
  /** Members that only some blocks of the kind read. */
  readonly readers?: Readonly<Record<string, Readers>>;
}

/** Values of another member with which a member is read. */
export interface Readers {
  readonly member: string;
  readonly of: readonly string[];
}

/** Names of a catalogue, in its order, as an enumeration takes them. */
export function namesOf<T extends object>(catalogue: T): [keyof T & string, ...(keyof T & string)[]] {
  return Object.keys(catalogue) as [keyof T & string, ...(keyof T & string)[]]; // No catalogue is empty.
}

/** What each name of a catalogue means, as a description. */
export function meaningsOf(catalogue: Readonly<Record<string, string>>): string {
  return Object.entries(catalogue)
    .map(([name, meaning]) => `\`${name}\`: ${meaning}`)
    .join('; ');
}

/** Keeps the types of an entry. */
export function blockKind<S extends z.ZodObject>(entry: BlockKind<S>): BlockKind<S> {
  return entry;
}
