import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { NEED_KINDS } from '#domain/checks/template-needs.js';
import { TEMPLATE_KINDS, TemplateId, TemplateSource } from '#domain/documents/methodology-template.js';
import { Id, IsoDate } from '#domain/schema/shape.js';
import { Finding, SeriesPayload } from '../common.js';

const TemplateNeed = defineObject(() => ({
  kind: z.enum(NEED_KINDS),
  name: z.string(),
  meaning: z.string().meta({ description: 'Content of the field.' }),
  missing: z.boolean().meta({ description: 'True if the served store lacks the field. False if no store is served.' }),
})).meta({ id: 'TemplateNeed' });

const summary = {
  id: TemplateId,
  title: z.string(),
  kind: z.enum(TEMPLATE_KINDS).meta({
    description:
      '`size`: weights by market capitalisation. `factor`: selection or weights by other figures of companies. `other_weighting`: equal, price or risk weights. `optimised`: derived by an optimisation. `overlay`: computed from other indices.',
  }),
  style: z.string().meta({ description: 'Published index with a similar methodology.' }),
  source: TemplateSource,
  needs: z
    .array(TemplateNeed)
    .meta({ description: 'Columns, series and universes that the template requires in addition to closes.' }),
  can_run: z.boolean().nullable().meta({
    description:
      'True if the served store contains all required data, including exchange rates, and the rules select securities on the base date; null if no store is served.',
  }),
  problem: z.string().nullable().meta({
    description:
      'Reason why the rules select no securities on any base date that was tried; null if they select some, and if data is missing.',
  }),
  missing_rates: z
    .array(z.string())
    .meta({ description: 'Exchange rates that the template requires and the served store lacks, such as EURUSD.' }),
  target_count: z.int().nullable().meta({
    description: 'Number of securities that the last selection rule of the template keeps; null if it has no count.',
  }),
  index_ids: z
    .array(z.string())
    .meta({ description: 'Ids of the documents of the template, in the order in which they must be stored.' }),
};

export const TemplateSummary = z.strictObject(summary).meta({ id: 'MethodologyTemplateSummary' });

export const TemplateCollection = defineObject(() => ({ templates: z.array(TemplateSummary) })).meta({
  id: 'MethodologyTemplateCollection',
});
export type TemplateCollection = z.infer<typeof TemplateCollection>;

export const TemplateDetail = defineObject(() => ({
  ...summary,
  choices: z.array(z.string()).meta({
    description: 'Choices of the template where the public document is not specific, and deviations from the document.',
  }),
  documents: z.array(z.record(z.string(), z.unknown())).meta({
    description:
      'Bodies in the form that PUT accepts, underlying indices first. If the served store lacks exchange rates into the currency of the template, they have the currency and the calendar of the store.',
  }),
  findings: z.array(Finding).meta({
    description:
      'Other data that the served store lacks, such as exchange rates, or the reason why the rules have no composition on the base date.',
  }),
})).meta({ id: 'MethodologyTemplateDetail' });
export type TemplateDetail = z.infer<typeof TemplateDetail>;

export const TemplateLevel = defineObject(() => ({
  index_id: z
    .string()
    .meta({ description: 'Id of the document whose level is returned, which is the last document of the template.' }),
  level: SeriesPayload.nullable().meta({
    description: 'Levels of some sessions of the last three years of the served store; null if there is a problem.',
  }),
  problem: z
    .string()
    .nullable()
    .meta({ description: 'Reason why the rules of the template select no securities of the served store.' }),
  constituents: z.int().nullable().meta({
    description:
      'Number of constituents of the last composition; null if there is a problem, and for an index that is computed from other indices.',
  }),
})).meta({ id: 'MethodologyTemplateLevel' });
export type TemplateLevel = z.infer<typeof TemplateLevel>;

export const templatePath = defineObject(() => ({ methodology_id: TemplateId.meta({ example: 'low-volatility' }) }));

export const templateQuery = defineObject(() => ({
  index_id: Id.optional().meta({
    description: 'Id of the index, and prefix of the ids of its other documents. Default: the ids of the template.',
  }),
  base_date: IsoDate.optional().meta({
    description:
      'Base date of every document. Default: the first date, at least one year after the start of the served store, on which the rules have their data; without a store the base date of the template.',
  }),
}));
