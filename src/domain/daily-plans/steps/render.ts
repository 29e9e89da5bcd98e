import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { Id } from '../../schema/shape.js';
import { defineStepKind } from '../step-kind.js';
import { FilePattern } from './export.js';

const help = 'Renders a report of each index as PDF and keeps it with the day for delivery.';

export const renderStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('render'),
    template_id: Id.meta({
      description: 'Id of a stored template, or of a built-in template such as FACTSHEET-A4.',
      example: 'FACTSHEET-A4',
    }),
    indices: z.array(Id).min(1).max(500).nullable().default(null).meta({
      description: 'Indices of the plan that have this report. Default: all indices.',
    }),
    name: FilePattern.default('{index}_{date:YYYYMMDD}.pdf').meta({ description: 'Pattern of the file name.' }),
  })).meta({ id: 'RenderStep', description: help }),
  help,
  scope: 'run',
  repeats: true,
});
