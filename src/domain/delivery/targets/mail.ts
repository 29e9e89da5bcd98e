import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { FileTables, targetFields, defineTargetKind } from '../target-kind.js';

const RECIPIENTS_MAX = 50;
const Address = z
  .string()
  .max(254)
  .regex(/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)+$/, {
    error: 'must be an address, such as desk@acme.example',
  });

export const mail = defineTargetKind({
  help: 'Mail with the files attached. The operator sets the server by `DIVISOR_SMTP_URL` and `--smtp-from`, and the domains of recipients by `--mail-domains`.',
  secret: undefined,
  schema: defineObject(() => ({
    type: z.literal('mail'),
    ...targetFields,
    tables: FileTables.default(['report']).meta({ description: 'Tables whose files are sent. Default: reports.' }),
    to: z
      .array(Address)
      .min(1)
      .max(RECIPIENTS_MAX)
      .meta({ description: 'Recipients.', example: ['desk@acme.example'] }),
    subject: z
      .string()
      .min(1)
      .max(200)
      .regex(/^[^\p{Cc}]*$/u, { error: 'must be a single line' })
      .default('{schedule} {date}')
      .meta({ description: 'Subject with {client}, {schedule} and {date:YYYY-MM-DD}.' }),
  })).meta({ id: 'MailTarget' }),
});
