import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { Id } from '../../schema/shape.js';
import { defineStepKind } from '../step-kind.js';

const CLIENTS_MAX = 1000;

const help =
  'Delivers the files of earlier steps to the targets of clients, according to their entitlements. A failed delivery does not block other steps.';

export const deliverStep = defineStepKind({
  schema: defineObject(() => ({
    type: z.literal('deliver'),
    clients: z
      .array(Id)
      .min(1)
      .max(CLIENTS_MAX)
      .nullable()
      .default(null)
      .meta({
        description: 'Clients. Default: every client that is entitled to a file.',
        example: ['ACME'],
      }),
  })).meta({ id: 'DeliverStep', description: help }),
  help,
  scope: 'publish',
  repeats: true,
});
