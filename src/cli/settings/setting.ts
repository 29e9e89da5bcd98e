import { z } from 'zod';
import { maskUrlPasswords, parseHostPort, removeUrlPassword } from '#base/addresses.js';
import { type Scope, SCOPES } from '#contract/route.js';
import { computeMemoryBudget } from '#jobs/node-limits.js';
import { ENGINE_NAMES } from '#kernels/engines/engine.js';
import type { KeyRecord } from '#services/keys/keys.js';
import { findUrlFault } from '#store/postgres/database-url.js';

export interface SettingRequirement {
  readonly setting: 'database' | 'artifacts';
  /** Required prefix of its value. Default: any. */
  readonly begins?: string;
}

/** Setting, declared once: its sources, its meaning and its parser. */
export interface Setting<S extends z.ZodType> {
  readonly flag?: string;
  readonly variable: string;
  /** Another variable. It is read if the first variable is absent. */
  readonly elsewhere?: string;
  /** Returns the default text. */
  readonly otherwise: () => string;
  /** Text for the help that describes a default that depends on other settings. */
  readonly otherwiseHelp?: string;
  readonly help: string;
  readonly schema: S;
  /** Setting that must be present for this one to have an effect, and the prefix that its value must have. */
  readonly needs?: SettingRequirement;
  /** True if the value is displayed as a count, never as text. */
  readonly isSecret?: boolean;
  /**
   * True for an address that may contain a password. The password is not displayed, and an error never repeats the
   * address.
   */
  readonly mayHoldSecret?: boolean;
}

export const declareSetting = <S extends z.ZodType>(setting: Setting<S>): Setting<S> => setting;

