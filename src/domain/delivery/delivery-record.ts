import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { IsoDate } from '../schema/shape.js';

/** States of a delivered file. `sending`: an attempt has begun. If its process ends, the attempt has no result. */
export const DELIVERY_STATES = ['waiting', 'sending', 'delivered', 'failed'] as const;

export const DeliveredFile = defineObject(() => ({
  target: z.string().meta({ description: 'Name of the target.' }),
  path: z.string().meta({ description: 'Path or name at the target.' }),
  file: z.string().meta({ description: 'Name of the file of the day.' }),
  index_id: z.string(),
  table: z.string().meta({ description: 'Table of the file; `report` for a rendered report.' }),
  bytes: z.int().min(0),
  sha256: z.string(),
  state: z.enum(DELIVERY_STATES).meta({ description: 'Result so far.' }),
  attempts: z.int().min(0).meta({ description: 'Number of attempts to deliver the file.' }),
  rounds: z.int().min(0).meta({ description: 'Number of attempts of the day in which the delivery was attempted.' }),
  delivered_at: z.string().nullable().meta({ description: 'Time of the delivery.' }),
  code: z.string().nullable().meta({ description: 'Error code of the last failure.' }),
  message: z.string().meta({ description: 'Description of the result in a sentence.' }),
})).meta({ id: 'DeliveredFile' });
export type DeliveredFile = z.infer<typeof DeliveredFile>;

const DeliveryLine = defineObject(() => ({
  at: z.string().meta({ description: 'Time of the line.' }),
  target: z.string().meta({ description: 'Name of the target.' }),
  path: z.string().nullable().meta({ description: 'File of the line; null for the whole target.' }),
  message: z.string(),
})).meta({ id: 'DeliveryLine' });
export type DeliveryLine = z.infer<typeof DeliveryLine>;

/** Deliveries to a client on a day of a schedule. */
export const DeliveryRecord = defineObject(() => ({
  client_id: z.string(),
  schedule_id: z.string(),
  date: IsoDate.meta({ description: 'Session.' }),
  version: z.int().min(1).nullable().meta({ description: 'Version of the client that determines its entitlements.' }),
  files: z.array(DeliveredFile).meta({ description: 'Files by target.' }),
  log: z.array(DeliveryLine).meta({ description: 'Attempts and results, the last 500 lines.' }),
})).meta({ id: 'DeliveryRecord' });
export type DeliveryRecord = z.infer<typeof DeliveryRecord>;

/** Maximum number of stored lines per record. */
export const DELIVERY_LINES_MAX = 500;
