import { z } from 'zod';
import { defineObject, Id, IsoDate } from '../base/schema.js';

const DOCUMENTS_MAX = 16;
/** Maximum number of sentences about choices that the public document leaves open. */
const CHOICES_MAX = 32;

const defineText = (longest: number) => z.string().min(1).max(longest);

/** Id of a template: lower-case letters, digits and dashes; it must not contain a trademark. */
export const TemplateId = z
  .string()
  .regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/, {
    error: 'contains characters other than lower-case letters, digits and dashes',
  })
  .max(64);

/** Published document that a template follows. */
export const TemplateSource = defineObject(() => ({
  title: defineText(200).meta({ description: 'Title of the public document.' }),
  publisher: defineText(200).meta({ description: 'Its publisher.' }),
  date: z
    .string()
    .regex(/^\d{4}(?:-\d{2}(?:-\d{2})?)?$/, { error: 'is not a year, month or day' })
    .meta({ description: 'Year, month or day of the edition.' }),
})).meta({ id: 'TemplateSource' });

export const TEMPLATE_KINDS = ['size', 'factor', 'other_weighting', 'optimised', 'overlay'] as const;

/** Template in data/methodologies: a published methodology as documents that anyone may store. */
export const MethodologyTemplate = defineObject(() => ({
  id: TemplateId,
  title: defineText(200),
  kind: z.enum(TEMPLATE_KINDS),
  style: defineText(500),
  source: TemplateSource,
  choices: z.array(defineText(1000)).max(CHOICES_MAX),
  /** Meanings of the columns, series and universes that the user must supply. */
  meanings: z.record(defineText(64), defineText(500)).default({}),
  /** Bodies of index documents, each after the indices to which it refers. */
  documents: z
    .array(z.looseObject({ id: Id, name: defineText(200), base_date: IsoDate }))
    .min(1)
    .max(DOCUMENTS_MAX),
})).superRefine(({ id, documents }, context) => {
  const stem = formatStem(id);
  documents.forEach((document, i) => {
    if (document.id === stem || document.id.startsWith(`${stem}-`)) return;
    const message = `must be ${stem} or begin with ${stem}-`;
    context.addIssue({ code: 'custom', path: ['documents', i, 'id'], input: document.id, message });
  });
});
export type MethodologyTemplate = z.infer<typeof MethodologyTemplate>;

const formatStem = (templateId: string): string => templateId.toUpperCase();

/** JSON object. */
type Body = Readonly<Record<string, unknown>>;

/** Values that replace those of a template. */
export interface TemplateTerms {
  /** Id that replaces the id of the template. The other documents keep their suffix. */
  readonly indexId?: string | undefined;
  readonly baseDate?: string | undefined;
  /** Currency of documents that state none; an overlay has the currency of its underlying index. */
  readonly currency?: string | undefined;
  readonly calendar?: string | undefined;
}

/**
 * Returns the documents of a template with other ids, another base date, currency and calendar, and adjusts the
 * references between them.
 */
export function createTemplateDocuments(
  template: MethodologyTemplate,
  { indexId, baseDate, currency, calendar }: TemplateTerms,
): Body[] {
  const stem = formatStem(template.id);
  const newIds = new Map(
    template.documents.map(({ id }) => [id, indexId === undefined ? id : `${indexId}${id.slice(stem.length)}`]),
  );
  return template.documents.map((document) => {
    // The document may repeat the base date, for example in a bound that follows a path. These dates are replaced too.
    const replacements = baseDate === undefined ? newIds : new Map([...newIds, [document.base_date, baseDate]]);
    const body = replaceIds(document, replacements) as Body; // an object remains an object
    return {
      ...body,
      ...(calendar === undefined ? {} : { calendar }),
      ...(currency === undefined || 'currency' in body || 'overlay' in body ? {} : { currency }),
    };
  });
}

/** Replaces document ids in texts: in whole texts, and in quoted parts of expressions. */
function replaceIds(value: unknown, renamed: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string')
    return renamed.get(value) ?? value.replaceAll(/"([^"]*)"/g, (all, name: string) => quote(renamed.get(name)) ?? all);
  if (Array.isArray(value)) return value.map((item) => replaceIds(item, renamed));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaceIds(member, renamed)]));
}

const quote = (name: string | undefined): string | undefined => (name === undefined ? undefined : `"${name}"`);
