import { z } from 'zod';
import { Id } from '../../schema/shape.js';
import { stepKind } from '../step-kind.js';

const CLIENTS_MAX = 1000;

const help =
  'Delivers the files of the steps before it to the targets of clients, each the files that it is entitled to. What is not delivered holds nothing back.';

export const deliver = stepKind({
  schema: z
    .strictObject({
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
    })
    .meta({ id: 'DeliverStep', description: help }),
  help,
  scope: 'publish',
  repeats: true,
});
