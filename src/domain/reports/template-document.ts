import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { LIMITS } from '../refusals/limits.js';
import { Id } from '../schema/shape.js';
import { ReportBlock } from './block-kinds.js';

export const PAGE_SIZES = {
  A4: { width: 595.28, height: 841.89 },
  LETTER: { width: 612, height: 792 },
  A3: { width: 841.89, height: 1190.55 },
} as const;
export type PageSize = keyof typeof PAGE_SIZES;

export const ReportPage = defineObject(() => ({
  size: z.enum(['A4', 'LETTER', 'A3']).default('A4'),
  orientation: z.enum(['portrait', 'landscape']).default('portrait'),
  margin: z.number().min(0).max(144).default(36).meta({ description: 'Points on every side.' }),
})).meta({ id: 'ReportPage' });
export type ReportPage = z.infer<typeof ReportPage>;

export const ReportTemplateDocument = defineObject(() => ({
  template_id: Id.meta({ description: 'Id of the template, which is part of its URL.' }),
  name: z.string().min(1).max(200).meta({ description: 'Title of the rendered report.' }),
  blocks: z.array(ReportBlock).max(LIMITS.MAX_REPORT_BLOCKS).default([]).meta({
    description: 'Blocks, drawn from top to bottom. A template without blocks can be stored but not rendered.',
  }),
  page: ReportPage.prefault({}),
})).meta({ id: 'ReportTemplateDocument' });
export type ReportTemplateDocument = z.infer<typeof ReportTemplateDocument>;