export const createWholeNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${minimum} to ${maximum}`)
    .transform(Number)
    .pipe(z.int().min(minimum).max(maximum));

/** Memory for panels: a quarter of the memory, at most 8 GiB. While a store is read, three copies of it exist. */
export const PANEL_MEGABYTES = declareSetting({
  flag: 'panel-memory-mb',
  variable: 'DIVISOR_PANEL_MEMORY_MB',
  otherwise: () => String(Math.floor(Math.min(8192, computeMemoryBudget(0.25) / 2 ** 20))),
  otherwiseHelp: 'a quarter of the memory, at most 8192',
  help: 'Memory for the panels of one store, in MiB. The panels of a larger store are paged from the disk of the home. All loaded stores that are not active use the same amount together.',
  schema: createWholeNumber(1, 100_000_000),
});

export const createListSchema = (separator: string) =>
  z.string().transform((text) =>
    text
      .split(separator)
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  );

/** List of hosts, each with an optional port. */
export const hostPorts = createListSchema(',').pipe(
  z.array(z.string().refine((text) => parseHostPort(text, 1) !== undefined, 'must be host or host:port')),
);

/** Address of a database. Default: undefined. */
export const databaseUrl = z
  .string()
  .superRefine((text, context) => {
    const fault = text === '' ? undefined : findUrlFault(text);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
  })
  .transform((text) => (text === '' ? undefined : text));

/** Names of engines in earlier versions, each with the engine that replaced it. */
const REPLACEMENT_ENGINES: Readonly<Record<string, string>> = { openblas: 'native', 'wasm-relaxed': 'native' };

/** Name of an engine, or `auto`. */
export const engineSchema = z.preprocess(
  (text) => REPLACEMENT_ENGINES[String(text)] ?? text,
  z.enum(['auto', ...ENGINE_NAMES]),
);

const keyEntry = z
  .string()
  .regex(
    /^[^:]{1,64}:[A-Za-z0-9]{12}:[0-9a-f]{64}:[a-z]+(?:\+[a-z]+)*(?::[A-Za-z0-9_-]{1,32}(?:\+[A-Za-z0-9_-]{1,32})*)?$/,
    'must be name:keyId:sha256hex:scope+scope',
  );

export const keyRecord = keyEntry.transform((text, context): KeyRecord => {
  const [name = '', id = '', sha256 = '', scopes = '', prefixes] = text.split(':');
  const isScope = (scope: string): scope is Scope => (SCOPES as readonly string[]).includes(scope);
  const knownScopes = scopes.split('+').filter(isScope);
  if (knownScopes.length !== scopes.split('+').length) {
    context.addIssue({ code: 'custom', message: `has a scope outside ${SCOPES.join(', ')}`, input: scopes });
  }
  const record = { id, name, sha256, scopes: knownScopes, created: null, expires: null, revoked: null };
  return prefixes === undefined ? record : { ...record, prefixes: prefixes.split('+') };
});

/** Returns a setting that AWS tools read too. */
export const declareAwsSetting = (
  variable: string,
  help: string,
  { isSecret = false, ...also }: Pick<Setting<z.ZodType>, 'isSecret' | 'elsewhere' | 'otherwiseHelp'> = {},
) =>
  declareSetting({
    ...also,
    variable,
    mayHoldSecret: true,
    otherwise: () => '',
    help,
    schema: z.string().transform((text) => (text === '' ? undefined : text)),
    isSecret,
  });

/**
 * Formats the value in force so that it is safe to display. An absent value is shown as the default that applies, or as
 * `none`. A value that is no text, such as a switch, is shown as it was given.
 */
export function formatValue(
  { isSecret, mayHoldSecret, otherwiseHelp = 'none' }: Setting<z.ZodType>,
  value: unknown,
  givenText: string,
): string {
  if (isSecret === true) return maskSecret(value);
  if (value === undefined || value === '') return otherwiseHelp;
  if (Array.isArray(value) && value.length === 0) return 'none'; // lists have their dependent defaults already
  const isText = Array.isArray(value)
    ? value.every((item) => typeof item === 'string')
    : typeof value === 'string' || typeof value === 'number';
  const text = isText ? [value].flat().map(String).join(', ') : givenText || otherwiseHelp;
  return mayHoldSecret === true ? removeUrlPassword(text) : maskUrlPasswords(text);
}

function maskSecret(value: unknown): string {
  const count = Array.isArray(value) ? value.length : Number(value !== undefined && value !== '');
  return count === 0 ? 'none' : `${count} (not shown)`;
}

/** Returns the values that a setting accepts; empty if it accepts any. */
export function listAcceptedWords(schema: z.ZodType): readonly string[] {
  if (schema instanceof z.ZodPipe)
    return listAcceptedWords((schema.in instanceof z.ZodTransform ? schema.out : schema.in) as z.ZodType); // a zod schema
  return schema instanceof z.ZodEnum ? schema.options.map(String) : [];
}

/**
 * Formats the values that a setting accepts as a sentence with a leading space: the range of a number, or the words.
 * Returns '' if any value is accepted.
 */
export function formatRange(schema: z.ZodType): string {
  if (schema instanceof z.ZodPipe && schema.out instanceof z.ZodNumber)
    return ` From ${schema.out.minValue} to ${schema.out.maxValue}.`;
  const acceptedWords = listAcceptedWords(schema);
  return acceptedWords.length === 0 ? '' : ` One of ${acceptedWords.join(', ')}.`;
}

/**
 * Returns the text of a setting and where it comes from. A flag has priority over the environment, and the environment
 * over the default.
 */
export function readSettingText(
  setting: Setting<z.ZodType>,
  flags: Record<string, string | undefined>,
  environment: NodeJS.ProcessEnv,
) {
  const { flag, variable, elsewhere = variable, otherwise } = setting;
  const flagText = flag === undefined ? undefined : flags[flag];
  if (flagText !== undefined) return { text: flagText, source: `--${flag}` };
  const usedVariable = [variable, elsewhere].find((name) => (environment[name] ?? '') !== '');
  if (usedVariable !== undefined) return { text: environment[usedVariable]!, source: usedVariable };
  return { text: otherwise(), source: 'default' };
}

/** Returns why a value is refused. The text is the end of a sentence that names the value. */
export function formatClause(error: z.ZodError): string {
  const [issue] = error.issues;
  if (issue?.code === 'invalid_value') return `is not one of ${issue.values.join(', ')}`;
  if (issue?.code === 'too_big') return `must be at most ${issue.maximum}`;
  if (issue?.code === 'too_small') return `must be at least ${issue.minimum}`;
  return issue?.message ?? 'is not accepted';
}
