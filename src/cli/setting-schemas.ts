import { z } from 'zod';
import { ENGINE_NAMES } from '#kernels/engines/engine.js';
import { withoutUrlPassword, withoutUrlPasswords } from '#base/text/url-passwords.js';
import { hostPortOf } from '#base/text/host-port.js';
import { memoryBudget } from '#jobs/memory-budget.js';
import { SCOPES, type Scope } from '#contract/route.js';
import type { KeyRecord } from '#services/operations/keys.js';
import { databaseUrlFault } from '#store/postgres/database-url.js';

/** A setting without which another has no effect. */
export interface Needs {
  readonly setting: 'database' | 'artifacts';
  /** How its value must begin. Default: any. */
  readonly begins?: string;
}

/** One setting, declared once: where it comes from, what it means, and how its text is read. */
export interface Setting<S extends z.ZodType> {
  readonly flag?: string;
  readonly variable: string;
  /** Another variable, read where that one is not given. */
  readonly elsewhere?: string;
  /** Text used when neither flag nor variable is given. */
  readonly otherwise: () => string;
  /** What the help says of a default that depends on other settings. */
  readonly otherwiseHelp?: string;
  readonly help: string;
  readonly schema: S;
  /** What it says nothing without: another setting, and the beginning that its value must have. */
  readonly needs?: Needs;
  /** Shown as a count, never as text. */
  readonly isSecret?: boolean;
  /** An address that may hold a password: shown without it, and never repeated where it is not accepted. */
  readonly mayHoldSecret?: boolean;
}

export const declare = <S extends z.ZodType>(setting: Setting<S>): Setting<S> => setting;

export const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${least} to ${most}`)
    .transform(Number)
    .pipe(z.int().min(least).max(most));

/** A quarter of the memory, and at most 8 GiB: while a store is read, it is there three times. */
export const PANEL_MEGABYTES = declare({
  flag: 'panel-memory-mb',
  variable: 'DIVISOR_PANEL_MEMORY_MB',
  otherwise: () => String(Math.floor(Math.min(8192, memoryBudget(0.25) / 2 ** 20))),
  otherwiseHelp: 'a quarter of the memory, at most 8192',
  help: 'Memory of the panels of one store, in MiB; those of a larger store are read from the disk of the home when needed.',
  schema: whole(1, 100_000_000),
});

export const list = (separator: string) =>
  z.string().transform((text) =>
    text
      .split(separator)
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  );

/** Hosts, each with or without a port. */
export const hostPorts = list(',').pipe(
  z.array(z.string().refine((text) => hostPortOf(text, 1) !== undefined, 'must be host or host:port')),
);

/** Address of a database, undefined where there is none. */
export const databaseUrl = z
  .string()
  .superRefine((text, context) => {
    const fault = text === '' ? undefined : databaseUrlFault(text);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
  })
  .transform((text) => (text === '' ? undefined : text));

/** Engines of earlier versions, by the one that replaced them. */
const REPLACED: Readonly<Record<string, string>> = { openblas: 'native', 'wasm-relaxed': 'native' };

/** Name of an engine, or `auto`. */
export const engineWord = z.preprocess(
  (text) => REPLACED[String(text)] ?? text,
  z.enum(['auto', ...ENGINE_NAMES]),
);

const given = z
  .string()
  .regex(
    /^[^:]{1,64}:[A-Za-z0-9]{12}:[0-9a-f]{64}:[a-z]+(?:\+[a-z]+)*(?::[A-Za-z0-9_-]{1,32}(?:\+[A-Za-z0-9_-]{1,32})*)?$/,
    'must be name:keyId:sha256hex:scope+scope',
  );

export const keyRecord = given.transform((text, context): KeyRecord => {
  const [name = '', id = '', sha256 = '', scopes = '', prefixes] = text.split(':');
  const isScope = (scope: string): scope is Scope => (SCOPES as readonly string[]).includes(scope);
  const known = scopes.split('+').filter(isScope);
  if (known.length !== scopes.split('+').length) {
    context.addIssue({ code: 'custom', message: `has a scope outside ${SCOPES.join(', ')}`, input: scopes });
  }
  const record = { id, name, sha256, scopes: known, created: null, expires: null, revoked: null };
  return prefixes === undefined ? record : { ...record, prefixes: prefixes.split('+') };
});

/** A setting that programs for AWS read as well. */
export const awsSetting = (
  variable: string,
  help: string,
  { isSecret = false, ...also }: Pick<Setting<z.ZodType>, 'isSecret' | 'elsewhere'> = {},
) =>
  declare({
    ...also,
    variable,
    mayHoldSecret: true,
    otherwise: () => '',
    help,
    schema: z.string().transform((text) => (text === '' ? undefined : text)),
    isSecret,
  });

/** As the Standard Webhooks specification has it. */
export const SIGNING_SECRET = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/;

/** A value as it may be shown to anyone. */
export function shownValue({ isSecret, mayHoldSecret }: Setting<z.ZodType>, value: unknown): string {
  if (isSecret === true) return shownSecret(value);
  if (value === undefined) return 'none';
  const texts = Array.isArray(value)
    ? value.map((item) => (typeof item === 'object' ? JSON.stringify(item) : item))
    : [value];
  const text = texts.map(String).join(', ') || 'none';
  return mayHoldSecret === true ? withoutUrlPassword(text) : withoutUrlPasswords(text);
}

function shownSecret(value: unknown): string {
  const count = Array.isArray(value) ? value.length : Number(value !== undefined);
  return count === 0 ? 'none' : `${count} (not shown)`;
}

/** The words that a setting may be; none where it takes any. */
export function wordsOf(schema: z.ZodType): readonly string[] {
  if (schema instanceof z.ZodPipe) return wordsOf((schema.in instanceof z.ZodTransform ? schema.out : schema.in) as z.ZodType); // of a schema of zod
  return schema instanceof z.ZodEnum ? schema.options.map(String) : [];
}

/** What a setting may be, as a sentence with a space before it: the ends of a number, else the words; '' for any. */
export function rangeOf(schema: z.ZodType): string {
  if (schema instanceof z.ZodPipe && schema.out instanceof z.ZodNumber)
    return ` From ${schema.out.minValue} to ${schema.out.maxValue}.`;
  const words = wordsOf(schema);
  return words.length === 0 ? '' : ` One of ${words.join(', ')}.`;
}

/** The text of a setting and where it comes from: flags over environment over its default. */
export function textOf(
  setting: Setting<z.ZodType>,
  flags: Record<string, string | undefined>,
  environment: NodeJS.ProcessEnv,
) {
  const { flag, variable, elsewhere = variable, otherwise } = setting;
  const flagged = flag === undefined ? undefined : flags[flag];
  if (flagged !== undefined) return { text: flagged, source: `--${flag}` };
  const given = [variable, elsewhere].find((name) => (environment[name] ?? '') !== '');
  if (given !== undefined) return { text: environment[given]!, source: given };
  return { text: otherwise(), source: 'default' };
}

/** What is wrong with a value, as the end of a sentence that names it. */
export function clauseOf(error: z.ZodError): string {
  const [issue] = error.issues;
  if (issue?.code === 'invalid_value') return `is not one of ${issue.values.join(', ')}`;
  if (issue?.code === 'too_big') return `must be at most ${issue.maximum}`;
  if (issue?.code === 'too_small') return `must be at least ${issue.minimum}`;
  return issue?.message ?? 'is not accepted';
}
